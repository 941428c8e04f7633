//! Computes the fingerprints of documents, of given features or of vectors. The result is one row for each record.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint_fingerprint::HashKey;
use twinprint_text::compat::{Dictionaries, Recipe};
use twinprint_text::{GivenFeatures, Profile};

use super::each_record::{RecordJob, RecordRow};
use crate::JobError;
use crate::progress::Progress;
use crate::source::{Intake, SourceOptions};

mod entries;
mod votes;
mod worker;

pub use entries::{EntriesError, Vector, parse_features, parse_vector};
pub use votes::RecordVotes;
pub(in crate::jobs) use worker::Worker;

/// The fingerprint of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFingerprint {
    /// The fingerprint in hexadecimal.
    pub hex: String,
    /// The number of distinct features of the text, the number of given features, or the number of components of the
    /// vector. `None` if features are not counted.
    pub features: Option<u32>,
    /// True if no feature votes, because there is none, or because all weights are or round to 0. Such a fingerprint
    /// states nothing about the record.
    pub empty: bool,
}

/// The subject of fingerprints, texts, features or vectors, and the method.
///
/// Features and vectors are JSON in the field [`SourceOptions::text_key`].
#[derive(Clone, Debug)]
pub enum Subject {
    /// The text of each document, fingerprinted by a profile. `key` must be the key that the profile's key id names.
    /// Without counts of features, some profiles take a third of the time; see
    /// [`Analyzer::fingerprint`](twinprint_text::Analyzer::fingerprint).
    Text {
        /// The profile that makes the fingerprints.
        profile: Profile,
        /// The secret or public key with which features are hashed.
        key: HashKey,
        /// True if each row states the number of distinct features.
        counts_features: bool,
    },
    /// The weighted features of each document, written as `{"name": weight, …}`, `[["name", weight], …]` or `["name",
    /// …]` with the weight 1.
    Features(GivenFeatures),
    /// A vector, fingerprinted with [Gaussian hyperplanes](twinprint_fingerprint::hyperplane::Hyperplanes). It is written as `[value, …]`, `{"dimension": value, …}` or
    /// `[[dimension, value], …]`. A dimension is a number from 0 or a name.
    Vector {
        /// The width of the fingerprints, in bits.
        bits: u32,
    },
    /// The text of each document, fingerprinted as another SimHash library does it.
    Recipe {
        /// The recipe that reproduces the other library.
        recipe: Recipe,
        /// The dictionaries of the word segmenter cppjieba, which some recipes need.
        dictionaries: Option<Arc<Dictionaries>>,
    },
}

impl Subject {
    /// The options for reading this subject. Features and vectors are read as JSON, not as text.
    pub(super) fn source_options(&self, options: &SourceOptions) -> SourceOptions {
        SourceOptions {
            raw: matches!(self, Self::Vector { .. } | Self::Features(_)),
            ..options.clone()
        }
    }
}

/// Calls `row` for every record in input order, and returns the intake. Takes linear time, and memory for a few batches
/// of input.
///
/// # Errors
/// No record of the input has a fingerprint; a recipe lacks the dictionaries that it needs; the input cannot be read;
/// or `row` returns an error, which ends the job.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::AtomicBool;
///
/// use twinprint_fingerprint::HashKey;
/// use twinprint_io::jobs::fingerprints::{Subject, fingerprints};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::SourceOptions;
/// use twinprint_text::Profile;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let room = tempfile::tempdir()?;
/// let input = room.path().join("docs.jsonl");
/// std::fs::write(&input, "{\"id\":\"a\",\"text\":\"a short text\"}\n{\"id\":\"b\",\"text\":\"A short  text.\"}\n")?;
/// let subject = Subject::Text {
///     profile: Profile::default_for(64)?,
///     key: HashKey::PUBLIC,
///     counts_features: true,
/// };
/// let mut rows = Vec::new();
/// let inputs = [input.display().to_string()];
/// let cancel = Arc::new(AtomicBool::new(false));
/// fingerprints(&inputs, &SourceOptions::default(), &subject, &Silent, &cancel, |row| {
///     rows.push(row);
///     Ok::<_, Box<dyn std::error::Error>>(())
/// })?;
/// assert_eq!(rows[0].id, "a");
/// // Texts that differ only in case, spaces and punctuation have the same fingerprint.
/// assert_eq!(rows[0].result, rows[1].result);
/// # Ok(())
/// # }
/// ```
pub fn fingerprints<E: From<JobError>>(
    inputs: &[String],
    source_options: &SourceOptions,
    subject: &Subject,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    row: impl FnMut(RecordRow<RowFingerprint>) -> Result<(), E>,
) -> Result<Intake, E> {
    let job = RecordJob {
        inputs,
        options: subject.source_options(source_options),
        progress,
        cancel,
    };
    let new_worker = || Worker::new(subject).map_err(JobError::from);
    job.run(new_worker, Worker::make, row)
}
