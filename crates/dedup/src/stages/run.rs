//! The specification of a run on disk, and its stages in the order in which one process runs them.

use std::fs;
use std::hash::Hasher;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use siphasher::sip128::{Hasher128, SipHasher13};
use twinprint_io::VERSION;
use twinprint_io::progress::Progress;
use twinprint_io::sink::Existing;
use twinprint_io::source::{SourceFile, SourceOptions, Sources};
use twinprint_io::work::WorkError;

use super::folder::StageFolder;
use super::job::{Outputs, Specification, StagedJob};
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

/// The option that a run on disk does not offer, if one is set.
pub(crate) fn refused_option(options: &DedupOptions) -> Option<&'static str> {
    [
        ("append", options.append),
        ("parts", options.parts.is_some()),
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
            folder.clone().remove()?;
            StageFolder::open(self.folder)?;
        }
        if self.found()?.is_none() {
            self.begin()?;
        }
        // Another process may have begun the run at the same time, so the specification is read again.
        let spec = self.found()?.filter(|spec| self.is_own(spec));
        let spec = spec.ok_or_else(|| DedupError::OtherRun {
            folder: self.folder.to_owned(),
        })?;
        Ok(StagedJob {
            folder,
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

    fn is_own(&self, spec: &Specification) -> bool {
        spec.identity == self.identity() && spec.version == VERSION
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

    /// Writes the specification, unless another process is first.
    fn begin(&self) -> Result<(), DedupError> {
        let failed = |error| WorkError::file(self.folder, error);
        let spec = self.specification(self.identity());
        let json = serde_json::to_vec_pretty(&spec).map_err(|error| failed(error.into()))?;
        let mut file = tempfile::NamedTempFile::new_in(self.folder).map_err(failed)?;
        file.write_all(&json).map_err(failed)?;
        match file.persist_noclobber(self.folder.join(SPECIFICATION)) {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed(error.error).into())
            }
            _ => Ok(()),
        }
    }

    /// A digest of the options that affect the result and of the files with their sizes and times.
    fn identity(&self) -> String {
        let mut hasher = SipHasher13::new();
        let options = DedupOptions {
            threads: 0,
            memory: None,
            work_dir: None,
            on_disk: OnDisk::default(),
            existing: Existing::default(),
            ..self.options.clone()
        };
        hasher.write(format!("{options:?}{:?}", self.source_options).as_bytes());
        for file in self.sources.list() {
            let SourceFile {
                label,
                bytes,
                modified,
                ..
            } = file;
            hasher.write(format!("{label} {} {bytes} {modified:?}\n", file.relative.display()).as_bytes());
        }
        format!("{:032x}", hasher.finish128().as_u128())
    }

    fn specification(&self, identity: String) -> Specification {
        let part_bytes = (self.sources.total_bytes() / MIN_PARTS).clamp(1, PART_BYTES);
        let mut part_starts = vec![0];
        let (mut bytes, files) = (0, self.sources.list());
        for (number, file) in (0u32..).zip(files) {
            if bytes >= part_bytes {
                part_starts.push(number);
                bytes = 0;
            }
            bytes += file.bytes;
        }
        part_starts.push(files.len() as u32);
        Specification {
            version: VERSION.to_owned(),
            identity,
            hash_ranges: (part_starts.len() as u32 - 1).clamp(1, MAX_RANGES),
            part_starts,
            key: crate::read::random_key(),
            memory: self.memory,
        }
    }
}
