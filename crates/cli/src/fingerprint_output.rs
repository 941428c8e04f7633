//! Files of fingerprints that `twinprint fingerprint` and `collection export` write, and `index build` reads.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueHint;
use twinprint::raw::{Column, ColumnKind, NewFile, PROFILE_NOTE, RowFormat, RowValue, RowWriter};
use twinprint::{ProfileLabel, RecordRow, RowFingerprint, Subject};

use crate::usage::UsageError;
use crate::{number, terminal};

/// The option for an output file.
#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// File to write instead of rows to stdout, for `twinprint index build`. *.parquet has the columns id, source, line
    /// and fingerprint, and the profile in its metadata. *.u32, *.u64 or *.u128, by the width of the fingerprints, has
    /// nothing but fingerprints, little-endian
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["format_out", "notation", "explain", "top"], value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

/// A file of fingerprints that is being written.
pub(crate) struct FingerprintFile {
    path: PathBuf,
    form: FileForm,
    rows: u64,
}

enum FileForm {
    Table(RowWriter<NewFile>),
    /// Integers of a width in bytes.
    Numbers(BufWriter<NewFile>, usize),
}

/// The columns of a table of the fingerprints of records.
const fn record_columns(bits: u32) -> [Column; 4] {
    [
        Column::new("id", ColumnKind::Name),
        Column::new("source", ColumnKind::Name),
        Column::new("line", ColumnKind::Id),
        Column::new("fingerprint", ColumnKind::Fingerprint { bits }),
    ]
}

/// The columns of a table of the fingerprints of stored documents.
const fn document_columns(bits: u32) -> [Column; 2] {
    [
        Column::new("id", ColumnKind::Name),
        Column::new("fingerprint", ColumnKind::Fingerprint { bits }),
    ]
}

/// The documents whose fingerprints a file has.
#[derive(Clone, Copy)]
pub(crate) enum FileRows {
    /// Records of an input, each with its source and line.
    Records,
    /// Documents of a collection.
    Documents,
}

impl FileRows {
    /// The columns of a table; `None` if a file cannot have fingerprints of this width.
    fn columns(self, bits: u32) -> Option<&'static [Column]> {
        Some(match (self, bits) {
            (Self::Records, 32) => const { &record_columns(32) },
            (Self::Records, 64) => const { &record_columns(64) },
            (Self::Records, 128) => const { &record_columns(128) },
            (Self::Documents, 32) => const { &document_columns(32) },
            (Self::Documents, 64) => const { &document_columns(64) },
            (Self::Documents, 128) => const { &document_columns(128) },
            _ => return None,
        })
    }
}

impl OutputArgs {
    /// The file that rows are written to; `None` if they are written to stdout.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Creates the file for fingerprints of `subject`; `None` if no file is asked for.
    pub(crate) fn create(&self, subject: &Subject) -> anyhow::Result<Option<FingerprintFile>> {
        let Some(path) = &self.output else {
            return Ok(None);
        };
        let (bits, label) = match subject {
            Subject::Text { profile, .. } => (profile.bits(), Some(ProfileLabel::of_profile(profile))),
            Subject::Recipe { recipe, .. } => (recipe.bits(), Some(ProfileLabel::of_recipe(*recipe))),
            // A label names a profile of texts. Given features have none.
            Subject::Features(rules) => (rules.bits(), None),
            Subject::Vector { bits } => (*bits, Some(ProfileLabel::of_vectors(*bits))),
        };
        FingerprintFile::create(path, bits, label.as_ref(), FileRows::Records).map(Some)
    }
}

impl FingerprintFile {
    /// Creates a file for fingerprints of `bits` bits, in the format that its extension names.
    pub(crate) fn create(
        path: &Path,
        bits: u32,
        label: Option<&ProfileLabel>,
        rows: FileRows,
    ) -> anyhow::Result<Self> {
        let refuse = |problem: String| UsageError(format!("--output {}: {problem}", path.display()));
        let columns = rows.columns(bits).ok_or_else(|| {
            refuse(format!(
                "a file has fingerprints of 32, 64 or 128 bits, but the profile makes {bits}; choose another width"
            ))
        })?;
        let ending = path
            .extension()
            .and_then(|ending| ending.to_str())
            .unwrap_or_default();
        let form = if ending == "parquet" {
            let label = label.map(ProfileLabel::written);
            let notes: Vec<_> = label.iter().map(|label| (PROFILE_NOTE, label.as_str())).collect();
            let writer = RowWriter::new(create(path)?, RowFormat::Parquet, columns, &notes);
            FileForm::Table(writer.with_context(|| unwritable(path))?)
        } else if ending == format!("u{bits}") {
            let file = BufWriter::with_capacity(1 << 16, create(path)?);
            FileForm::Numbers(file, bits as usize / 8)
        } else {
            let refused = format!(
                "the extension does not name a format for fingerprints of {bits} bits; choose .parquet or .u{bits}"
            );
            return Err(refuse(refused).into());
        };
        Ok(Self {
            path: path.to_owned(),
            form,
            rows: 0,
        })
    }
}

fn create(path: &Path) -> anyhow::Result<NewFile> {
    NewFile::create(path).with_context(|| unwritable(path))
}

fn unwritable(path: &Path) -> String {
    format!("{} cannot be written", path.display())
}

impl FingerprintFile {
    /// Writes a row. A record without a fingerprint is left out.
    pub(crate) fn write(&mut self, row: &RecordRow<RowFingerprint>) -> anyhow::Result<()> {
        let Ok(made) = &row.result else {
            return Ok(());
        };
        let place = [RowValue::Name(&row.source), RowValue::Number(row.line)];
        self.put(&row.id, &place, &made.hex)
    }

    /// Writes the row of a stored document.
    pub(crate) fn write_document(&mut self, id: &str, hex: &str) -> anyhow::Result<()> {
        self.put(id, &[], hex)
    }

    fn put(&mut self, id: &str, place: &[RowValue<'_>], hex: &str) -> anyhow::Result<()> {
        let fingerprint = u128::from_str_radix(hex, 16).context("a fingerprint is not hexadecimal")?;
        self.rows += 1;
        match &mut self.form {
            FileForm::Table(writer) => writer
                .row(
                    &[
                        &[RowValue::Name(id)],
                        place,
                        &[RowValue::Fingerprint(fingerprint)],
                    ]
                    .concat(),
                )
                .with_context(|| unwritable(&self.path)),
            FileForm::Numbers(file, bytes) => file
                .write_all(&fingerprint.to_le_bytes()[..*bytes])
                .with_context(|| unwritable(&self.path)),
        }
    }

    /// Gives the file its final name, and prints its name and the number of fingerprints.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let path = &self.path;
        let file = match self.form {
            FileForm::Table(writer) => writer.finish().with_context(|| unwritable(path))?,
            FileForm::Numbers(file, _) => {
                let file = file.into_inner().map_err(std::io::IntoInnerError::into_error);
                file.with_context(|| unwritable(path))?
            }
        };
        file.finish().with_context(|| unwritable(path))?;
        terminal::out(&format!(
            "{}: {}\n",
            path.display(),
            number::counted(self.rows, "fingerprint")
        ))
    }
}
