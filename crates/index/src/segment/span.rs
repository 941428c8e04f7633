//! Runs of consecutive rows or pages.

/// Consecutive rows, or pages, of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first one.
    pub(crate) start: u32,
    /// One past the last. The span is empty unless `end > start`.
    pub(crate) end: u32,
}
