//! Errors when an idf table is made or read.

/// The reason why an idf table cannot be made or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdfError {
    /// The bytes are not an idf table: they do not begin with its magic number.
    #[error("this is not a table of idf weights")]
    Magic,
    /// The bytes of a table were truncated or changed. The number is the offset of the byte at which this was noticed.
    #[error("the idf table is damaged at byte {0}; build it again")]
    Damaged(usize),
    /// The name cannot be part of a profile's id.
    #[error("{0:?} cannot name an idf table: a name has 1 to 32 ASCII letters and digits")]
    Name(String),
    /// The documents (their number is given) are too few to estimate the rarity of words.
    #[error("{0} documents are too few for a table of idf weights; at least 10 are needed")]
    TooFew(u64),
}
