//! Errors that end reading. A single bad record is not an error: it is rejected.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use super::field_role::FieldRole;
use super::intake::Intake;
use crate::number::{self, counted};

/// The formats and codecs of this version, for messages.
#[cfg(not(feature = "tables"))]
const READS: &str = "this version reads .txt .md .markdown .rst .text .html .jsonl .ndjson .json .csv .tsv .warc .wet, plain or as .gz .zst .bz2 .xz .lz4";
/// The formats and codecs of this version, for messages.
#[cfg(feature = "tables")]
const READS: &str = "this version reads .txt .md .markdown .rst .text .html .jsonl .ndjson .json .csv .tsv .warc .wet, plain or as .gz .zst .bz2 .xz .lz4, .parquet .arrow .feather";

/// The inputs cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// An input that does not exist.
    #[error("{}: no such file or folder; check the spelling, or quote a glob so that twinprint expands it", .path.display())]
    Missing {
        /// The input.
        path: PathBuf,
    },
    /// A named file cannot be opened, or stdin cannot be read.
    #[error("{}: the file cannot be read ({source}); make it readable (chmod u+r) or leave it out", .path.display())]
    UnreadableFile {
        /// The file.
        path: PathBuf,
        /// The message of the operating system.
        source: io::Error,
    },
    /// An input that is neither a file nor a folder, such as a pipe.
    #[error("{}: neither a file nor a folder; inputs are read twice, so pipe it to stdin (-) instead", .path.display())]
    NotAFile {
        /// The input.
        path: PathBuf,
    },
    /// A pattern that does not parse.
    #[error("{pattern:?} is not a valid glob: {source}")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// The message of the parser of globs.
        source: globset::Error,
    },
    /// A pattern with a negation.
    #[error(
        "{pattern:?} begins with !, but patterns that include or exclude have no negation; write \\! for a name that begins with !"
    )]
    NegatedPattern {
        /// The pattern.
        pattern: String,
    },
    /// A pattern no file matches.
    #[error("{pattern:?} matches no file{}; ** crosses folders, * does not", skipped_text(.skipped))]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// Matching files left out, by extension.
        skipped: BTreeMap<String, u64>,
    },
    /// A format of a later version.
    #[error("{}: .{found} is not supported yet; {READS}{}", .path.display(), other_format(.found))]
    LaterFormat {
        /// The file.
        path: PathBuf,
        /// The extension.
        found: String,
    },
    /// A file named as an input that is neither of a known format nor text.
    #[error("{}: it does not begin like text; {READS}", .path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A file named as an input whose extension names no known format.
    #[error("{}: the {} indicates no known format; {READS}", .path.display(), extension_text(.extension.as_deref()))]
    UnknownExtension {
        /// The file.
        path: PathBuf,
        /// Its extension, if it has one.
        extension: Option<String>,
    },
    /// Inputs without a file to read.
    #[error("no file to read in {}{}; {READS}", .inputs.join(", "), skipped_text(.skipped))]
    NothingFound {
        /// The inputs as given.
        inputs: Vec<String>,
        /// Files left out, by extension.
        skipped: BTreeMap<String, u64>,
    },
    /// The inputs have records, but no record is a document.
    #[error("{}", nothing_accepted(.0))]
    NothingAccepted(Box<Intake>),
    /// No file has a field that was asked for.
    #[error("{} has no field {key:?} for {role}; {}", every_file(file, *.files), its_fields(.present))]
    NoField {
        /// The role for which the field was named.
        role: FieldRole,
        /// Its name.
        key: String,
        /// The number of files.
        files: u64,
        /// The first file.
        file: String,
        /// Its fields.
        present: Vec<String>,
    },
    /// stdin without a format.
    #[error("stdin (-) has no name that shows its format")]
    StdinFormat,
    /// stdin named more than once.
    #[error("stdin (-) can be named only once")]
    StdinTwice,
    /// The copy of stdin, which must be read twice, cannot be written.
    #[error("{}: stdin cannot be copied there ({source}); inputs are read twice, so stdin needs a copy on disk", .path.display())]
    Spool {
        /// The work directory.
        path: PathBuf,
        /// The message of the operating system.
        source: io::Error,
    },
    /// The reading thread could not be started.
    #[error("no thread for reading can be started: {0}")]
    Thread(io::Error),
    /// The reading thread ended before the input did.
    #[error("the reading thread stopped before the end of the input; this is a defect, please report it")]
    ReaderStopped,
    /// The work was cancelled.
    #[error("cancelled")]
    Cancelled,
}

fn its_fields(present: &[String]) -> String {
    if present.is_empty() {
        "it has no fields".to_owned()
    } else {
        format!("its fields are {}", present.join(", "))
    }
}

fn every_file(first: &str, files: u64) -> String {
    match files {
        0 | 1 => first.to_owned(),
        _ => format!("{first}, like the other {},", counted(files - 1, "file")),
    }
}

/// The reasons why no record is a document.
fn nothing_accepted(intake: &Intake) -> String {
    let rejected = (intake.rejected > 0).then(|| {
        format!(
            "{} rejected ({})",
            number::count(intake.rejected),
            intake.rejected_kinds()
        )
    });
    let why: Vec<String> = rejected.into_iter().chain(intake.skipped_records()).collect();
    let mut text = format!("none of the records is a document: {}", why.join("; "));
    if !intake.fields.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(text, "; the fields seen are {}", intake.fields.join(", "));
    }
    if let Some(first) = intake.first_reject() {
        let _ = write!(
            text,
            "; the first is {}:{}: {}",
            first.source, first.line, first.reason
        );
    }
    text
}

/// Lists what was left out, most frequent first.
fn skipped_text(skipped: &BTreeMap<String, u64>) -> String {
    let mut by_count: Vec<_> = skipped.iter().collect();
    by_count.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let mut text = String::new();
    for (i, (extension, count)) in by_count.iter().take(10).enumerate() {
        let start = if i == 0 { " (skipped: " } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{start}{count} {extension}");
    }
    if by_count.len() > 10 {
        let _ = write!(text, " and {} more kinds", by_count.len() - 10);
    }
    if !text.is_empty() {
        text.push(')');
    }
    text
}

fn extension_text(extension: Option<&str>) -> String {
    extension.map_or_else(|| "name".to_owned(), |e| format!("extension .{e}"))
}

/// The fix for a file of a format that is not read.
fn other_format(found: &str) -> &'static str {
    match found {
        "parquet" | "arrow" | "feather" => {
            ". Write its rows as .jsonl with the text in one field (DuckDB: COPY … TO 'x.jsonl')"
        }
        _ => ". Extract the text to .txt or .jsonl first",
    }
}
