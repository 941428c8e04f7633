//! Finds the files to read for the inputs that the user named.

mod file_format;
#[cfg(feature = "object-storage")]
mod remote;
mod search;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tempfile::TempPath;

use self::search::Search;
pub use self::search::{EARLIER_RESULT, EXCLUDED, EXCLUDED_FOLDER, NOT_INCLUDED};
use super::error::SourceError;
use super::file::SourceFile;
use super::options::SourceOptions;
use super::output_layout;
use crate::remote::is_remote;

/// The files to read for the inputs.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    pub files: Vec<SourceFile>,
    /// For each file, the index of the input through which it was found.
    origins: Vec<usize>,
    pub skipped: BTreeMap<String, u64>,
    /// The inputs that are folders without a file to read.
    pub empty: Vec<String>,
    pub repeated: u64,
    pub spool: Option<TempPath>,
}

/// Finds the files to read for the inputs. Copies `stdin` to disk if `-` is among the inputs.
pub(super) fn discover(
    inputs: &[String],
    options: &SourceOptions,
    work_dir: &Path,
    cancel: &Arc<AtomicBool>,
    stdin: &mut dyn Read,
) -> Result<Discovered, SourceError> {
    let search = Search::new(options, cancel)?;
    let mut found = Discovered::default();
    for (i, input) in inputs.iter().enumerate() {
        let before = found.files.len();
        if input == "-" {
            search.stdin(&mut found, work_dir, stdin)?;
        } else if is_remote(input) {
            #[cfg(feature = "object-storage")]
            search.remote(&mut found, input, work_dir)?;
            #[cfg(not(feature = "object-storage"))]
            return Err(SourceError::NoObjectStorage { input: input.clone() });
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

/// Returns the name of a folder. If there are several inputs, the output files of the folder are written to a folder of
/// this name.
fn folder_name(input: &str) -> Option<&OsStr> {
    let path = Path::new(input);
    path.file_name().filter(|_| input != "-" && path.is_dir())
}

impl Discovered {
    /// Counts, by extension, the files that are read as text although their extension names another format or none.
    pub(super) fn as_text(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for extension in self.files.iter().filter_map(|file| file.as_text.as_ref()) {
            *counts.entry(extension.clone()).or_default() += 1;
        }
        counts
    }

    /// Removes files that were found before, so that each file is read once.
    fn drop_repeated(&mut self) {
        let mut seen = HashSet::new();
        let files = std::mem::take(&mut self.files)
            .into_iter()
            .zip(std::mem::take(&mut self.origins));
        for (file, origin) in files {
            let place = match &file.remote {
                Some(_) => Ok(PathBuf::from(&file.label)),
                None => fs::canonicalize(&file.path),
            };
            // If the real path of a file cannot be determined, the file counts as not found before. Reading it then
            // reports the error.
            if place.map_or(true, |place| seen.insert(place)) {
                self.files.push(file);
                self.origins.push(origin);
            } else {
                self.repeated += 1;
            }
        }
    }
}
