//! Files of fingerprints without documents: `*.u64`, numbers of 64 bits, little-endian, one after the other.
//!
//! The id of a fingerprint is its position, counted through all files in the order given.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes read at once; a multiple of 8.
const BLOCK: usize = 1 << 20;

/// Why files of fingerprints cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RawError {
    /// The system refused.
    #[error("{}: it cannot be read ({source})", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The name does not tell what is in it.
    #[error("{}: a file of fingerprints is named *.u64 (numbers of 64 bits, little-endian)", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// The length is no multiple of that of a fingerprint.
    #[error("{}: its {bytes} bytes are no whole number of fingerprints of 8 bytes", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
}

/// Files whose kind and length are right.
#[derive(Clone, Debug)]
pub struct RawFiles {
    /// Each with its number of fingerprints.
    files: Vec<(PathBuf, u64)>,
}

impl RawFiles {
    /// Looks at the names and lengths of files.
    ///
    /// # Errors
    /// The first file that is none of fingerprints.
    pub fn open(paths: &[PathBuf]) -> Result<Self, RawError> {
        let look = |path: &PathBuf| {
            if path.extension().is_none_or(|ending| ending != "u64") {
                return Err(RawError::Kind { path: path.clone() });
            }
            let bytes = path.metadata().map_err(failed(path))?.len();
            if bytes % 8 != 0 {
                let path = path.clone();
                return Err(RawError::Length { path, bytes });
            }
            Ok((path.clone(), bytes / 8))
        };
        let files = paths.iter().map(look).collect::<Result<_, _>>()?;
        Ok(Self { files })
    }

    /// How many fingerprints there are.
    pub fn len(&self) -> u64 {
        self.files.iter().map(|(_, count)| count).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `each` with consecutive stretches of fingerprints; what it returns ends the reading.
    ///
    /// # Errors
    /// A file that cannot be read, or has become shorter; whatever `each` gives.
    pub fn read<E: From<RawError>>(&self, mut each: impl FnMut(&[u64]) -> Result<(), E>) -> Result<(), E> {
        let mut block = vec![0; BLOCK];
        let mut numbers = Vec::with_capacity(BLOCK / 8);
        for (path, count) in &self.files {
            let mut file = File::open(path).map_err(failed(path))?;
            let mut left = count * 8;
            while left > 0 {
                let stretch = &mut block[..left.min(BLOCK as u64) as usize];
                file.read_exact(stretch).map_err(failed(path))?;
                left -= stretch.len() as u64;
                let (eights, _) = stretch.as_chunks();
                numbers.clear();
                numbers.extend(eights.iter().map(|&eight| u64::from_le_bytes(eight)));
                each(&numbers)?;
            }
        }
        Ok(())
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RawError {
    let path = path.to_owned();
    |source| RawError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn stretches_follow_one_another_through_all_files() {
        let directory = tempfile::tempdir().unwrap();
        let numbers: Vec<u64> = (0..300_000u64)
            .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        let (one, two) = bytes.split_at(8 * 200_001);
        let files = [
            file(directory.path(), "a.u64", one),
            file(directory.path(), "empty.u64", &[]),
            file(directory.path(), "b.u64", two),
        ];
        let raw = RawFiles::open(&files).unwrap();
        assert_eq!(raw.len(), 300_000);
        let mut read = Vec::new();
        raw.read(|stretch| {
            read.extend_from_slice(stretch);
            Ok::<_, RawError>(())
        })
        .unwrap();
        assert_eq!(read, numbers);
    }

    #[test]
    fn what_is_no_file_of_fingerprints_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let odd = file(directory.path(), "odd.u64", &[0; 9]);
        assert!(matches!(
            RawFiles::open(&[odd]),
            Err(RawError::Length { bytes: 9, .. })
        ));
        let text = file(directory.path(), "a.txt", &[0; 8]);
        assert!(matches!(RawFiles::open(&[text]), Err(RawError::Kind { .. })));
        let missing = directory.path().join("missing.u64");
        assert!(matches!(RawFiles::open(&[missing]), Err(RawError::Io { .. })));
        let shrunk = file(directory.path(), "shrunk.u64", &[0; 16]);
        let raw = RawFiles::open(std::slice::from_ref(&shrunk)).unwrap();
        std::fs::write(&shrunk, [0; 8]).unwrap();
        assert!(matches!(raw.read(|_| Ok(())), Err(RawError::Io { .. })));
    }
}
