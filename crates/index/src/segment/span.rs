//! Ranges of consecutive rows or pages.

/// A range of consecutive rows of a table, or of its pages, depending on the codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// The number of the first row or page.
    pub(crate) start: u32,
    /// One past the last row or page. The span is empty unless `end > start`.
    pub(crate) end: u32,
}
