//! The state of a stream in a file, to go on from.
//!
//! ```text
//! magic    8 bytes   "TWPRINTS"
//! version  u32       2
//! length   u64       of the payload
//! check    u128      SipHash-1-3 of the payload
//! payload            zstd of the JSON of `Stored`
//! ```
//! Numbers are little-endian. The check tells damage, not forgery. The file is replaced as a whole or not at all,
//! by one run at a time; see `state_file`.

use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twinprint_cluster::{Groups, Stories};
use twinprint_fingerprint::HashKey;

use super::leaders::StoredLeader;
use super::options::different;
use super::runs::PastRuns;
use super::state_file::StateFile;
use super::{Stream, StreamOptions};

const MAGIC: &[u8; 8] = b"TWPRINTS";
const VERSION: u32 = 2;
const HEADER: usize = 8 + 4 + 8 + 16;
/// zstd; states are written once a run.
const LEVEL: i32 = 3;

/// Why a state cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The file cannot be read.
    #[error("{}: the state cannot be read ({source})", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is no state.
    #[error("{}: not a state of twinprint cluster; choose another file with --state", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It was written by another version.
    #[error("{}: a state of version {got}, and this twinprint reads version {VERSION}; begin a new one", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        got: u32,
    },
    /// It is not what was written.
    #[error("{}: the state is damaged ({what}); take a copy of it, or begin a new one", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// It was made with other options.
    #[error("{}: the state was made with other options; give those again, or begin a new one: {different}", .path.display())]
    Options {
        /// The file.
        path: PathBuf,
        /// What differs: each option, as it was and as it is now.
        different: String,
    },
    /// Another run goes on from it.
    #[error("{}: another run goes on from this state; wait for it, or choose another file with --state", .path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("{}: the state cannot be written ({source}); it is as before", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It cannot be packed.
    #[error("{}: the state cannot be packed ({what})", .path.display())]
    Pack {
        /// The file.
        path: PathBuf,
        /// What the packer says.
        what: String,
    },
}

/// All that a stream needs to go on; what can be made anew is left out.
#[derive(Serialize, Deserialize)]
struct Stored<G, S, L, C> {
    options: String,
    documents: u64,
    clock: Option<i64>,
    groups: G,
    stories: S,
    leaders: L,
    centres: C,
    /// Older versions did not remember their runs.
    #[serde(default)]
    runs: PastRuns,
}

type Read = Stored<Groups, Stories, BTreeMap<u32, StoredLeader>, BTreeMap<u64, u128>>;

fn check(payload: &[u8]) -> u128 {
    twinprint_fingerprint::hash_one(&HashKey::PUBLIC, payload)
}

impl Stream {
    /// Writes the state to a file, which is replaced as a whole.
    ///
    /// # Errors
    /// What the system says; the file is as before then.
    pub fn save(&self, path: &Path) -> Result<(), StateError> {
        let mut file = StateFile::hold(path)?;
        self.write(&mut file)?;
        file.keep()
    }

    /// Writes the state beside the one that is there.
    pub(super) fn write(&self, file: &mut StateFile) -> Result<(), StateError> {
        let pack = |what: String| StateError::Pack {
            path: file.path().to_owned(),
            what,
        };
        let (leaders, centres) = self.leaders.stored();
        let stored = Stored {
            options: self.options.describe(),
            documents: self.documents,
            clock: self.clock,
            groups: &self.groups,
            stories: &self.stories,
            leaders,
            centres,
            runs: self.past.clone(),
        };
        let packer =
            zstd::stream::Encoder::new(Vec::new(), LEVEL).map_err(|error| pack(error.to_string()))?;
        let mut packer = BufWriter::new(packer);
        serde_json::to_writer(&mut packer, &stored).map_err(|error| pack(error.to_string()))?;
        let packer = packer.into_inner().map_err(|error| pack(error.to_string()))?;
        let payload = packer.finish().map_err(|error| pack(error.to_string()))?;
        file.write(&[
            MAGIC,
            &VERSION.to_le_bytes(),
            &(payload.len() as u64).to_le_bytes(),
            &check(&payload).to_le_bytes(),
            &payload,
        ])
    }

    /// Reads a state, made with the same options.
    ///
    /// # Errors
    /// [`StateError`], which names the file and the way out.
    pub fn load(path: &Path, options: StreamOptions) -> Result<Self, StateError> {
        let bytes = std::fs::read(path).map_err(|source| StateError::Read {
            path: path.to_owned(),
            source,
        })?;
        let damaged = |what: &'static str| StateError::Damaged {
            path: path.to_owned(),
            what,
        };
        if !bytes.starts_with(MAGIC) {
            return Err(StateError::Foreign {
                path: path.to_owned(),
            });
        }
        let header = bytes.get(..HEADER).ok_or_else(|| damaged("it ends early"))?;
        let number = |at: usize, length: usize| {
            let bytes = header.iter().skip(at).take(length).rev();
            bytes.fold(0u128, |n, &byte| n << 8 | u128::from(byte))
        };
        let got = number(8, 4) as u32;
        if got != VERSION {
            return Err(StateError::Version {
                path: path.to_owned(),
                got,
            });
        }
        let payload = bytes.get(HEADER..).unwrap_or_default();
        if payload.len() as u128 != number(12, 8) {
            return Err(damaged("its length is not the one noted"));
        }
        if check(payload) != number(20, 16) {
            return Err(damaged("its checksum is not the one noted"));
        }
        let plain = zstd::stream::Decoder::new(payload).map_err(|_| damaged("it does not unpack"))?;
        let plain = BufReader::new(plain);
        let stored: Read = serde_json::from_reader(plain).map_err(|_| damaged("its parts do not fit"))?;
        let asked = options.describe();
        if stored.options != asked {
            return Err(StateError::Options {
                path: path.to_owned(),
                different: different(&stored.options, &asked),
            });
        }
        let mut stream = Self::new(options);
        stream.documents = stored.documents;
        stream.clock = stored.clock;
        stream.groups = stored.groups.restored(stream.options.groups.clone());
        stream.stories = stored.stories.restored(stream.options.stories.clone());
        stream.past = stored.runs;
        stream.leaders.restore(stored.leaders, stored.centres);
        Ok(stream)
    }
}
