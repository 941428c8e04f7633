//! Types for the results of the Hamming kernels.

/// A callback for the pairs that a kernel finds. Its arguments are the row number in the first set, the row number in
/// the second set, and the Hamming distance of the two rows.
pub type PairHit<'h> = dyn FnMut(u32, u32, u8) + 'h;

/// A row within the radius of a query, with its Hamming distance from the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowDistance {
    /// The number of the row in its slice, from 0.
    pub row: u32,
    /// The Hamming distance of the row and the query.
    pub distance: u8,
}

/// A bit-packed row within the radius of the query that its range was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangeHit {
    /// The position of the range in the list of ranges, from 0.
    pub range: u32,
    /// The number of the row among all packed rows.
    pub row: u32,
}
