//! A look at the beginning of files: the fields of their records, before any text is read.

use std::io::{self, Read};
use std::sync::Arc;

use super::charset::{self, Told};
use super::decode::{self, Unpacking};
use super::delimited::Header;
use super::error::SourceError;
use super::json;
use super::longest::Longest;
use super::options::SourceOptions;
use super::reject::RejectReason;
use super::scan::{Part, content, scanner};
use super::sources::{SourceFile, Sources};
use super::split::{Broken, Cut, Piece, Splitter};
#[cfg(feature = "tables")]
use super::table::Table;
use crate::number::counted;

/// Unpacked bytes of a file looked at.
const BYTES: u64 = 1 << 20;
/// Records of a file looked at.
const RECORDS: u64 = 100;

/// The presence of a field, as far as the beginning of a file shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Presence {
    /// Records have it.
    There,
    /// No record has it, by the header or the schema of the file, which name these fields.
    Missing(Vec<String>),
    /// None of the first records has it; these are their number and the fields of the first.
    NotAtFirst(u64, Vec<String>),
    /// There are no records.
    Empty,
    /// The records cannot be looked at: the first one is longer than what is looked at, or the file cannot be read.
    Unseen,
    /// The records have no fields, or are not of the format.
    Unknown,
}

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

impl std::fmt::Display for FieldRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Text => "the text",
            Self::Id => "the id",
            Self::Sort => "the value to sort by",
        })
    }
}

impl Sources {
    /// Looks for the fields that the options name in the schemas of tables and the headers of files of rows. `hint` is called
    /// with what the first records of other files suggest. An id field is looked for unless it is that of the defaults, which need not be
    /// there.
    ///
    /// # Errors
    /// [`SourceError::NoField`] if no file has one of them.
    pub fn check_fields(&self, mut hint: impl FnMut(&str)) -> Result<(), SourceError> {
        let options = self.options();
        let id = options.id_key.as_ref();
        let named = [
            (FieldRole::Text, Some(&options.text_key)),
            (
                FieldRole::Id,
                id.filter(|_| options.id_key != SourceOptions::default().id_key),
            ),
            (FieldRole::Sort, options.sort_key.as_ref()),
        ];
        for (role, key) in named {
            if let Some(key) = key {
                self.check_field(role, key, &mut hint)?;
            }
        }
        Ok(())
    }

    /// Looks at one file after the other, up to the first that may have the field.
    fn check_field(
        &self,
        role: FieldRole,
        key: &str,
        hint: &mut impl FnMut(&str),
    ) -> Result<(), SourceError> {
        let mut missing = None;
        for file in self.list() {
            if self.cancelled() {
                return Err(SourceError::Cancelled);
            }
            match look(file, self.options(), key) {
                Presence::Missing(present) => {
                    missing.get_or_insert_with(|| SourceError::NoField {
                        role,
                        key: key.to_owned(),
                        files: self.list().len() as u64,
                        file: file.label.clone(),
                        present,
                    });
                }
                Presence::NotAtFirst(records, fields) => {
                    hint(&format!(
                        "none of the first {} of {} has a field {key:?} for {role}; the first has {}",
                        counted(records, "record"),
                        file.label,
                        if fields.is_empty() {
                            "no fields".to_owned()
                        } else {
                            fields.join(", ")
                        }
                    ));
                    return Ok(());
                }
                Presence::Empty => {}
                Presence::There | Presence::Unseen | Presence::Unknown => return Ok(()),
            }
        }
        missing.map_or(Ok(()), Err)
    }
}

/// Looks for a field at the beginning of a file. Reads at most [`BYTES`] of its records, or the frame of a table.
pub(super) fn look(file: &SourceFile, options: &SourceOptions, key: &str) -> Presence {
    #[cfg(feature = "tables")]
    if file.format.is_table() {
        return match Table::open(file).map(|table| table.lacks(key)) {
            Ok(Some(columns)) => Presence::Missing(columns),
            Ok(None) => Presence::There,
            Err(_) => Presence::Unknown,
        };
    }
    if !file.format.has_fields() {
        return Presence::Unknown;
    }
    let told = Arc::default();
    let limits = Unpacking::of(options);
    let Ok(stream) = decode::open(&file.path, file.codec, file.bytes, limits, &told) else {
        return Presence::Unseen;
    };
    let mut beginning = Vec::new();
    let read = stream.take(BYTES).read_to_end(&mut beginning);
    let whole = read.is_ok() && (beginning.len() as u64) < BYTES;
    if whole && beginning.trim_ascii().is_empty() {
        return Presence::Empty;
    }
    let stream = Box::new(io::Cursor::new(beginning));
    let Told {
        stream,
        charset,
        read_as,
    } = charset::told(stream, file.format, options);
    let scan = scanner(file.format, read_as, options);
    let longest = Longest::of(&SourceOptions {
        max_document: BYTES,
        ..options.clone()
    });
    let mut splitter = Splitter::new(stream, scan, charset, BYTES as usize, longest, RECORDS);
    let broken = |error: &_| Broken {
        reason: decode::reason(error, file.codec),
        unread_bytes: 0,
    };
    let mut lacking = Lacking::default();
    while let Some(cut) = splitter.next(broken) {
        let piece = match cut {
            Cut::Piece(piece) => piece,
            Cut::Rejected { reason, .. } => {
                lacking.others += u64::from(whole || !reason.cause().is_incomplete());
                continue;
            }
        };
        if let Some(header) = &piece.header {
            return lacks(header, key).map_or(Presence::There, Presence::Missing);
        }
        if lacking.has(&piece, read_as, (options, key), whole) {
            return Presence::There;
        }
    }
    match (lacking.records, lacking.others) {
        (0, 0) if whole => Presence::Empty,
        (0, 0) => Presence::Unseen,
        (0, _) => Presence::Unknown,
        (records, _) => Presence::NotAtFirst(records, lacking.fields),
    }
}

/// The names of the columns, if the column `key` is not among them.
fn lacks(header: &Header, key: &str) -> Option<Vec<String>> {
    (!header.has(key)).then(|| header.first_names())
}

/// Objects without a field.
#[derive(Default)]
struct Lacking {
    records: u64,
    /// The fields of the first.
    fields: Vec<String>,
    /// Records that are no objects.
    others: u64,
}

impl Lacking {
    /// True if one of the objects in `piece` has the field. Counts the objects before it, which have not. An incomplete record is not counted
    /// unless the `whole` file was looked at.
    fn has(
        &mut self,
        piece: &Piece,
        charset: super::Charset,
        (options, key): (&SourceOptions, &str),
        whole: bool,
    ) -> bool {
        let options = SourceOptions {
            text_key: key.to_owned(),
            raw: true,
            ..options.clone()
        };
        for (span, record) in piece.parts() {
            if span.part != Part::Record {
                continue;
            }
            // A character that is none spoils a text, and no name of a field.
            let text = charset.decode_lossy(content(record));
            match json::pick(&text, &options) {
                Ok(_) | Err(RejectReason::FieldNull { .. }) => return true,
                Err(RejectReason::FieldMissing { present, .. }) => {
                    if self.records == 0 {
                        self.fields = present;
                    }
                    self.records += 1;
                }
                Err(reason) => self.others += u64::from(whole || !reason.is_incomplete()),
            }
        }
        false
    }
}
