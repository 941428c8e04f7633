//! Reads the results of a finished run from its output directory.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::{ClusterRow, PairRow, RejectRow, Report};

/// The name of the file with the report as JSON.
const REPORT: &str = "report.json";

/// A result file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The file cannot be opened or read.
    #[error("{}: the file cannot be read ({source})", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
    /// A line of a result file is not a row of that file.
    #[error("{}:{line}: the line is not a valid row of this file ({source}); the file was changed or damaged", .path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
}

impl Report {
    /// The name of the file that contains the report, in an output directory.
    pub const FILE: &str = REPORT;

    /// Reads the report of a finished run from the run's output directory `dir`.
    ///
    /// # Errors
    /// [`ResultError`] if the file cannot be read or is not a report.
    ///
    /// ```
    /// use twinprint_io::results::Report;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let room = tempfile::tempdir()?;
    /// # let dir = room.path();
    /// # let mut written = Report { version: "0.1.0".to_owned(), ..Report::default() };
    /// # (written.records.read, written.records.kept, written.records.removed) = (3, 2, 1);
    /// # std::fs::write(dir.join(Report::FILE), serde_json::to_vec(&written)?)?;
    /// let report = Report::read(dir)?;
    /// let records = &report.records;
    /// assert_eq!(records.read, records.kept + records.removed + records.rejected);
    /// println!("{} of {} records removed", records.removed, records.read);
    /// # Ok(())
    /// # }
    /// ```
    pub fn read(dir: &Path) -> Result<Self, ResultError> {
        let path = dir.join(REPORT);
        let json = std::fs::read(&path).map_err(|source| ResultError::Io {
            path: path.clone(),
            source,
        })?;
        serde_json::from_slice(&json).map_err(|source| ResultError::Row {
            path,
            line: 1,
            source,
        })
    }
}

/// Iterates over the rows of one result file, in order.
///
/// ```
/// use twinprint_io::results::RowReader;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// std::fs::write(dir.path().join("rejects.jsonl"), r#"{"source":"a.jsonl","line":3,"reason":"no field \"text\""}"#)?;
/// for reject in RowReader::rejects(dir.path())? {
///     let reject = reject?;
///     assert_eq!((&*reject.source, reject.line), ("a.jsonl", 3));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RowReader<R> {
    path: PathBuf,
    lines: io::Lines<BufReader<File>>,
    line: u64,
    rows: PhantomData<R>,
}

impl RowReader<ClusterRow<'static>> {
    /// Opens `clusters.jsonl` in the output directory `dir`, to iterate over its rows.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn clusters(dir: &Path) -> Result<Self, ResultError> {
        Self::open(dir.join("clusters.jsonl"))
    }
}

impl RowReader<PairRow<'static>> {
    /// Opens `pairs.jsonl` in the output directory `dir`, to iterate over its rows.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn pairs(dir: &Path) -> Result<Self, ResultError> {
        Self::open(dir.join("pairs.jsonl"))
    }
}

impl RowReader<RejectRow<'static>> {
    /// Opens `rejects.jsonl` in the output directory `dir`, to iterate over its rows.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn rejects(dir: &Path) -> Result<Self, ResultError> {
        Self::open(dir.join("rejects.jsonl"))
    }
}

impl<R: DeserializeOwned> RowReader<R> {
    fn open(path: PathBuf) -> Result<Self, ResultError> {
        match File::open(&path) {
            Ok(file) => Ok(Self {
                path,
                lines: BufReader::new(file).lines(),
                line: 0,
                rows: PhantomData,
            }),
            Err(source) => Err(ResultError::Io { path, source }),
        }
    }
}

impl<R: DeserializeOwned> Iterator for RowReader<R> {
    type Item = Result<R, ResultError>;

    fn next(&mut self) -> Option<Self::Item> {
        let path = self.path.clone();
        self.line += 1;
        Some(match self.lines.next()? {
            Ok(line) => serde_json::from_str(&line).map_err(|source| ResultError::Row {
                path,
                line: self.line,
                source,
            }),
            Err(source) => Err(ResultError::Io { path, source }),
        })
    }
}
