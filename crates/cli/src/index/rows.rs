//! Where rows of ids go, and in which form.

use std::io::{self, Stdout, Write};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{ValueEnum, ValueHint};
use twinprint::raw::{Column, NewFile, RowError, RowFormat, RowValue, RowWriter};

use crate::terminal::STDOUT;
use crate::usage::UsageError;

#[derive(clap::Args)]
pub(super) struct RowArgs {
    /// Form of the rows; that of the ending of --output, or else jsonl
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) format: Option<Form>,

    /// File to write, in place of stdout
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(super) enum Form {
    /// One object a line
    Jsonl,
    /// A header and one row a line
    Csv,
    /// A Parquet table
    Parquet,
    /// Numbers of 64 bits, little-endian, row after row
    Bin,
}

/// Rows on their way out.
pub(super) struct Rows {
    rows: RowWriter<Place>,
    /// The context of an error of writing.
    failed: &'static str,
}

/// Where they go.
#[derive(Debug)]
enum Place {
    Stdout(Stdout),
    File(NewFile),
}

impl RowArgs {
    /// The form that is asked for.
    pub(super) fn form(&self) -> anyhow::Result<Form> {
        let Some(path) = &self.output else {
            return Ok(self.format.unwrap_or(Form::Jsonl));
        };
        let ending = path.extension().and_then(|ending| ending.to_str());
        let told = ending.and_then(|ending| Form::from_str(ending, true).ok());
        self.format.or(told).ok_or_else(|| {
            let refused = format!(
                "{}: its name ends in no form of rows; say which with --format",
                path.display()
            );
            UsageError(refused).into()
        })
    }

    /// Begins rows of such columns; a Parquet file has the notes in its metadata.
    pub(super) fn open(&self, columns: &'static [Column], notes: &[(&str, &str)]) -> anyhow::Result<Rows> {
        let form = match self.form()? {
            Form::Jsonl => RowFormat::Jsonl,
            Form::Csv => RowFormat::Csv,
            Form::Parquet => RowFormat::Parquet,
            Form::Bin => RowFormat::Bin,
        };
        let failed = match &self.output {
            None => STDOUT,
            Some(_) => "the rows cannot be written",
        };
        let place = match &self.output {
            None => Place::Stdout(io::stdout()),
            Some(path) => Place::File(
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

    /// Writes what is left, gives a file its name, and says how many rows there were.
    pub(super) fn finish(self) -> anyhow::Result<u64> {
        let rows = self.rows.rows();
        match self.rows.finish().context(self.failed)? {
            Place::Stdout(_) => {}
            Place::File(file) => file.finish().context("the rows cannot be written")?,
        }
        Ok(rows)
    }
}

impl Write for Place {
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
