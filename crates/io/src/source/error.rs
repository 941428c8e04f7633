//! Errors that end the reading of an input. An unusable record does not end it: the record is rejected.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use super::field_role::FieldRole;
use super::intake::Intake;
use crate::number::{self, counted};

/// The file formats and codecs that this version reads, for messages.
#[cfg(not(feature = "tables"))]
const READS: &str = "this version reads .txt .md .markdown .rst .text .html .jsonl .ndjson .json .csv .tsv .warc .wet, plain or as .gz .zst .bz2 .xz .lz4";
/// The file formats and codecs that this version reads, for messages.
#[cfg(feature = "tables")]
const READS: &str = "this version reads .txt .md .markdown .rst .text .html .jsonl .ndjson .json .csv .tsv .warc .wet, plain or as .gz .zst .bz2 .xz .lz4, .parquet .arrow .feather";

/// The inputs cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// An input does not exist.
    #[error("{}: no such file or folder; check the spelling, or quote a glob so that twinprint expands it", .path.display())]
    Missing {
        /// The input.
        path: PathBuf,
    },
    /// An input is a URL, but the program was built without object storage.
    #[error(
        "{input}: this build has no object storage; build it with --features object-storage, or copy the files"
    )]
    NoObjectStorage {
        /// The input.
        input: String,
    },
    /// No object has the URL that is named as an input, or is below it.
    #[error("{input}: no such object, and no objects below it; check the bucket and the path")]
    NoObject {
        /// The input.
        input: String,
    },
    /// Object storage or a web server cannot be read.
    #[error(
        "{input}: the objects cannot be listed ({source}); check the URL, the credentials and the endpoint (AWS_…, GOOGLE_… or HF_… in the environment)"
    )]
    Remote {
        /// The input.
        input: String,
        /// The error of the client.
        source: io::Error,
    },
    /// A file that is named as an input cannot be opened, or stdin cannot be read.
    #[error("{}: the file cannot be read ({source}); make it readable (chmod u+r) or leave it out", .path.display())]
    UnreadableFile {
        /// The file.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
    /// An input is neither a file nor a folder, such as a pipe.
    #[error("{}: neither a file nor a folder; inputs are read twice, so pipe it to stdin (-) instead", .path.display())]
    NotAFile {
        /// The input.
        path: PathBuf,
    },
    /// A pattern is not a valid glob.
    #[error("{pattern:?} is not a valid glob: {source}")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// The error of the glob parser.
        source: globset::Error,
    },
    /// A pattern begins with `!`, the negation of `.gitignore` files, which is not supported.
    #[error(
        "the pattern {pattern:?} begins with !, but patterns cannot be negated; write \\! to match a name that begins with !"
    )]
    NegatedPattern {
        /// The pattern.
        pattern: String,
    },
    /// A glob that is named as an input matches no file that can be read.
    #[error("the pattern {pattern:?} matches no file{}; use ** to match files in subfolders as well, because * does not cross a folder", skipped_text(.skipped))]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The numbers of matching files that were skipped, by extension.
        skipped: BTreeMap<String, u64>,
    },
    /// The file has a format that only a later version, or a build with more features, can read.
    #[error("{}: .{found} files cannot be read yet; {READS}{}", .path.display(), other_format(.found))]
    LaterFormat {
        /// The file.
        path: PathBuf,
        /// The extension of the file.
        found: String,
    },
    /// A file that is named as an input has no known format and does not begin with text.
    #[error("{}: the file does not begin with text; {READS}", .path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A file that is named as an input has an extension that belongs to no known format.
    #[error("{}: the {} indicates no known format; {READS}", .path.display(), extension_text(.extension.as_deref()))]
    UnknownExtension {
        /// The file.
        path: PathBuf,
        /// The extension of the file, if it has one.
        extension: Option<String>,
    },
    /// The inputs contain no file that can be read.
    #[error("no file to read in {}{}; {READS}", .inputs.join(", "), skipped_text(.skipped))]
    NothingFound {
        /// The inputs as the user named them.
        inputs: Vec<String>,
        /// The numbers of skipped files, by extension.
        skipped: BTreeMap<String, u64>,
    },
    /// The inputs have records, but no record is a document.
    #[error("{}", nothing_accepted(.0))]
    NothingAccepted(Box<Intake>),
    /// Records in memory were read a second time.
    #[error("the records in memory can be read only once")]
    ReadOnce,
    /// The program that supplies records in memory reported an error.
    #[error("the records cannot be supplied: {0}")]
    Supply(String),
    /// No file has a field that the options name.
    #[error("{} has no field {key:?} for {role}; {}", every_file(file, *.files), its_fields(.present))]
    NoField {
        /// The purpose of the field.
        role: FieldRole,
        /// The name of the field.
        key: String,
        /// The number of files without the field.
        files: u64,
        /// The name of the first of these files.
        file: String,
        /// The names of the fields in that file.
        present: Vec<String>,
    },
    /// stdin is an input, but the options do not state its format.
    #[error("stdin (-) has no file name that shows its format; state the format")]
    StdinFormat,
    /// stdin is named as an input more than once.
    #[error("stdin (-) is named more than once; name it once")]
    StdinTwice,
    /// stdin cannot be copied to the work directory. A copy is necessary because every input is read twice.
    #[error("{}: stdin cannot be copied to this directory ({source}); the copy is necessary because every input is read twice", .path.display())]
    Spool {
        /// The work directory.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The thread that reads the input cannot be started.
    #[error("the thread that reads the input cannot be started: {0}")]
    Thread(io::Error),
    /// The thread that reads the input stopped before the end of the input.
    #[error("the reading thread stopped before the end of the input; this is a defect, please report it")]
    ReaderStopped,
    /// The caller cancelled the run.
    #[error("the run was cancelled")]
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

/// Describes why no record is a document: counts by reason, the fields found, and the first rejected record.
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
        let _ = write!(text, "; the records have the fields {}", intake.fields.join(", "));
    }
    if let Some(first) = intake.first_reject() {
        let _ = write!(
            text,
            "; the first rejected record is {}:{}: {}",
            first.source, first.line, first.reason
        );
    }
    text
}

/// Describes which files were skipped, by extension, the most frequent extension first.
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

/// Returns the fix for a file whose format is not read.
fn other_format(found: &str) -> &'static str {
    match found {
        "parquet" | "arrow" | "feather" => {
            ". Write its rows as .jsonl with the text in one field (DuckDB: COPY … TO 'x.jsonl')"
        }
        _ => ". Extract the text to .txt or .jsonl first",
    }
}
