//! The list of the files of a task whose output is whole, with their sizes, and its summary.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use twinprint_io::work::WorkError;

use crate::error::{DedupError, StageDamage};

/// The file with the summary of a task.
const SUMMARY: &str = "summary.json";
/// The file with the list of files.
const MANIFEST: &str = "files.json";

/// The files of a task whose output is whole.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The size of each file in bytes.
    sizes: BTreeMap<String, u64>,
    /// The CRC-32 of the summary.
    summary: u32,
}

impl Manifest {
    /// Writes the summary and the list of the files in `dir`, except those of `without`. Returns the list.
    pub(super) fn write<T: Serialize>(dir: &Path, summary: &T, without: &str) -> io::Result<Self> {
        let summary = serde_json::to_vec_pretty(summary)?;
        fs::write(dir.join(SUMMARY), &summary)?;
        let mut sizes = BTreeMap::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != without {
                sizes.insert(name, entry.metadata()?.len());
            }
        }
        let manifest = Self {
            sizes,
            summary: crc32fast::hash(&summary),
        };
        fs::write(dir.join(MANIFEST), serde_json::to_vec_pretty(&manifest)?)?;
        Ok(manifest)
    }

    /// Reads the list of the files in `dir`.
    pub(super) fn read(dir: &Path) -> Result<Self, DedupError> {
        let path = dir.join(MANIFEST);
        parse(&path, &read(&path)?)
    }

    /// Reads the summary of the task in `dir`.
    pub(super) fn summary<T: DeserializeOwned>(&self, dir: &Path) -> Result<T, DedupError> {
        let path = dir.join(SUMMARY);
        let bytes = read(&path)?;
        if crc32fast::hash(&bytes) != self.summary {
            return Err(DedupError::damaged_stage(&path, StageDamage::Content));
        }
        parse(&path, &bytes)
    }

    /// Fails if a file of `found` bytes had another size when it was written.
    pub(super) fn check(&self, path: &Path, found: u64) -> Result<(), DedupError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match self.sizes.get(&*name) {
            Some(&written) if written == found => Ok(()),
            Some(&written) => Err(DedupError::damaged_stage(
                path,
                StageDamage::Size { found, written },
            )),
            None => Err(DedupError::damaged_stage(path, StageDamage::Content)),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, DedupError> {
    fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => DedupError::damaged_stage(path, StageDamage::Missing),
        _ => WorkError::file(path, error).into(),
    })
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, DedupError> {
    serde_json::from_slice(bytes).map_err(|_| DedupError::damaged_stage(path, StageDamage::Content))
}
