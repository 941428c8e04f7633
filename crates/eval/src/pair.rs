//! Pairs of documents by number.

/// A pair of documents, by their numbers in input order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DocumentPair {
    /// The number of the earlier document, if the order matters.
    pub(super) a: u32,
    /// The number of the later document, if the order matters.
    pub(super) b: u32,
}

impl DocumentPair {
    /// Returns the pair with the smaller number first.
    pub(super) fn ordered(self) -> Self {
        Self {
            a: self.a.min(self.b),
            b: self.a.max(self.b),
        }
    }
}
