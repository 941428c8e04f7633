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
use super::look::{Presence, look};
use super::options::SourceOptions;
use super::sniff::Head;
use super::sources::SourceFile;
use super::spool;
use super::walk::{Met, Pattern, is_pattern, walk};

/// What the inputs came to.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<SourceFile>,
    /// For each file, the input it came from, counted from 0.
    origins: Vec<usize>,
    pub(crate) skipped: BTreeMap<String, u64>,
    /// Files of extensions that name no format, which were spelled, by extension.
    pub(crate) as_text: BTreeMap<String, u64>,
    /// Folders in which no file is to be read.
    pub(crate) empty: Vec<String>,
    pub(crate) repeated: u64,
    pub(crate) spool: Option<TempPath>,
}

/// What folders are counted as that hold the result of an earlier run.
pub const EARLIER_RESULT: &str = "(result of an earlier run)";
/// What files are counted as that a pattern excludes.
pub const EXCLUDED: &str = "(excluded)";
/// What folders are counted as that a pattern excludes, with everything in them.
pub const EXCLUDED_FOLDER: &str = "(excluded folder)";
/// What files are counted as that no pattern includes.
pub const NOT_INCLUDED: &str = "(not included)";
/// What files are counted as that do not begin like text.
const NOT_TEXT: &str = "(not text)";

/// Finds the files. `stdin` is read if `-` is among the inputs.
pub(crate) fn discover(
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
    fn add(&mut self, file: SourceFile, kind: Kind) {
        self.files.push(file);
        if let Some(extension) = kind.spelled {
            *self.as_text.entry(format!(".{extension}")).or_default() += 1;
        }
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

/// Settles what each input means; shared by threads while a folder is looked through.
struct Search<'a> {
    options: &'a SourceOptions,
    /// Lower case, without dots.
    extra: Vec<String>,
    filter: Filter,
    cancel: &'a AtomicBool,
}

/// What becomes of something met in a folder: a file to read, or what to count it as.
type Decision = Result<(SourceFile, Kind), String>;

/// What a file is read as.
struct Kind {
    format: Format,
    codec: Codec,
    /// Its extension, where it names no format, and the file is read as text because the extension was spelled.
    spelled: Option<String>,
}

/// Why a file is not read.
enum NotRead {
    LaterFormat(String),
    /// It does not begin like text.
    NotText,
    UnknownExtension(Option<String>),
}

/// How the user named a file.
struct Naming<'a> {
    /// The file itself was named, by its path or a glob, so that a given format is meant for it.
    itself: bool,
    /// Whether its extension was spelled, given how it is packed.
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
            spelled: None,
        };
        found.files.push(SourceFile {
            label: "stdin".to_owned(),
            ..source_file(path.to_path_buf(), relative, &kind, &metadata)
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
            Err(source) => {
                return Err(SourceError::UnreadableFile {
                    path: path.to_owned(),
                    source,
                });
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
        let relative = path
            .file_name()
            .map_or_else(|| PathBuf::from("input"), PathBuf::from);
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
        File::open(path).map_err(|source| SourceError::UnreadableFile {
            path: path.to_owned(),
            source,
        })?;
        let naming = Naming {
            itself: true,
            spelled: &|_| true,
        };
        let kind = self.kind(path, &naming).map_err(|why| {
            let path = path.to_owned();
            match why {
                NotRead::LaterFormat(found) => SourceError::LaterFormat { path, found },
                NotRead::NotText => SourceError::NotText { path },
                NotRead::UnknownExtension(extension) => SourceError::UnknownExtension { path, extension },
            }
        })?;
        let file = source_file(path.to_owned(), relative, &kind, &metadata);
        found.add(file, kind);
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
                Ok((file, kind)) => found.add(file, kind),
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
            NotRead::LaterFormat(found) | NotRead::UnknownExtension(Some(found)) => format!(".{found}"),
            NotRead::UnknownExtension(None) => "(no extension)".to_owned(),
        })?;
        let metadata = fs::metadata(&path).map_err(|_| "(vanished)".to_owned())?;
        Ok((source_file(path, relative, &kind, &metadata), kind))
    }

    /// What a file is read as.
    fn kind(&self, path: &Path, naming: &Naming<'_>) -> Result<Kind, NotRead> {
        let name = named(path, &self.extra);
        let codec = name.codec();
        let kind = |format, spelled| {
            Ok(Kind {
                format: self.by_lines(format),
                codec,
                spelled,
            })
        };
        if let Some(format) = self.options.format.filter(|_| naming.itself) {
            return kind(format, None);
        }
        let extension = match name {
            Named::Known(format, _) => return kind(self.known(format, path, codec)?, None),
            #[cfg(feature = "tables")]
            Named::Shared(format, ..) if Head::read(path, codec).may_be(format) => {
                return kind(self.known(format, path, codec)?, None);
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

    /// What a file is read as whose name tells its format. Where every text is taken, one that does not hold what the format says is a
    /// text like any other: records with the field of the text, or the mark of the format.
    fn known(&self, format: Format, path: &Path, codec: Codec) -> Result<Format, NotRead> {
        if !self.options.any_text || !(format.has_fields() || format.has_mark()) {
            return Ok(format);
        }
        let head = Head::read(path, codec);
        let is_sure = if format.has_fields() {
            match self.presence(path, format, codec) {
                Presence::There => true,
                Presence::Missing(_) if !head.is_utf8() => return Err(NotRead::NotText),
                // If it is no text either, reading it says what is wrong.
                Presence::Missing(_) | Presence::NotAtFirst(..) | Presence::Unknown => false,
            }
        } else {
            head.may_be(format)
        };
        Ok(if is_sure || !head.is_utf8() {
            format
        } else {
            Format::Text
        })
    }

    /// Whether the records of a file have the field with the text.
    fn presence(&self, path: &Path, format: Format, codec: Codec) -> Presence {
        match fs::metadata(path) {
            Ok(metadata) => {
                let kind = Kind {
                    format,
                    codec,
                    spelled: None,
                };
                let file = source_file(path.to_owned(), PathBuf::new(), &kind, &metadata);
                look(&file, self.options, &self.options.text_key)
            }
            Err(_) => Presence::Unknown,
        }
    }

    fn by_lines(&self, format: Format) -> Format {
        if format == Format::Text && self.options.lines {
            Format::Lines
        } else {
            format
        }
    }
}

fn source_file(
    path: PathBuf,
    relative: PathBuf,
    &Kind { format, codec, .. }: &Kind,
    metadata: &Metadata,
) -> SourceFile {
    let label = path.display().to_string();
    let (bytes, modified) = (metadata.len(), metadata.modified().ok());
    SourceFile {
        path,
        label,
        relative,
        format,
        codec,
        bytes,
        modified,
    }
}
