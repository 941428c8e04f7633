//! Pairs of documents by number.

/// Two documents, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DocumentPair {
    /// The number of the earlier document, if the order matters.
    pub(super) a: u32,
    /// The number of the later document, if the order matters.
    pub(super) b: u32,
}

impl DocumentPair {
    /// The pair with the smaller number first.
    pub(super) fn ordered(self) -> Self {
        Self {
            a: self.a.min(self.b),
            b: self.a.max(self.b),
        }
    }
}
