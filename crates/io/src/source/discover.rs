//! From what the user named to the files to read.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use tempfile::TempPath;

use super::error::SourceError;
use super::filter::{Filter, spells_extension};
use super::format::{Codec, Format, Named, named};
use super::layout;
use super::look::{FieldRole, Presence, look};
use super::options::SourceOptions;
use super::reject::RejectReason;
use super::sniff::Head;
use super::sources::SourceFile;
use super::spool;
use super::walk::{Met, Pattern, is_pattern, walk};

/// What the inputs came to.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub files: Vec<SourceFile>,
    /// For each file, the input it came from, counted from 0.
    origins: Vec<usize>,
    pub skipped: BTreeMap<String, u64>,
    /// Folders in which no file is to be read.
    pub empty: Vec<String>,
    pub repeated: u64,
    pub spool: Option<TempPath>,
}

/// The count of folders that hold the result of an earlier run.
pub const EARLIER_RESULT: &str = "(result of an earlier run)";
/// The count of files that a pattern excludes.
pub const EXCLUDED: &str = "(excluded)";
/// The count of folders that a pattern excludes, with everything in them.
pub const EXCLUDED_FOLDER: &str = "(excluded folder)";
/// The count of files that no pattern includes.
pub const NOT_INCLUDED: &str = "(not included)";
/// The count of files that do not begin like text.
const NOT_TEXT: &str = "(not text)";
/// The count of files whose records lack the field with the text, and which are no texts.
const NO_TEXT_FIELD: &str = "(no text field)";

/// Finds the files. `stdin` is read if `-` is among the inputs.
pub(super) fn discover(
    inputs: &[String],
    options: &SourceOptions,
    work_dir: &Path,
    cancel: &AtomicBool,
    stdin: &mut dyn Read,
) -> Result<Found, SourceError> {
    let extra = options.extra_extensions.iter();
    let extra = extra.map(|e| e.trim_start_matches('.').to_lowercase()).collect();
    let search = Search {
        options,
        extra,
        filter: Filter::new(&options.include, &options.exclude)?,
        cancel,
    };
    let mut found = Found::default();
    for (i, input) in inputs.iter().enumerate() {
        let before = found.files.len();
        if input == "-" {
            search.stdin(&mut found, work_dir, stdin)?;
        } else {
            search.named(&mut found, input)?;
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
    layout::part_inputs(&mut found.files, &found.origins);
    Ok(found)
}

/// The name of a folder, under which its files go beside those of other inputs.
fn folder_name(input: &str) -> Option<&OsStr> {
    let path = Path::new(input);
    path.file_name().filter(|_| input != "-" && path.is_dir())
}

impl Found {
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
            // A file that cannot be resolved counts as new; reading it says what is wrong.
            if fs::canonicalize(&file.path).map_or(true, |path| seen.insert(path)) {
                self.files.push(file);
                self.origins.push(origin);
            } else {
                self.repeated += 1;
            }
        }
    }
}

/// The rules for what an input means; shared by threads while a folder is looked through.
struct Search<'a> {
    options: &'a SourceOptions,
    /// Lower case, without dots.
    extra: Vec<String>,
    filter: Filter,
    cancel: &'a AtomicBool,
}

/// The fate of something met in a folder: a file to read, or the name to count it under.
type Decision = Result<SourceFile, String>;

/// The format and codec a file is read in.
struct Kind {
    format: Format,
    codec: Codec,
    /// See [`SourceFile::as_text`].
    as_text: Option<String>,
}

/// The reason for which a file is not read.
enum NotRead {
    LaterFormat(String),
    /// It does not begin like text.
    NotText,
    /// It does not begin like text, and its records have these fields, and not the one with the text.
    NoTextField(Vec<String>),
    UnknownExtension(Option<String>),
}

/// The way in which the user named a file.
struct Naming<'a> {
    /// The file itself was named, by its path or a glob, so that a given format is meant for it.
    itself: bool,
    /// True if the user spelled the file's extension, for a file packed with this codec.
    spelled: &'a dyn Fn(Codec) -> bool,
}

impl Search<'_> {
    fn stdin(&self, found: &mut Found, work_dir: &Path, stdin: &mut dyn Read) -> Result<(), SourceError> {
        let format = self.options.format.ok_or(SourceError::StdinFormat)?;
        if found.spool.is_some() {
            return Err(SourceError::StdinTwice);
        }
        let format = self.by_lines(format);
        let (path, codec) = spool::spool(stdin, work_dir, self.cancel)?;
        let metadata = fs::metadata(&path).map_err(|source| SourceError::Spool {
            path: work_dir.to_owned(),
            source,
        })?;
        let relative = PathBuf::from(format!("stdin.{}{}", format.extension(), codec.suffix()));
        let kind = Kind {
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

    /// A file, a folder or a glob. A path that exists is never taken for a glob.
    fn named(&self, found: &mut Found, input: &str) -> Result<(), SourceError> {
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
                // It is there, or may be: one reject, as in a folder.
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
        let naming = Naming {
            itself: true,
            spelled: &|_| true,
        };
        let kind = self.kind(path, &naming);
        if let (Err(error), Err(_)) = (&opened, &kind) {
            found.files.push(unreadable_file(path, relative, error));
            return Ok(());
        }
        let kind = kind.map_err(|why| {
            let path = path.to_owned();
            match why {
                NotRead::LaterFormat(found) => SourceError::LaterFormat { path, found },
                NotRead::NotText => SourceError::NotText { path },
                NotRead::NoTextField(present) => SourceError::NoField {
                    role: FieldRole::Text,
                    key: self.options.text_key.clone(),
                    files: 1,
                    file: input.to_owned(),
                    present,
                },
                NotRead::UnknownExtension(extension) => SourceError::UnknownExtension { path, extension },
            }
        })?;
        let file = source_file(path.to_owned(), relative, kind, &metadata);
        found.files.push(file);
        Ok(())
    }

    fn pattern(&self, found: &mut Found, input: &str) -> Result<(), SourceError> {
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

    fn take(&self, found: &mut Found, met: Vec<Met>, pattern: Option<&Pattern>) {
        // Looking at sizes and first bytes waits for the disk, which serves several at once.
        let decisions: Vec<Decision> = met.into_par_iter().map(|met| self.decide(met, pattern)).collect();
        for decision in decisions {
            match decision {
                Ok(file) => found.files.push(file),
                Err(counted_as) => *found.skipped.entry(counted_as).or_default() += 1,
            }
        }
    }

    fn decide(&self, met: Met, pattern: Option<&Pattern>) -> Decision {
        let (path, relative, named) = match met {
            Met::File {
                path,
                relative,
                named,
            } => (path, relative, named),
            Met::Link => return Err("(symbolic link)".to_owned()),
            Met::Special => return Err("(no regular file)".to_owned()),
            Met::Result => return Err(EARLIER_RESULT.to_owned()),
            Met::Excluded => return Err(EXCLUDED.to_owned()),
            Met::ExcludedFolder => return Err(EXCLUDED_FOLDER.to_owned()),
            Met::NotIncluded => return Err(NOT_INCLUDED.to_owned()),
            Met::Unlisted {
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
        let naming = Naming {
            itself: named,
            spelled: &|codec| by_glob(codec) || self.filter.spells_extension(&relative, codec),
        };
        let kind = self.kind(&path, &naming).map_err(|why| match why {
            NotRead::NotText => NOT_TEXT.to_owned(),
            NotRead::NoTextField(_) => NO_TEXT_FIELD.to_owned(),
            NotRead::LaterFormat(found) | NotRead::UnknownExtension(Some(found)) => format!(".{found}"),
            NotRead::UnknownExtension(None) => "(no extension)".to_owned(),
        })?;
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err("(vanished)".to_owned()),
            Err(error) => return Ok(unreadable_file(&path, relative, &error)),
        };
        Ok(source_file(path, relative, kind, &metadata))
    }

    /// The format and codec to read a file in.
    fn kind(&self, path: &Path, naming: &Naming<'_>) -> Result<Kind, NotRead> {
        let name = named(path, &self.extra);
        let codec = name.codec();
        let kind = |format, extension: Option<String>| {
            Ok(Kind {
                format: self.by_lines(format),
                codec,
                as_text: extension.map(|extension| format!(".{extension}")),
            })
        };
        if let Some(format) = self.options.format.filter(|_| naming.itself) {
            return kind(format, None);
        }
        let extension = match name {
            Named::Known(format, _) => return self.known(format, path, codec),
            #[cfg(feature = "tables")]
            Named::Shared(format, ..) if Head::read(path, codec).begins_like(format) => {
                return self.known(format, path, codec);
            }
            #[cfg(feature = "tables")]
            Named::Shared(.., extension) => Some(extension),
            Named::LaterFormat(_, found) if !self.options.any_text => {
                return Err(NotRead::LaterFormat(found));
            }
            Named::LaterFormat(..) => None,
            Named::Unknown(_, extension) => extension,
        };
        if self.options.any_text && Head::read(path, codec).is_utf8() {
            return kind(Format::Text, None);
        }
        match extension {
            Some(extension) if (naming.spelled)(codec) => {
                if self.options.charset.is_some() || Head::read(path, codec).is_text() {
                    kind(Format::Text, Some(extension))
                } else {
                    Err(NotRead::NotText)
                }
            }
            _ if self.options.any_text => Err(NotRead::NotText),
            extension => Err(NotRead::UnknownExtension(extension)),
        }
    }

    /// The format in which to read a file whose name states one. Where every text is taken, a file that does not hold what the format says is a text
    /// like any other: one without records that have the field with the text, or without the mark of the format.
    fn known(&self, format: Format, path: &Path, codec: Codec) -> Result<Kind, NotRead> {
        let file = Kind {
            format: self.by_lines(format),
            codec,
            as_text: None,
        };
        if !self.options.any_text || format.is_whole_file() {
            return Ok(file);
        }
        let head = Head::read(path, codec);
        let holds_records = match self.presence(path, &file) {
            Presence::There | Presence::Unseen => true,
            Presence::Missing(fields) if !head.is_utf8() => return Err(NotRead::NoTextField(fields)),
            Presence::Missing(_) | Presence::NotAtFirst(..) => false,
            Presence::Empty | Presence::Unknown => head.may_be(format),
        };
        if holds_records || !head.is_utf8() {
            // If it does not hold records either, reading it says what is wrong.
            return Ok(file);
        }
        Ok(Kind {
            format: self.by_lines(Format::Text),
            as_text: Some(format!(".{}", spelled_as(path, codec))),
            ..file
        })
    }

    /// The presence of the field with the text in the records of a file.
    fn presence(&self, path: &Path, kind: &Kind) -> Presence {
        let Ok(metadata) = fs::metadata(path) else {
            return Presence::Unseen;
        };
        let kind = Kind {
            as_text: None,
            ..*kind
        };
        let file = source_file(path.to_owned(), PathBuf::new(), kind, &metadata);
        look(&file, self.options, &self.options.text_key)
    }

    fn by_lines(&self, format: Format) -> Format {
        if format == Format::Text && self.options.lines {
            Format::Lines
        } else {
            format
        }
    }
}

/// The extension that names the format of a file, lower case.
fn spelled_as(path: &Path, codec: Codec) -> String {
    let name = match codec {
        Codec::Plain => path,
        _ => Path::new(path.file_stem().unwrap_or_default()),
    };
    let extension = name.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

/// The name that a path ends with.
fn last_name(path: &Path) -> PathBuf {
    path.file_name()
        .map_or_else(|| PathBuf::from("input"), PathBuf::from)
}

/// A file of which nothing is known but why.
fn unreadable_file(path: &Path, relative: PathBuf, error: &io::Error) -> SourceFile {
    let message = error.to_string();
    unread(path, relative, RejectReason::Unreadable { message })
}

/// One reject that stands for a file or a folder.
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
    }
}

fn source_file(path: PathBuf, relative: PathBuf, kind: Kind, metadata: &Metadata) -> SourceFile {
    let label = path.display().to_string();
    let (bytes, modified) = (metadata.len(), metadata.modified().ok());
    SourceFile {
        path,
        label,
        relative,
        format: kind.format,
        codec: kind.codec,
        bytes,
        as_text: kind.as_text,
        unreadable: None,
        modified,
    }
}
