//! The fields that the options name.

use std::fmt;

/// The use of a field that is named in the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldRole {
    /// The text.
    Text,
    /// The id.
    Id,
    /// The value that documents are sorted by.
    Sort,
}

impl fmt::Display for FieldRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "the text",
            Self::Id => "the id",
            Self::Sort => "the value to sort by",
        })
    }
}
