//! The specification of a run on disk, and its stages in the order in which one process runs them.

use std::fs;
use std::hash::Hasher;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use siphasher::sip128::{Hasher128, SipHasher13};
use twinprint_io::VERSION;
use twinprint_io::progress::Progress;
use twinprint_io::source::{SourceFile, SourceOptions, Sources};
use twinprint_io::work::WorkError;

use super::folder::StageFolder;
use super::job::{Outputs, Specification, StagedJob};
use crate::error::DedupError;
use crate::memory::Budget;
use crate::options::{DedupOptions, Mode, Order};

/// The smallest memory of a task in bytes.
const MIN_MEMORY: u64 = 32 << 20;
/// The number of bytes of input from which a part ends.
const PART_BYTES: u64 = 4 << 30;
/// The number of bytes of input for each range of text hashes.
const RANGE_BYTES: u64 = 64 << 30;
/// The file of the specification.
const SPECIFICATION: &str = "job.json";

/// The option that a run on disk does not offer, if one is set.
pub(crate) fn refused_option(options: &DedupOptions) -> Option<&'static str> {
    [
        ("against", options.against.is_some()),
        ("no-verify", !options.verify),
        ("parts", options.parts.is_some()),
        ("order", options.order != Order::Input),
        ("mode", options.mode == Mode::Annotate),
        ("columns", options.added_columns().is_some()),
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
    pub(crate) budget: Budget,
    pub(crate) progress: &'r dyn Progress,
    pub(crate) cancel: &'r AtomicBool,
    /// The folder of the stages.
    pub(crate) folder: &'r Path,
}

impl<'r> StagedInput<'r> {
    /// Opens the folder, or begins it anew if it belongs to another run.
    pub(crate) fn open(self) -> Result<StagedJob<'r>, DedupError> {
        let failed = |error| WorkError::file(self.folder, error);
        let path = self.folder.join(SPECIFICATION);
        let identity = self.identity();
        let found: Option<Specification> = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).ok(),
            Err(_) => None,
        };
        let spec = match found.filter(|spec| spec.identity == identity && spec.version == VERSION) {
            Some(spec) => {
                self.progress
                    .warn("an interrupted run of the same command goes on");
                spec
            }
            None => {
                if self.folder.exists() {
                    fs::remove_dir_all(self.folder).map_err(failed)?;
                }
                self.specification(identity)
            }
        };
        let folder = StageFolder::open(self.folder)?;
        let json = serde_json::to_vec_pretty(&spec).map_err(|error| failed(error.into()))?;
        fs::write(&path, json).map_err(failed)?;
        Ok(StagedJob {
            folder,
            outputs: Outputs::of(spec.parts().len()),
            sources: self.sources,
            options: self.options,
            budget: self.budget,
            progress: self.progress,
            cancel: self.cancel,
            spec,
        })
    }

    /// A digest of the options that affect the result and of the files with their sizes and times.
    fn identity(&self) -> String {
        let mut hasher = SipHasher13::new();
        let options = DedupOptions {
            threads: 0,
            memory: None,
            work_dir: None,
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
            hasher.write(format!("{label}{:?}{bytes}{modified:?}", file.relative).as_bytes());
        }
        format!("{:032x}", hasher.finish128().as_u128())
    }

    fn specification(&self, identity: String) -> Specification {
        let mut part_starts = vec![0];
        let (mut bytes, files) = (0, self.sources.list());
        for (number, file) in (0u32..).zip(files) {
            if bytes >= PART_BYTES {
                part_starts.push(number);
                bytes = 0;
            }
            bytes += file.bytes;
        }
        part_starts.push(files.len() as u32);
        Specification {
            version: VERSION.to_owned(),
            identity,
            part_starts,
            hash_ranges: (1 + self.sources.total_bytes() / RANGE_BYTES).min(4096) as u32,
            key: crate::read::random_key(),
            memory: self.budget.for_stages().max(MIN_MEMORY),
        }
    }
}
