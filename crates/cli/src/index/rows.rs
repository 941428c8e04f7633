//! The options and the writer of output rows: to stdout or a file, in one of several formats.

use std::io::{self, Stdout, Write};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{ValueEnum, ValueHint};
use twinprint::raw::{self, Column, NewFile, RowError, RowValue, RowWriter};

use crate::terminal::STDOUT_ERROR;
use crate::usage::UsageError;

#[derive(clap::Args)]
pub(super) struct RowArgs {
    /// Format of the rows [default: the extension of --output, or jsonl without it]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) format: Option<RowFormat>,

    /// File to write instead of stdout
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(super) enum RowFormat {
    /// One object per line
    Jsonl,
    /// A header and one row per line
    Csv,
    /// A Parquet table
    Parquet,
    /// Numbers of 64 bits, little-endian, one row after another
    Bin,
}

/// Writes output rows.
pub(super) struct Rows {
    rows: RowWriter<RowTarget>,
    /// The message if writing a row fails.
    failed: &'static str,
}

/// The destination of rows.
#[derive(Debug)]
enum RowTarget {
    Stdout(Stdout),
    File(NewFile),
}

impl RowArgs {
    /// The format of the rows: the value of `--format`, or else by the extension of the output file.
    pub(super) fn format(&self) -> anyhow::Result<RowFormat> {
        let Some(path) = &self.output else {
            return Ok(self.format.unwrap_or(RowFormat::Jsonl));
        };
        let ending = path.extension().and_then(|ending| ending.to_str());
        let named = ending.and_then(|ending| RowFormat::from_str(ending, true).ok());
        self.format.or(named).ok_or_else(|| {
            let refused = format!(
                "{}: the extension does not name a format of rows; choose one with --format",
                path.display()
            );
            UsageError(refused).into()
        })
    }

    /// Opens the output for rows with these columns. `notes` are keys and values for the metadata of a Parquet file.
    pub(super) fn open(&self, columns: &'static [Column], notes: &[(&str, &str)]) -> anyhow::Result<Rows> {
        let form = match self.format()? {
            RowFormat::Jsonl => raw::RowFormat::Jsonl,
            RowFormat::Csv => raw::RowFormat::Csv,
            RowFormat::Parquet => raw::RowFormat::Parquet,
            RowFormat::Bin => raw::RowFormat::Bin,
        };
        let failed = match &self.output {
            None => STDOUT_ERROR,
            Some(_) => "the rows cannot be written",
        };
        let place = match &self.output {
            None => RowTarget::Stdout(io::stdout()),
            Some(path) => RowTarget::File(
                NewFile::create(path).with_context(|| format!("{} cannot be written", path.display()))?,
            ),
        };
        let rows = RowWriter::new(place, form, columns, notes)
            .map_err(|error| match error {
                RowError::NoBinary(_) => anyhow!("{error} with --format"),
                error => error.into(),
            })
            .context(failed)?;
        Ok(Rows { rows, failed })
    }
}

impl Rows {
    pub(super) fn row(&mut self, values: &[RowValue<'_>]) -> anyhow::Result<()> {
        self.rows.row(values).context(self.failed)
    }

    /// Writes the remaining rows and gives an output file its final name. Returns the number of rows.
    pub(super) fn finish(self) -> anyhow::Result<u64> {
        let rows = self.rows.rows();
        match self.rows.finish().context(self.failed)? {
            RowTarget::Stdout(_) => {}
            RowTarget::File(file) => file.finish().context("the rows cannot be written")?,
        }
        Ok(rows)
    }
}

impl Write for RowTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(file) => file.flush(),
        }
    }
}
