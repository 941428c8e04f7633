//! Finds the files of one input: stdin, a file, a folder or a glob.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::Discovered;
use super::file_format::{FileFormat, FileNaming, FormatRules, UnreadReason, source_file};
use crate::source::error::SourceError;
use crate::source::field_role::FieldRole;
use crate::source::file::SourceFile;
use crate::source::filter::{Filter, spells_extension};
use crate::source::format::{Codec, Format};
use crate::source::options::SourceOptions;
use crate::source::reject::RejectReason;
use crate::source::spool;
use crate::source::walk::{Pattern, WalkEntry, is_pattern, walk};

/// The key in [`Sources::skipped`](crate::source::Sources::skipped) that counts folders with the result of an earlier
/// run.
pub const EARLIER_RESULT: &str = "(result of an earlier run)";
/// The key in [`Sources::skipped`](crate::source::Sources::skipped) that counts files that a pattern excludes.
pub const EXCLUDED: &str = "(excluded)";
/// The key in [`Sources::skipped`](crate::source::Sources::skipped) that counts folders that a pattern excludes
/// together with everything in them.
pub const EXCLUDED_FOLDER: &str = "(excluded folder)";
/// The key in [`Sources::skipped`](crate::source::Sources::skipped) that counts files that no pattern includes.
pub const NOT_INCLUDED: &str = "(not included)";

/// The rules by which the files of an input are found. Threads share them while a folder is searched.
pub(super) struct Search<'a> {
    options: &'a SourceOptions,
    pub(super) formats: FormatRules<'a>,
    pub(super) filter: Filter,
    pub(super) cancel: &'a Arc<AtomicBool>,
}

/// The decision about a file of a folder: read it, or count it as skipped under a key.
type Decision = Result<SourceFile, String>;

impl<'a> Search<'a> {
    /// Creates the rules that `options` set.
    ///
    /// # Errors
    /// [`SourceError::BadPattern`] or [`SourceError::NegatedPattern`] for an invalid pattern.
    pub(super) fn new(options: &'a SourceOptions, cancel: &'a Arc<AtomicBool>) -> Result<Self, SourceError> {
        Ok(Self {
            options,
            formats: FormatRules::new(options),
            filter: Filter::new(&options.include, &options.exclude)?,
            cancel,
        })
    }

    pub(super) fn stdin(
        &self,
        found: &mut Discovered,
        work_dir: &Path,
        stdin: &mut dyn Read,
    ) -> Result<(), SourceError> {
        let format = self.options.format.ok_or(SourceError::StdinFormat)?;
        if found.spool.is_some() {
            return Err(SourceError::StdinTwice);
        }
        let format = self.formats.by_lines(format);
        let (path, codec) = spool::spool(stdin, work_dir, self.cancel)?;
        let metadata = fs::metadata(&path).map_err(|source| SourceError::Spool {
            path: work_dir.to_owned(),
            source,
        })?;
        let relative = PathBuf::from(format!("stdin.{}{}", format.extension(), codec.suffix()));
        let kind = FileFormat {
            format,
            codec,
            as_text: None,
        };
        found.files.push(SourceFile {
            label: "stdin".to_owned(),
            ..source_file(path.to_path_buf(), relative, kind, &metadata)
        });
        found.spool = Some(path);
        Ok(())
    }

    /// Adds the files of an input to `found`. The input is a file, a folder or a glob. A path that exists is never
    /// interpreted as a glob.
    pub(super) fn input(&self, found: &mut Discovered, input: &str) -> Result<(), SourceError> {
        let path = Path::new(input);
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(_) if is_pattern(input) => return self.pattern(found, input),
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                return Err(SourceError::Missing {
                    path: path.to_owned(),
                });
            }
            Err(source) if source.kind() == io::ErrorKind::NotADirectory => {
                return Err(SourceError::UnreadableFile {
                    path: path.to_owned(),
                    source,
                });
            }
            Err(error) => {
                // The file exists or may exist. It therefore becomes a reject, like an unreadable file in a folder.
                found.files.push(unreadable_file(path, last_name(path), &error));
                return Ok(());
            }
        };
        if metadata.is_dir() {
            let before = found.files.len();
            let met = walk(path, None, &self.filter, self.cancel)?;
            self.take(found, met, None);
            if found.files.len() == before {
                found.empty.push(input.to_owned());
            }
            return Ok(());
        }
        if !metadata.is_file() {
            return Err(SourceError::NotAFile {
                path: path.to_owned(),
            });
        }
        let relative = last_name(path);
        let left_out = if self.filter.excludes(&relative, false) {
            Some(EXCLUDED)
        } else if self.filter.includes_all() || self.filter.includes(&relative, false) {
            None
        } else {
            Some(NOT_INCLUDED)
        };
        if let Some(counted_as) = left_out {
            *found.skipped.entry(counted_as.to_owned()).or_default() += 1;
            return Ok(());
        }
        let opened = File::open(path);
        let naming = FileNaming {
            is_file_itself: true,
            spells_extension: &|_| true,
        };
        let kind = self.formats.choose(path, &naming);
        if let (Err(error), Err(_)) = (&opened, &kind) {
            found.files.push(unreadable_file(path, relative, error));
            return Ok(());
        }
        let kind = kind.map_err(|why| {
            let path = path.to_owned();
            match why {
                UnreadReason::LaterFormat(found) => SourceError::LaterFormat { path, found },
                UnreadReason::NotText => SourceError::NotText { path },
                UnreadReason::NoTextField(present) => SourceError::NoField {
                    role: FieldRole::Text,
                    key: self.options.text_key.clone(),
                    files: 1,
                    file: input.to_owned(),
                    present,
                },
                UnreadReason::UnknownExtension(extension) => {
                    SourceError::UnknownExtension { path, extension }
                }
            }
        })?;
        let file = source_file(path.to_owned(), relative, kind, &metadata);
        found.files.push(file);
        Ok(())
    }

    fn pattern(&self, found: &mut Discovered, input: &str) -> Result<(), SourceError> {
        let pattern = Pattern::new(input)?;
        if !pattern.root.as_os_str().is_empty() && !pattern.root.is_dir() {
            return Err(SourceError::Missing { path: pattern.root });
        }
        let before = found.files.len();
        let met = walk(&pattern.root, Some(&pattern), &self.filter, self.cancel)?;
        self.take(found, met, Some(&pattern));
        if found.files.len() == before {
            return Err(SourceError::NoMatch {
                pattern: input.to_owned(),
                skipped: found.skipped.clone(),
            });
        }
        Ok(())
    }

    fn take(&self, found: &mut Discovered, met: Vec<WalkEntry>, pattern: Option<&Pattern>) {
        // Several files are examined in parallel, because reading their sizes and first bytes waits for the disk, which
        // can serve several requests at once.
        let decisions: Vec<Decision> = met.into_par_iter().map(|met| self.decide(met, pattern)).collect();
        for decision in decisions {
            match decision {
                Ok(file) => found.files.push(file),
                Err(counted_as) => *found.skipped.entry(counted_as).or_default() += 1,
            }
        }
    }

    fn decide(&self, met: WalkEntry, pattern: Option<&Pattern>) -> Decision {
        let (path, relative, named) = match met {
            WalkEntry::File {
                path,
                relative,
                named,
            } => (path, relative, named),
            WalkEntry::Link => return Err("(symbolic link)".to_owned()),
            WalkEntry::Special => return Err("(no regular file)".to_owned()),
            WalkEntry::Result => return Err(EARLIER_RESULT.to_owned()),
            WalkEntry::Excluded => return Err(EXCLUDED.to_owned()),
            WalkEntry::ExcludedFolder => return Err(EXCLUDED_FOLDER.to_owned()),
            WalkEntry::NotIncluded => return Err(NOT_INCLUDED.to_owned()),
            WalkEntry::Unlisted {
                path,
                relative,
                message,
            } => {
                let relative = if relative.as_os_str().is_empty() {
                    last_name(&path)
                } else {
                    relative
                };
                return Ok(unread(&path, relative, RejectReason::Unlisted { message }));
            }
        };
        let by_glob = |codec| {
            let glob = pattern.filter(|_| named);
            glob.is_some_and(|glob| spells_extension(&path, codec, |path| glob.matches(path)))
        };
        let naming = FileNaming {
            is_file_itself: named,
            spells_extension: &|codec| by_glob(codec) || self.filter.spells_extension(&relative, codec),
        };
        let kind = self.formats.choose(&path, &naming);
        let kind = kind.map_err(UnreadReason::counted_as)?;
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err("(vanished)".to_owned()),
            Err(error) => return Ok(unreadable_file(&path, relative, &error)),
        };
        Ok(source_file(path, relative, kind, &metadata))
    }
}

/// Returns the last component of a path.
fn last_name(path: &Path) -> PathBuf {
    path.file_name()
        .map_or_else(|| PathBuf::from("input"), PathBuf::from)
}

/// Creates the description of a file that cannot be read because of `error`.
fn unreadable_file(path: &Path, relative: PathBuf, error: &io::Error) -> SourceFile {
    let message = error.to_string();
    unread(path, relative, RejectReason::Unreadable { message })
}

/// Creates the description of a file or folder that is rejected as a whole.
fn unread(path: &Path, relative: PathBuf, reason: RejectReason) -> SourceFile {
    SourceFile {
        path: path.to_owned(),
        label: path.display().to_string(),
        relative,
        format: Format::Text,
        codec: Codec::Plain,
        bytes: 0,
        as_text: None,
        unreadable: Some(reason),
        modified: None,
        remote: None,
    }
}
