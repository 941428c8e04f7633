//! Resolves the inputs to the files to read.

mod file_format;
mod search;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use tempfile::TempPath;

use self::search::Search;
pub use self::search::{EARLIER_RESULT, EXCLUDED, EXCLUDED_FOLDER, NOT_INCLUDED};
use super::error::SourceError;
use super::file::SourceFile;
use super::options::SourceOptions;
use super::output_layout;

/// The files that the inputs resolve to.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    pub files: Vec<SourceFile>,
    /// For each file, the number of the input that it came from, from 0.
    origins: Vec<usize>,
    pub skipped: BTreeMap<String, u64>,
    /// The inputs that are folders in which no file is read.
    pub empty: Vec<String>,
    pub repeated: u64,
    pub spool: Option<TempPath>,
}

/// Finds the files of the inputs. Reads `stdin` if `-` is among them.
pub(super) fn discover(
    inputs: &[String],
    options: &SourceOptions,
    work_dir: &Path,
    cancel: &AtomicBool,
    stdin: &mut dyn Read,
) -> Result<Discovered, SourceError> {
    let search = Search::new(options, cancel)?;
    let mut found = Discovered::default();
    for (i, input) in inputs.iter().enumerate() {
        let before = found.files.len();
        if input == "-" {
            search.stdin(&mut found, work_dir, stdin)?;
        } else {
            search.input(&mut found, input)?;
        }
        if inputs.len() > 1
            && let Some(folder) = folder_name(input)
        {
            for file in &mut found.files[before..] {
                file.relative = Path::new(folder).join(&file.relative);
            }
        }
        let bytes = |file: &SourceFile| file.relative.as_os_str().as_encoded_bytes().to_owned();
        found.files[before..].sort_by_cached_key(bytes);
        found.origins.resize(found.files.len(), i);
    }
    if found.files.is_empty() {
        return Err(SourceError::NothingFound {
            inputs: inputs.to_vec(),
            skipped: found.skipped,
        });
    }
    if inputs.len() > 1 {
        found.drop_repeated();
    }
    output_layout::separate_inputs(&mut found.files, &found.origins);
    Ok(found)
}

/// The name of a folder. With several inputs, its files are written to a folder of this name.
fn folder_name(input: &str) -> Option<&OsStr> {
    let path = Path::new(input);
    path.file_name().filter(|_| input != "-" && path.is_dir())
}

impl Discovered {
    /// The number of files that are read as text although their extension names no format or another, by extension.
    pub(super) fn as_text(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for extension in self.files.iter().filter_map(|file| file.as_text.as_ref()) {
            *counts.entry(extension.clone()).or_default() += 1;
        }
        counts
    }

    /// Keeps the first of files named more than once.
    fn drop_repeated(&mut self) {
        let mut seen = HashSet::new();
        let files = std::mem::take(&mut self.files)
            .into_iter()
            .zip(std::mem::take(&mut self.origins));
        for (file, origin) in files {
            // A file that cannot be resolved counts as new; reading it reports the fault.
            if fs::canonicalize(&file.path).map_or(true, |path| seen.insert(path)) {
                self.files.push(file);
                self.origins.push(origin);
            } else {
                self.repeated += 1;
            }
        }
    }
}
