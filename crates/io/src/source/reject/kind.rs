//! Classifies reject reasons: the kind under which they are counted, and whether the file is damaged.

use super::{ARRAY_CUT_OFF, RejectReason};

impl RejectReason {
    /// Returns true if the file is unreadable, truncated or damaged. Returns false if only this one record cannot be
    /// used.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Lost { .. }
                | Self::OddByte { .. }
                | Self::NotWarc { .. }
                | Self::ContentLength { .. }
                | Self::DamagedTable { .. }
                | Self::NotATable { .. }
                | Self::Unreadable { .. }
                | Self::Unlisted { .. }
        )
    }

    /// Returns true if the reason is that the last record, or the array, of a file is incomplete.
    pub fn is_incomplete(&self) -> bool {
        match self {
            Self::InvalidJson { message, .. } => message.starts_with("EOF while parsing"),
            Self::RowWidth { found, expected } => found < expected,
            Self::BrokenArray { message } => *message == ARRAY_CUT_OFF,
            _ => false,
        }
    }

    /// The kind of reason in one or two words, under which rejects are counted.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::InvalidUtf8 { .. } => "invalid utf-8",
            Self::Undecodable { .. } => "not of its charset",
            Self::OddByte { .. } => "odd byte",
            Self::NotCuttable { .. } => "charset not read",
            Self::InvalidJson { .. } => "invalid json",
            Self::LoneSurrogate { .. } | Self::LoneUnit { .. } => "lone surrogate",
            Self::NotAnObject { .. } => "not an object",
            Self::FieldMissing { .. } => "field missing",
            Self::FieldNull { .. } => "field null",
            Self::FieldNotText { .. } => "field not text",
            #[cfg(feature = "html")]
            Self::Page(_) => "page beyond limits",
            #[cfg(not(feature = "html"))]
            Self::NoMarkup => "page",
            Self::NotWarc { .. } => "no warc record",
            Self::ContentLength { .. } => "wrong content-length",
            Self::ContentEncoding { .. } => "content-encoding",
            Self::Body { .. } => "damaged body",
            Self::NotAnArray { .. } => "not an array",
            Self::BrokenArray { .. } => "broken array",
            Self::OpenQuote { .. } => "open quote",
            Self::TooManyColumns { .. } => "too many columns",
            Self::RowWidth { .. } => "other number of fields",
            Self::ColumnMissing { .. } => "column missing",
            Self::ColumnNotText { .. } => "column not text",
            Self::NotATable { .. } => "not a table",
            Self::DamagedTable { .. } => "damaged table",
            Self::NoFingerprint { .. } => "no fingerprint",
            Self::EmptyText => "empty text",
            Self::NotForCollection { .. } => "not for the collection",
            Self::TooLong { .. } => "too long",
            Self::BeyondMemory { .. } => "beyond memory",
            Self::OtherCodec(_) => "other codec",
            Self::Truncated { .. } => "truncated stream",
            Self::Corrupt { .. } => "damaged stream",
            Self::Junk | Self::JunkBehindDocument => "junk after the stream",
            Self::Swells { .. } => "unpacks too far",
            Self::Unreadable { .. } => "unreadable file",
            Self::Unlisted { .. } => "unreadable folder",
            Self::Lost { cause, .. } => cause.kind(),
        }
    }
}
