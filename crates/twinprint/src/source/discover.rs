//! From what the user named to the files to read.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::from_utf8;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use tempfile::TempPath;

use super::decode::{self, Unpacking};
use super::error::SourceError;
use super::format::{Codec, Format, Named, named};
use super::layout;
use super::look::{Presence, look};
use super::options::SourceOptions;
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
    pub(crate) repeated: u64,
    pub(crate) spool: Option<TempPath>,
}

/// What folders are counted as that hold the result of an earlier run.
pub const EARLIER_RESULT: &str = "(result of an earlier run)";

/// Bytes looked at to tell text from other files.
const SNIFF: u64 = 8 << 10;

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
    cancel: &'a AtomicBool,
}

/// What becomes of something met in a folder: a file to read, or what to count it as.
type Decision = Result<SourceFile, String>;

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
        found.files.push(SourceFile {
            label: "stdin".to_owned(),
            ..source_file(path.to_path_buf(), relative, (format, codec), &metadata)
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
            let met = walk(path, None, self.cancel)?;
            self.take(found, met);
            return Ok(());
        }
        if !metadata.is_file() {
            return Err(SourceError::NotAFile {
                path: path.to_owned(),
            });
        }
        File::open(path).map_err(|source| SourceError::UnreadableFile {
            path: path.to_owned(),
            source,
        })?;
        let kind = self.kind(path, true).map_err(|name| {
            let path = path.to_owned();
            match name {
                Named::LaterFormat(_, found) => SourceError::LaterFormat { path, found },
                Named::Unknown(_, extension) => SourceError::UnknownExtension { path, extension },
                Named::Known(..) => SourceError::UnknownExtension {
                    path,
                    extension: None,
                },
            }
        })?;
        let relative = path
            .file_name()
            .map_or_else(|| PathBuf::from("input"), PathBuf::from);
        found
            .files
            .push(source_file(path.to_owned(), relative, kind, &metadata));
        Ok(())
    }

    fn pattern(&self, found: &mut Found, input: &str) -> Result<(), SourceError> {
        let pattern = Pattern::new(input)?;
        if !pattern.root.as_os_str().is_empty() && !pattern.root.is_dir() {
            return Err(SourceError::Missing { path: pattern.root });
        }
        let before = found.files.len();
        let met = walk(&pattern.root, Some(&pattern), self.cancel)?;
        self.take(found, met);
        if found.files.len() == before {
            return Err(SourceError::NoMatch {
                pattern: input.to_owned(),
                skipped: found.skipped.clone(),
            });
        }
        Ok(())
    }

    fn take(&self, found: &mut Found, met: Vec<Met>) {
        // Looking at sizes and first bytes waits for the disk, which serves several at once.
        let decisions: Vec<Decision> = met.into_par_iter().map(|met| self.decide(met)).collect();
        for decision in decisions {
            match decision {
                Ok(file) => found.files.push(file),
                Err(counted_as) => *found.skipped.entry(counted_as).or_default() += 1,
            }
        }
    }

    fn decide(&self, met: Met) -> Decision {
        let (path, relative, named) = match met {
            Met::File {
                path,
                relative,
                named,
            } => (path, relative, named),
            Met::Link => return Err("(symbolic link)".to_owned()),
            Met::Special => return Err("(no regular file)".to_owned()),
            Met::Result => return Err(EARLIER_RESULT.to_owned()),
        };
        let kind = self.kind(&path, named).map_err(|name| match name {
            _ if self.options.any_text => "(not text)".to_owned(),
            Named::LaterFormat(_, found) | Named::Unknown(_, Some(found)) => {
                format!(".{found}")
            }
            Named::Known(..) | Named::Unknown(_, None) => "(no extension)".to_owned(),
        })?;
        let metadata = fs::metadata(&path).map_err(|_| "(vanished)".to_owned())?;
        Ok(source_file(path, relative, kind, &metadata))
    }

    /// The kind of a file. `named`: the user named the file itself, so that `--format` speaks of it.
    fn kind(&self, path: &Path, named_itself: bool) -> Result<(Format, Codec), Named> {
        let name = named(path, &self.extra);
        let (Named::Known(_, codec) | Named::LaterFormat(codec, _) | Named::Unknown(codec, _)) = name;
        match (&name, self.options.format) {
            (_, Some(format)) if named_itself => Ok((self.by_lines(format), codec)),
            (Named::Known(format, _), _) if !(self.options.any_text && format.has_fields()) => {
                Ok((self.by_lines(*format), codec))
            }
            (Named::Known(format, _), _) => match self.presence(path, (*format, codec)) {
                Presence::There => Ok((*format, codec)),
                _ if sniffs_as_text(path, codec) => Ok((self.by_lines(Format::Text), codec)),
                Presence::Missing(_) => Err(name),
                // Reading it says what is wrong.
                Presence::NotAtFirst(..) | Presence::Unknown => Ok((*format, codec)),
            },
            _ if self.options.any_text && sniffs_as_text(path, codec) => {
                Ok((self.by_lines(Format::Text), codec))
            }
            _ => Err(name),
        }
    }

    /// Whether the records of a file have the field with the text.
    fn presence(&self, path: &Path, kind: (Format, Codec)) -> Presence {
        match fs::metadata(path) {
            Ok(metadata) => {
                let file = source_file(path.to_owned(), PathBuf::new(), kind, &metadata);
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
    (format, codec): (Format, Codec),
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

/// Whether a file begins as text does: UTF-8 without NUL. One that cannot be opened counts as text, so that reading
/// it reports why.
fn sniffs_as_text(path: &Path, codec: Codec) -> bool {
    let mut head = Vec::new();
    let Ok(stream) = decode::open(path, codec, SNIFF, Unpacking::default(), &Arc::default()) else {
        return true;
    };
    if stream.take(SNIFF).read_to_end(&mut head).is_err() {
        return false;
    }
    let valid = match from_utf8(&head) {
        Ok(_) => true,
        // The cut may go through a character.
        Err(e) => e.error_len().is_none() && head.len() as u64 == SNIFF,
    };
    valid && !head.contains(&0)
}
