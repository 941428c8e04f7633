//! A node of the dictionary's trie, in eight bytes.
//!
//! ```text
//! bits  0..24  base: the child with a code is at index base + code
//! bits 24..40  code of the character that leads to the node; 0 in an empty element
//! bits 40..56  number of the weight of the word that ends here; 0 if none does
//! bits 56..64  filter: bit (code mod 8) is set for each child, so most missing children are known without a read
//! ```
//!
//! The trie is a double array (Aoe 1989). An element is recognised as the child of a node by its character, not by its
//! parent. That suffices because all bases are distinct: two nodes cannot have a child with the same character at the
//! same index.

/// The maximum number of nodes. A base is stored in 24 bits.
pub(super) const MAX_NODES: usize = 1 << 24;

/// One element of the double array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Node(u64);

impl Node {
    /// Makes a node that the character `code` leads to. `base` must be below [`MAX_NODES`].
    pub(super) fn new(base: u32, code: u16, weight: u16, filter: u8) -> Self {
        let (base, code) = (u64::from(base & 0xFF_FFFF), u64::from(code) << 24);
        Self(base | code | u64::from(weight) << 40 | u64::from(filter) << 56)
    }

    pub(super) fn base(self) -> usize {
        (self.0 & 0xFF_FFFF) as usize
    }

    pub(super) fn code(self) -> u16 {
        (self.0 >> 24) as u16
    }

    pub(super) fn weight(self) -> u16 {
        (self.0 >> 40) as u16
    }

    /// Returns `false` if the node certainly has no child with this code, and `true` if it may have one.
    pub(super) fn may_have_child(self, code: u16) -> bool {
        self.0 >> 56 & u64::from(Self::filter_bit(code)) != 0
    }

    /// The bit of a node's filter that stands for children with this code.
    pub(super) fn filter_bit(code: u16) -> u8 {
        1 << (code & 7)
    }

    pub(super) fn from_le_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_le_bytes(bytes))
    }

    pub(super) fn to_le_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}
