//! The arguments of a run over files.

use std::path::Path;

use twinprint_io::runs::identity;
use twinprint_io::sink::Existing;
use twinprint_io::source::{SourceIdentity, SourceOptions};

use super::{FieldKeys, StreamOptions};

/// The options of a run over files that may differ between the runs of a stream, as opposed to [`StreamOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterRun {
    /// The number of worker threads; 0 means one per core.
    pub threads: usize,
    /// The number of documents at the beginning of a new stream whose words are counted before the first document is
    /// placed. They stay in memory until then.
    pub count_ahead: u64,
    /// True if `vectors.jsonl` is written.
    pub vectors: bool,
    /// True if texts without features are rejected. Otherwise each of them is a group of its own.
    pub reject_empty: bool,
    /// The treatment of an earlier result in the output directory.
    pub existing: Existing,
}

impl Default for ClusterRun {
    fn default() -> Self {
        Self {
            threads: 0,
            count_ahead: 2000,
            vectors: false,
            reject_empty: false,
            existing: Existing::Refuse,
        }
    }
}

/// The arguments of [`cluster`](fn@crate::cluster).
#[derive(Clone, Copy)]
pub struct ClusterJob<'j> {
    /// The inputs: files, folders and globs.
    pub inputs: &'j [String],
    /// The options for reading the inputs.
    pub source: &'j SourceOptions,
    /// The names of the fields with the time, address, score, title and label.
    pub keys: &'j FieldKeys,
    /// The options that decide groups and stories.
    pub stream: &'j StreamOptions,
    /// The options that may differ between the runs of a stream.
    pub run: ClusterRun,
    /// The output directory: new or empty, unless [`ClusterRun::existing`] replaces a result.
    pub out: &'j Path,
    /// The path of the state file. If the file exists, the stream continues from it. At the end of the run the next
    /// state replaces it.
    pub state: Option<&'j Path>,
}

impl ClusterJob<'_> {
    /// A hash of everything that decides the output of this run, except the documents and the state.
    ///
    /// State files store hashes derived from this hash, so the text that is hashed must not change.
    pub(super) fn command(&self) -> u128 {
        let Self {
            inputs, source, keys, ..
        } = self;
        let described = self.stream.describe();
        let ClusterRun {
            count_ahead,
            vectors,
            reject_empty,
            ..
        } = self.run;
        identity::hash(format_args!(
            "{inputs:?}\n{}\n{keys:?}\n{described}\nClusterRun {{ threads: 0, ahead: {count_ahead}, vectors: {vectors}, \
             reject_empty: {reject_empty}, existing: Refuse }}",
            SourceIdentity(source)
        ))
    }
}
