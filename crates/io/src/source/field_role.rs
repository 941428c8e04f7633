//! The purposes for which options name fields.

use std::fmt;

/// The purpose for which the options name a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldRole {
    /// The field contains the text.
    Text,
    /// The field contains the id.
    Id,
    /// The field contains the value that documents are sorted by.
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
