//! The fingerprints of many texts as one column of numbers.

use twinprint_fingerprint::HashKey;
use twinprint_text::{Analyzer, Profile};

use super::each_record::each_chunk;
use crate::JobError;
use crate::object_pool::ObjectPool;
use crate::progress::Progress;
use crate::source::{Chunk, RecordKind, RejectReason, Sources};

/// The fingerprints of the records of an input, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextFingerprints {
    /// The fingerprint of each record, in the low bits; 0 for a rejected record.
    pub values: Vec<u128>,
    /// The positions of the rejected records, from 0, with the reasons.
    pub rejected: Vec<(u64, RejectReason)>,
}

/// Computes the fingerprint of every record of `sources`, in parallel. `key` must be the key that the profile's key id
/// names. Takes linear time, and 16 bytes of memory for each record.
///
/// # Errors
/// The input cannot be read, or was read before and is in memory.
///
/// ```
/// use twinprint_fingerprint::HashKey;
/// use twinprint_io::jobs::text_fingerprints;
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::{SourceOptions, Sources};
/// use twinprint_text::Profile;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let room = tempfile::tempdir()?;
/// let input = room.path().join("docs.jsonl");
/// std::fs::write(&input, "{\"text\":\"a short text\"}\n{\"text\":null}\n{\"text\":\"A short  text.\"}\n")?;
/// let inputs = [input.display().to_string()];
/// let sources = Sources::discover(&inputs, &SourceOptions::default(), room.path())?;
/// let made = text_fingerprints(&sources, &Profile::default_for(64)?, HashKey::PUBLIC, &Silent)?;
/// assert_eq!(made.values[0], made.values[2]);
/// assert_eq!(made.rejected[0].0, 1);
/// # Ok(())
/// # }
/// ```
pub fn text_fingerprints(
    sources: &Sources,
    profile: &Profile,
    key: HashKey,
    progress: &dyn Progress,
) -> Result<TextFingerprints, JobError> {
    let mut made = TextFingerprints::default();
    let new_analyzer = || Ok(Analyzer::new(profile, key));
    let of_chunk = |analyzer: &mut Analyzer, chunk: &Chunk| chunk_fingerprints(chunk, sources, analyzer);
    each_chunk(
        sources,
        progress,
        &ObjectPool::new(),
        &new_analyzer,
        of_chunk,
        |chunk| {
            let first = made.values.len() as u64;
            made.values.extend(chunk.values);
            let rejected = chunk.rejected.into_iter();
            made.rejected
                .extend(rejected.map(|(position, reason)| (first + position, reason)));
            Ok::<_, JobError>(())
        },
    )?;
    Ok(made)
}

fn chunk_fingerprints(chunk: &Chunk, sources: &Sources, analyzer: &mut Analyzer) -> TextFingerprints {
    let mut made = TextFingerprints {
        values: Vec::with_capacity(chunk.records() as usize),
        rejected: Vec::new(),
    };
    chunk.documents(sources.options(), &mut |record| match record.kind {
        RecordKind::Blank | RecordKind::Other { .. } => {}
        RecordKind::Rejected { reason } => {
            made.rejected.push((made.values.len() as u64, reason));
            made.values.push(0);
        }
        RecordKind::Document { text, .. } => made.values.push(analyzer.fingerprint(&text)),
    });
    made
}
