//! Errors of making and reading idf tables.

/// The reason why there is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdfError {
    /// The bytes do not begin like a table.
    #[error("not a table of idf weights")]
    Magic,
    /// The bytes were cut off or changed; the number is the byte at which this was noticed.
    #[error("the table is damaged at byte {0}; build it again")]
    Damaged(usize),
    /// The name does not fit into a profile's id.
    #[error("a table's name has 1 to 32 ASCII letters and digits: {0:?}")]
    Name(String),
    /// The number of documents is too small to estimate how rare words are.
    #[error("{0} documents are too few for a table of idf weights")]
    TooFew(u64),
}
