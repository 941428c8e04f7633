//! The specification of a run on disk, and its stages in the order in which one process runs them.

use std::fs;
use std::hash::Hasher;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use siphasher::sip128::{Hasher128, SipHasher13};
use twinprint_io::VERSION;
use twinprint_io::progress::Progress;
use twinprint_io::sink::Existing;
use twinprint_io::source::{RemoteFile, SourceFile, SourceOptions, Sources};
use twinprint_io::work::WorkError;

use super::folder::{RUN, StageFolder};
use super::former::Former;
use super::job::{InputPart, Outputs, Specification, StagedJob};
use crate::error::DedupError;
use crate::known::KnownStore;
use crate::memory::Budget;
use crate::options::{DedupOptions, OnDisk, Order};

/// The number of bytes of input from which a part ends, and the number of parts from which small inputs are divided.
const PART_BYTES: u64 = 1 << 30;
const MIN_PARTS: u64 = 64;
/// The largest number of ranges of text hashes.
const MAX_RANGES: u32 = 256;
/// The file of the specification.
const SPECIFICATION: &str = "job.json";

/// Estimates the bytes of the largest part of new input files of `all` bytes, of which the largest has `largest` bytes.
pub(crate) fn largest_part_bytes(all: u64, largest: u64) -> u64 {
    part_bytes(all).max(largest).min(all)
}

/// The number of bytes from which a part of input files of `all` bytes ends.
fn part_bytes(all: u64) -> u64 {
    (all / MIN_PARTS).clamp(1, PART_BYTES)
}

/// The option that a run on disk does not offer, if one is set.
pub(crate) fn refused_option(options: &DedupOptions) -> Option<&'static str> {
    [
        ("append", options.append),
        ("order", options.order != Order::Input),
    ]
    .into_iter()
    .find_map(|(option, is_set)| is_set.then_some(option))
}

/// The input and the place of a run on disk.
#[derive(Clone, Copy)]
pub(crate) struct StagedInput<'r> {
    pub(crate) sources: &'r Sources,
    pub(crate) source_options: &'r SourceOptions,
    pub(crate) options: &'r DedupOptions,
    /// The index or the collection that the run is compared with. Only the stage `against` needs it.
    pub(crate) against: Option<&'r KnownStore<'r>>,
    pub(crate) budget: Budget,
    /// The memory of a task of a new run, in bytes.
    pub(crate) memory: u64,
    pub(crate) progress: &'r dyn Progress,
    pub(crate) cancel: &'r AtomicBool,
    /// The folder of the stages.
    pub(crate) folder: &'r Path,
}

impl<'r> StagedInput<'r> {
    /// True if the folder has stages of this run.
    pub(crate) fn continues(&self) -> bool {
        let found = self.found().ok().flatten();
        found.is_some_and(|spec| self.is_own(&spec))
    }

    /// Opens the folder of this run, or begins it.
    ///
    /// # Errors
    /// The folder belongs to another run, or cannot be written.
    pub(crate) fn open(self) -> Result<StagedJob<'r>, DedupError> {
        let folder = StageFolder::open(self.folder)?;
        if self.options.on_disk == OnDisk::Anew {
            folder.remove()?;
            StageFolder::open(self.folder)?;
        }
        match self.found()? {
            None => self.begin()?,
            Some(found) => self.extend(&found, &folder)?,
        }
        // Another process may have begun the run at the same time, so the specification is read again.
        let spec = self.found()?.filter(|spec| self.is_own(spec));
        let spec = spec.ok_or_else(|| DedupError::OtherRun {
            folder: self.folder.to_owned(),
        })?;
        Ok(StagedJob {
            folder: folder.of_run(&spec.run),
            outputs: Outputs::of(spec.parts().len()),
            sources: self.sources,
            options: self.options,
            against: self.against,
            budget: self.budget,
            progress: self.progress,
            cancel: self.cancel,
            spec,
        })
    }

    /// True if a specification has the options of this run, and all of its files are the first ones of this run.
    fn has_first_files(&self, spec: &Specification) -> bool {
        let is_same = |part: &InputPart| self.part(part.files.clone()).is_some_and(|same| same == *part);
        spec.version == VERSION && spec.options == self.digest_of_options() && spec.input.iter().all(is_same)
    }

    /// The number of files of a specification.
    fn files_of(spec: &Specification) -> usize {
        spec.input.last().map_or(0, |part| part.files.end as usize)
    }

    fn is_own(&self, spec: &Specification) -> bool {
        Self::files_of(spec) == self.sources.list().len() && self.has_first_files(spec)
    }

    /// If the folder belongs to a run over the first files of this run, lets it belong to this run: the added files are
    /// further parts, and the later stages get a folder of their own.
    fn extend(&self, found: &Specification, folder: &StageFolder) -> Result<(), DedupError> {
        let (known, files) = (Self::files_of(found), self.sources.list().len());
        if known >= files || !self.has_first_files(found) {
            return Ok(());
        }
        let mut spec = self.specification(found.input.clone());
        spec.key = found.key;
        let mut hasher = SipHasher13::new();
        for part in &spec.input {
            hasher.write(part.digest.as_bytes());
        }
        spec.run = format!("{RUN}{:016x}", hasher.finish());
        // A run that was interrupted is not used, but the run before it is.
        spec.former = if Former::is_whole(&folder.of_run(&found.run))? {
            Some(found.run.clone())
        } else {
            found.former.clone()
        };
        self.progress.warn(&format!(
            "{}: {known} of {files} files were analysed by an earlier run; only the others are analysed now",
            self.folder.display()
        ));
        self.write(&spec, true)
    }

    /// The specification in the folder.
    fn found(&self) -> Result<Option<Specification>, DedupError> {
        let path = self.folder.join(SPECIFICATION);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).map_err(|_| {
                DedupError::OtherRun {
                    folder: self.folder.to_owned(),
                }
            })?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WorkError::file(&path, error).into()),
        }
    }

    /// Writes the specification of a new run, unless another process is first.
    fn begin(&self) -> Result<(), DedupError> {
        self.write(&self.specification(Vec::new()), false)
    }

    /// Writes a specification. Another one in the folder stays unless it is replaced.
    fn write(&self, spec: &Specification, replaces: bool) -> Result<(), DedupError> {
        let failed = |error| WorkError::file(self.folder, error);
        let json = serde_json::to_vec_pretty(spec).map_err(|error| failed(error.into()))?;
        let mut file = tempfile::NamedTempFile::new_in(self.folder).map_err(failed)?;
        file.write_all(&json).map_err(failed)?;
        let path = self.folder.join(SPECIFICATION);
        let written = if replaces {
            file.persist(path)
        } else {
            file.persist_noclobber(path)
        };
        match written {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed(error.error).into())
            }
            _ => Ok(()),
        }
    }

    /// A digest of the options that affect the result.
    fn digest_of_options(&self) -> String {
        let options = DedupOptions {
            threads: 0,
            memory: None,
            work_dir: None,
            on_disk: OnDisk::default(),
            blocks: 1,
            incremental: false,
            existing: Existing::default(),
            ..self.options.clone()
        };
        // A run may resume with another memory limit.
        let source = SourceOptions {
            max_held: u64::MAX,
            ..self.source_options.clone()
        };
        let mut hasher = SipHasher13::new();
        hasher.write(format!("{options:?}{source:?}").as_bytes());
        format!("{:032x}", hasher.finish128().as_u128())
    }

    /// The part of these files, with a digest of their names, sizes, times and versions; `None` if there are fewer files.
    fn part(&self, files: Range<u32>) -> Option<InputPart> {
        let mut hasher = SipHasher13::new();
        for file in self
            .sources
            .list()
            .get(files.start as usize..files.end as usize)?
        {
            let SourceFile {
                label,
                bytes,
                modified,
                remote,
                ..
            } = file;
            let version = remote.as_ref().and_then(RemoteFile::tag).unwrap_or_default();
            let relative = file.relative.display();
            hasher.write(format!("{label} {relative} {bytes} {modified:?} {version}\n").as_bytes());
        }
        let digest = format!("{:032x}", hasher.finish128().as_u128());
        Some(InputPart { files, digest })
    }

    /// The specification of a run. Its first parts are those of an earlier run, and the other files are divided.
    fn specification(&self, mut input: Vec<InputPart>) -> Specification {
        let first = input.last().map_or(0, |part| part.files.end);
        let files = self.sources.list();
        let others = files.get(first as usize..).unwrap_or_default();
        let all_bytes: u64 = others.iter().map(|file| file.bytes).sum();
        let part_bytes = part_bytes(all_bytes);
        let (mut start, mut bytes) = (first, 0);
        for (next, file) in (first + 1..).zip(others) {
            bytes += file.bytes;
            if bytes >= part_bytes || next == files.len() as u32 {
                input.extend(self.part(start..next));
                (start, bytes) = (next, 0);
            }
        }
        Specification {
            version: VERSION.to_owned(),
            options: self.digest_of_options(),
            run: String::new(),
            former: None,
            hash_ranges: (input.len() as u32).clamp(1, MAX_RANGES),
            input,
            key: crate::read::random_key(),
            memory: self.memory,
            blocks: self.options.blocks.max(1),
        }
    }
}
