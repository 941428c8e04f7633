//! The results of the kernels.

/// Receives the pairs that a kernel finds: row i of one side, row j of the other, their Hamming distance.
pub type PairHit<'h> = dyn FnMut(u32, u32, u8) + 'h;

/// A row within the radius of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowDistance {
    /// The index of the row.
    pub row: u32,
    /// The Hamming distance of the row and the query.
    pub distance: u8,
}

/// A packed row within the radius of the query of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangeHit {
    /// The index of the range.
    pub range: u32,
    /// The number of the row.
    pub row: u32,
}
