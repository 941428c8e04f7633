//! The settings that fix rejects.

use super::RejectReason;

/// A setting that can turn a rejected record into a document. Messages describe it, and a program adds its own name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Setting {
    /// The field or column of the text: [`SourceOptions::text_key`](crate::source::SourceOptions::text_key).
    TextField,
    /// The field of the id: [`SourceOptions::id_key`](crate::source::SourceOptions::id_key).
    IdField,
    /// The format of an input: [`SourceOptions::format`](crate::source::SourceOptions::format).
    Format,
    /// The charset of the files: [`SourceOptions::charset`](crate::source::SourceOptions::charset).
    Charset,
    /// The delimiter of the fields of a row: [`SourceOptions::delimiter`](crate::source::SourceOptions::delimiter).
    Delimiter,
    /// The files and folders to skip: [`SourceOptions::exclude`](crate::source::SourceOptions::exclude).
    Exclude,
    /// The longest record: [`SourceOptions::max_document`](crate::source::SourceOptions::max_document).
    MaxDocument,
    /// The largest ratio of a file's decompressed size to its size:
    /// [`SourceOptions::max_ratio`](crate::source::SourceOptions::max_ratio).
    MaxRatio,
    /// The treatment of texts without words: kept, removed or rejected.
    EmptyTexts,
}

impl RejectReason {
    /// The setting that the fix in the message is about.
    pub fn setting(&self) -> Option<Setting> {
        match self {
            Self::InvalidUtf8 { .. } | Self::Undecodable { .. } => Some(Setting::Charset),
            Self::FieldMissing { present, .. } | Self::ColumnMissing { present, .. } => {
                (!present.is_empty()).then_some(Setting::TextField)
            }
            Self::FieldNotText { .. } | Self::ColumnNotText { .. } => Some(Setting::TextField),
            Self::NotAnArray { .. } => Some(Setting::Format),
            Self::TooManyColumns { .. } | Self::RowWidth { .. } => Some(Setting::Delimiter),
            Self::NotForCollection { setting, .. } => *setting,
            Self::TooLong { .. } => Some(Setting::MaxDocument),
            Self::Swells { .. } => Some(Setting::MaxRatio),
            Self::Unlisted { .. } => Some(Setting::Exclude),
            Self::Lost { cause, .. } => cause.setting(),
            _ => None,
        }
    }
}
