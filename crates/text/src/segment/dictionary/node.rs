//! A node of the dictionary's trie, in eight bytes.
//!
//! ```text
//! bits  0..24  base: where its children are, each at base + code
//! bits 24..40  code of the character that leads to it; 0 in an empty place
//! bits 40..56  number of its word's weight; 0 where no word ends
//! bits 56..64  bit (code mod 8) for each child: most characters that lead nowhere are known without a look
//! ```
//!
//! A double array (Aoe 1989) that tells children by their character, not by their parent: no two nodes have one base, so nobody else
//! has a child with this character in this place.

/// Nodes at most.
pub(super) const MOST_NODES: usize = 1 << 24;

/// One place of the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Node(u64);

impl Node {
    /// A node that the character `code` leads to; `base` is below [`MOST_NODES`].
    pub(super) fn new(base: u32, code: u16, weight: u16, children: u8) -> Self {
        let (base, code) = (u64::from(base & 0xFF_FFFF), u64::from(code) << 24);
        Self(base | code | u64::from(weight) << 40 | u64::from(children) << 56)
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

    /// Whether there may be a child that the character `code` leads to.
    pub(super) fn may_lead(self, code: u16) -> bool {
        self.0 >> 56 & u64::from(Self::child(code)) != 0
    }

    /// What a child adds to the last part of its parent.
    pub(super) fn child(code: u16) -> u8 {
        1 << (code & 7)
    }

    pub(super) fn from_le_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_le_bytes(bytes))
    }

    pub(super) fn to_le_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}
