//! Finds the objects of an input in object storage, on a web server or in a dataset of the Hugging Face Hub: one object,
//! those below a folder, or those that match a glob.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Discovered;
use super::file_format::{FileNaming, UnreadReason};
use super::search::{EARLIER_RESULT, EXCLUDED, NOT_INCLUDED, Search};
use crate::markers::{FILE_LIST, UNFINISHED};
use crate::remote::storage::Object;
use crate::remote::{Copies, RemoteFile, client};
use crate::source::error::SourceError;
use crate::source::file::SourceFile;
use crate::source::walk::{Pattern, is_pattern};

impl Search<'_> {
    /// Adds the objects of an input to `found`. An input that is no object is a folder.
    pub(super) fn remote(
        &self,
        found: &mut Discovered,
        input: &str,
        work_dir: &Path,
    ) -> Result<(), SourceError> {
        let failed = |source| SourceError::Remote {
            input: input.to_owned(),
            source,
        };
        let (storage, key) = client::open(input, Arc::clone(self.cancel)).map_err(failed)?;
        let is_glob = storage.has_lists() && is_pattern(&key);
        let pattern = is_glob.then(|| Pattern::new(&key)).transpose()?;
        let single = match &pattern {
            None if !key.is_empty() && !key.ends_with('/') => storage.find(&key).map_err(failed)?,
            _ => None,
        };
        let is_single = single.is_some();
        // Outputs get the paths below the folder that the input names.
        let folder = match (&pattern, &single) {
            (Some(pattern), _) => pattern.root.clone(),
            (None, Some(_)) => Path::new(&key).parent().map(PathBuf::from).unwrap_or_default(),
            (None, None) => PathBuf::from(&key),
        };
        let objects = match single {
            Some(object) => vec![object],
            None if !storage.has_lists() => Vec::new(),
            None => storage.list(&folder.to_string_lossy()).map_err(failed)?,
        };
        if objects.is_empty() {
            return Err(SourceError::NoObject {
                input: input.to_owned(),
            });
        }
        let copies = Copies::new(work_dir, storage).map_err(|source| SourceError::Spool {
            path: work_dir.to_owned(),
            source,
        })?;
        let before = found.files.len();
        let results = results_below(&folder, &objects);
        for object in objects {
            let path = Path::new(&object.key);
            if path.ancestors().skip(1).any(|above| results.contains(above)) {
                *found.skipped.entry(EARLIER_RESULT.to_owned()).or_default() += 1;
                continue;
            }
            if pattern.as_ref().is_some_and(|pattern| !pattern.matches(path)) {
                continue;
            }
            let relative = path.strip_prefix(&folder).unwrap_or(path).to_owned();
            let is_named = is_single || pattern.is_some();
            match self.object(&object, relative, is_named) {
                Ok(file) => {
                    let remote = RemoteFile::new(&copies, found.files.len(), object.version.clone());
                    found.files.push(SourceFile {
                        path: remote.path().to_owned(),
                        label: object.version.url,
                        remote: Some(remote),
                        ..file
                    });
                }
                Err(counted_as) => *found.skipped.entry(counted_as).or_default() += 1,
            }
        }
        if found.files.len() == before && pattern.is_some() {
            return Err(SourceError::NoMatch {
                pattern: input.to_owned(),
                skipped: found.skipped.clone(),
            });
        }
        if found.files.len() == before {
            found.empty.push(input.to_owned());
        }
        Ok(())
    }

    /// Describes an object, or returns the key under which it is counted as skipped. The name alone decides the format.
    fn object(&self, object: &Object, relative: PathBuf, is_named: bool) -> Result<SourceFile, String> {
        // Patterns match an object or a folder above it.
        let matches = |is_match: &dyn Fn(&Path, bool) -> bool| {
            let folders = relative.ancestors().skip(1);
            let mut folders = folders.filter(|folder| !folder.as_os_str().is_empty());
            is_match(&relative, false) || folders.any(|folder| is_match(folder, true))
        };
        let filter = &self.filter;
        if matches(&|path, is_folder| filter.excludes(path, is_folder)) {
            return Err(EXCLUDED.to_owned());
        }
        if !filter.includes_all() && !matches(&|path, is_folder| filter.includes(path, is_folder)) {
            return Err(NOT_INCLUDED.to_owned());
        }
        let naming = FileNaming {
            is_file_itself: is_named,
            spells_extension: &|_| false,
        };
        let kind = self.formats.choose(Path::new(&object.key), &naming);
        let kind = kind.map_err(UnreadReason::counted_as)?;
        Ok(SourceFile {
            path: PathBuf::new(),
            label: String::new(),
            relative,
            format: kind.format,
            codec: kind.codec,
            bytes: object.version.bytes,
            as_text: kind.as_text,
            unreadable: None,
            modified: object.modified,
            remote: None,
        })
    }
}

/// The folders below `root` with the result of a run, or with a part of one. Everything in them is a copy of some input.
fn results_below(root: &Path, objects: &[Object]) -> HashSet<PathBuf> {
    let markers = objects
        .iter()
        .map(|object| Path::new(&object.key))
        .filter(|path| {
            let name = path.file_name();
            name.is_some_and(|name| name == FILE_LIST || name == UNFINISHED)
        });
    let folders = markers.filter_map(Path::parent);
    folders
        .filter(|&folder| folder != root)
        .map(PathBuf::from)
        .collect()
}
