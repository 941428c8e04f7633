//! The state file of a stream, from which a later run continues.
//!
//! ```text
//! magic    8 bytes   "TWPRINTS"
//! version  u32       2
//! length   u64       of the payload
//! check    u128      SipHash-1-3 of the payload
//! payload            zstd of the JSON of `StoredState`
//! ```
//! Numbers are little-endian. The check detects damage, not forgery. One run at a time replaces the file, as a whole or
//! not at all; see `state_file`.

use std::collections::BTreeMap;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use serde::{Deserialize, Serialize};
use twinprint_cluster::{Groups, Stories};
use twinprint_fingerprint::HashKey;

use super::error::{STATE_VERSION, StateError};
use super::history::PastRuns;
use super::leaders::StoredLeader;
use super::state_difference::differences;
use super::state_file::StateFile;
use super::{Stream, StreamOptions};

const MAGIC: &[u8; 8] = b"TWPRINTS";
/// The length of magic, version, length and check, in bytes.
const HEADER_BYTES: usize = 8 + 4 + 8 + 16;
/// The zstd level of a state: the default. It is slower than the level of the texts in memory, but a state is written
/// once per run.
const ZSTD_LEVEL: i32 = 3;

/// The content of a state file: everything that a stream needs to continue. Indexes are not stored; they are rebuilt
/// when the state is read.
///
/// A stream is written from references and read into values, so the types of its parts are parameters.
#[derive(Serialize, Deserialize)]
struct StoredState<Groups, Stories, Leaders, Centres> {
    options: String,
    documents: u64,
    clock: Option<i64>,
    groups: Groups,
    stories: Stories,
    leaders: Leaders,
    centres: Centres,
    /// The runs recorded in the state; empty in a state of an early version, which did not record runs.
    #[serde(default)]
    runs: PastRuns,
}

/// The content of a state file as it is read: leaders by document number, centres by group id.
type LoadedState = StoredState<Groups, Stories, BTreeMap<u32, StoredLeader>, BTreeMap<u64, u128>>;

fn check(payload: &[u8]) -> u128 {
    twinprint_fingerprint::hash_one(&HashKey::PUBLIC, payload)
}

impl Stream {
    /// Writes the state to a file, which is replaced as a whole.
    ///
    /// # Errors
    /// A [`StateError`], for example if another run uses the file. The file is then unchanged.
    pub fn save(&self, path: &Path) -> Result<(), StateError> {
        let mut file = StateFile::hold(path)?;
        self.write(&mut file)?;
        file.keep()
    }

    /// Writes the state to the temporary file of `file`. The state file itself is not replaced yet.
    pub(super) fn write(&self, file: &mut StateFile) -> Result<(), StateError> {
        let pack = |what: String| StateError::Pack {
            path: file.path().to_owned(),
            what,
        };
        let (leaders, centres) = self.leaders.stored();
        let stored = StoredState {
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
            zstd::stream::Encoder::new(Vec::new(), ZSTD_LEVEL).map_err(|error| pack(error.to_string()))?;
        let mut packer = BufWriter::new(packer);
        serde_json::to_writer(&mut packer, &stored).map_err(|error| pack(error.to_string()))?;
        let packer = packer.into_inner().map_err(|error| pack(error.to_string()))?;
        let payload = packer.finish().map_err(|error| pack(error.to_string()))?;
        file.write(&[
            MAGIC,
            &STATE_VERSION.to_le_bytes(),
            &(payload.len() as u64).to_le_bytes(),
            &check(&payload).to_le_bytes(),
            &payload,
        ])
    }

    /// Reads the state of a stream that was made with the same options. A story threshold that `options` does not give
    /// is the one that the stream began with.
    ///
    /// # Errors
    /// A [`StateError`], which names the file and the problem; [`StateError::Options`] if the options differ.
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
        let header = bytes
            .get(..HEADER_BYTES)
            .ok_or_else(|| damaged("the file ends early"))?;
        let number = |at: usize, length: usize| {
            let bytes = header.iter().skip(at).take(length).rev();
            bytes.fold(0u128, |n, &byte| n << 8 | u128::from(byte))
        };
        let got = number(8, 4) as u32;
        if got != STATE_VERSION {
            return Err(StateError::Version {
                path: path.to_owned(),
                got,
            });
        }
        let payload = bytes.get(HEADER_BYTES..).unwrap_or_default();
        if payload.len() as u128 != number(12, 8) {
            return Err(damaged("the length differs from the one in the header"));
        }
        if check(payload) != number(20, 16) {
            return Err(damaged("the checksum differs from the one in the header"));
        }
        let plain =
            zstd::stream::Decoder::new(payload).map_err(|_| damaged("the content cannot be decompressed"))?;
        let plain = BufReader::new(plain);
        let stored: LoadedState =
            serde_json::from_reader(plain).map_err(|_| damaged("the content cannot be parsed"))?;
        let options = options.with_thresholds_of(&stored.options);
        let asked = options.describe();
        if stored.options != asked {
            return Err(StateError::Options {
                path: path.to_owned(),
                differences: differences(&stored.options, &asked),
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
