//! Lists the files in a folder and its subfolders, or those that match a glob. Symbolic links are not followed. Folders
//! that contain the result of an earlier run are skipped, because everything in them is a copy of some input. The
//! output directory of the current run is skipped as well.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use globset::{GlobBuilder, GlobMatcher};

use super::error::SourceError;
use super::filter::Filter;
use crate::markers;

/// A result of a walk: a file, or something that is skipped.
#[derive(Debug, PartialEq)]
pub(super) enum WalkEntry {
    /// A file. `relative` is its path relative to the root of the walk. `named` is true if the glob matches the file
    /// itself, not only a folder above it.
    File {
        path: PathBuf,
        relative: PathBuf,
        named: bool,
    },
    /// A symbolic link.
    Link,
    /// A socket, a pipe or a device.
    Special,
    /// A folder that contains the result of an earlier run.
    Result,
    /// A file that a pattern excludes.
    Excluded,
    /// A folder that a pattern excludes together with everything in it.
    ExcludedFolder,
    /// A file that no pattern includes.
    NotIncluded,
    /// A folder that cannot be listed completely.
    Unlisted {
        path: PathBuf,
        relative: PathBuf,
        message: String,
    },
}

/// A glob, and the folder in which its matches are searched.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The path components before the first one with a wildcard.
    pub root: PathBuf,
    matcher: GlobMatcher,
    /// The largest number of path components below `root` that a match can have. `None` if it is unlimited, because the
    /// glob contains `**`.
    depth: Option<usize>,
}

/// Returns true if an input contains a wildcard, so that it is a glob.
pub(super) fn is_pattern(input: &str) -> bool {
    input.contains(['*', '?', '[', '{'])
}

/// Returns the path that an input names. For a glob it is the folder in which its matches are searched.
///
/// # Examples
/// ```
/// use std::path::Path;
/// use twinprint_io::source::input_root;
///
/// assert_eq!(input_root("data/2026/*.jsonl"), Path::new("data/2026"));
/// assert_eq!(input_root("data/a.txt"), Path::new("data/a.txt"));
/// ```
pub fn input_root(input: &str) -> PathBuf {
    let path = Path::new(input);
    if path.exists() || !is_pattern(input) {
        return path.to_owned();
    }
    literal(path)
}

/// Returns the path components before the first one with a wildcard.
fn literal(path: &Path) -> PathBuf {
    path.components()
        .take_while(|component| !is_pattern(&component.as_os_str().to_string_lossy()))
        .collect()
}

impl Pattern {
    /// Parses a glob. `*` does not match a slash, `**` does.
    pub(super) fn new(pattern: &str) -> Result<Self, SourceError> {
        let bad = |source| SourceError::BadPattern {
            pattern: pattern.to_owned(),
            source,
        };
        let components: Vec<_> = Path::new(pattern).components().collect();
        let root = literal(Path::new(pattern));
        let plain = root.components().count();
        // The glob is rebuilt without repeated separators, because the paths that a walk finds have none.
        let whole: PathBuf = components.iter().collect();
        let glob = GlobBuilder::new(&whole.to_string_lossy())
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(bad)?;
        let below = &components[plain..];
        // An alternative ({a,b}) may contain a separator, so the depth of the matches is unknown.
        let crosses = |c: &Component<'_>| {
            let text = c.as_os_str().to_string_lossy();
            text.contains("**") || text.contains(['{', '}'])
        };
        let depth = (!below.iter().any(crosses)).then_some(below.len());
        Ok(Self {
            root,
            matcher: glob.compile_matcher(),
            depth,
        })
    }

    /// Returns true if the glob matches `path`.
    pub(super) fn matches(&self, path: &Path) -> bool {
        self.matcher.is_match(path)
    }
}

/// The files by which the output directory of a command is recognised: one list for `dedup`, one for `cluster`.
const RESULTS: [[&str; 3]; 2] = [
    ["report.json", "config.toml", "clusters.jsonl"],
    ["assignments.jsonl", "groups.jsonl", "stories.jsonl"],
];

/// Returns true if a folder is the output directory of an earlier run.
fn is_result(folder: &Path) -> bool {
    // Earlier versions wrote no list of files, so their output directories are recognised by their result files.
    let there = |name: &&str| fs::symlink_metadata(folder.join(name)).is_ok_and(|found| found.is_file());
    markers::is_result(folder) || RESULTS.iter().any(|files| files.iter().all(there))
}

/// A folder that a walk has found but not listed yet.
struct Folder {
    path: PathBuf,
    relative: PathBuf,
    depth: usize,
    /// True if every file in the folder is found: the walk has no glob, or the glob matches this folder or one above
    /// it.
    inside: bool,
    /// True if every file in the folder is included: no pattern includes files, or one matches this folder or one above
    /// it.
    included: bool,
}

/// Lists the files below `root`, in no particular order. With a glob, only files are listed that it matches, or that
/// are in a folder that it matches. Files and folders that `filter` excludes are returned as skipped, and excluded
/// folders are not listed.
pub(super) fn walk(
    root: &Path,
    pattern: Option<&Pattern>,
    filter: &Filter,
    cancel: &AtomicBool,
) -> Result<Vec<WalkEntry>, SourceError> {
    let mut met = Vec::new();
    let first = Folder {
        path: root.to_owned(),
        relative: PathBuf::new(),
        depth: 0,
        inside: pattern.is_none(),
        included: filter.includes_all(),
    };
    let mut folders = vec![first];
    while let Some(folder) = folders.pop() {
        if cancel.load(Ordering::Relaxed) {
            return Err(SourceError::Cancelled);
        }
        let listed = if folder.path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &folder.path
        };
        let unlisted = |error: io::Error| WalkEntry::Unlisted {
            path: folder.path.clone(),
            relative: folder.relative.clone(),
            message: error.to_string(),
        };
        let entries = match fs::read_dir(listed) {
            Ok(entries) => entries,
            Err(error) => {
                met.push(unlisted(error));
                continue;
            }
        };
        for entry in entries {
            let found = entry.and_then(|entry| Ok((entry.file_type()?, entry)));
            let (kind, entry) = match found {
                Ok(found) => found,
                Err(error) => {
                    met.push(unlisted(error));
                    break;
                }
            };
            let path = folder.path.join(entry.file_name());
            let relative = folder.relative.join(entry.file_name());
            let named = !folder.inside && pattern.is_some_and(|p| p.matches(&path));
            let included = folder.included || filter.includes(&relative, kind.is_dir());
            if kind.is_dir() {
                let depth = folder.depth + 1;
                let may_match_below = pattern.and_then(|p| p.depth).is_none_or(|most| depth < most);
                let inside = folder.inside || named;
                // A glob without `**` names each folder level. If such a glob leads into the output directory of a run,
                // the user means that directory, so it is listed.
                let spelled = pattern.is_some_and(|p| p.depth.is_some()) && !folder.inside;
                let wanted = inside || may_match_below;
                if wanted && filter.excludes(&relative, true) {
                    met.push(WalkEntry::ExcludedFolder);
                } else if wanted && !spelled && is_result(&path) {
                    met.push(WalkEntry::Result);
                } else if wanted && !markers::is_unfinished(&path) {
                    folders.push(Folder {
                        path,
                        relative,
                        depth,
                        inside,
                        included,
                    });
                }
            } else if folder.inside || named {
                met.push(if filter.excludes(&relative, false) {
                    WalkEntry::Excluded
                } else if !included {
                    WalkEntry::NotIncluded
                } else if kind.is_file() {
                    WalkEntry::File {
                        path,
                        relative,
                        named,
                    }
                } else if kind.is_symlink() {
                    WalkEntry::Link
                } else {
                    WalkEntry::Special
                });
            }
        }
    }
    Ok(met)
}
