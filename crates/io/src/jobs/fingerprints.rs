//! Computes the fingerprints of documents or of vectors. The result is one row for each record.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_fingerprint::hyperplane::fingerprint_dense;
use twinprint_text::compat::{Dictionaries, Recipe, RecipeError, RecipeFingerprinter};
use twinprint_text::{Analyzer, Profile};

use crate::object_pool::ObjectPool;
use crate::progress::{Progress, Unit};
use crate::source::{Chunk, Intake, RecordKind, RejectReason, SourceOptions, Sources};
use crate::work::WorkDir;
use crate::{JobError, OptionError};
use twinprint_text::fingerprint_hex;

/// The fingerprint of one text or vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFingerprint {
    /// The fingerprint in hexadecimal.
    pub hex: String,
    /// The number of distinct features of the text, or the number of components of the vector. `None` if features are
    /// not counted.
    pub features: Option<u32>,
}

/// The result for one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FingerprintRow {
    /// The id that the record states. A record without an id has `source:line`, or the path if the file is one
    /// document.
    pub id: String,
    /// The name of the input file, as in all output.
    pub source: String,
    /// The line of the record in the file, from 1.
    pub line: u64,
    /// The fingerprint, or the reason why the record has none.
    pub fingerprint: Result<RowFingerprint, RejectReason>,
}

/// The subject of fingerprints, texts or vectors, and the method.
#[derive(Clone, Debug)]
pub enum Subject {
    /// The text of each document, fingerprinted by a profile. `key` must be the key that the profile's key id names.
    /// Without counts of features, some profiles take a third of the time; see [`Analyzer::fingerprint`].
    Text {
        /// The profile that makes the fingerprints.
        profile: Profile,
        /// The secret or public key with which features are hashed.
        key: HashKey,
        /// True if each row states the number of distinct features.
        counts_features: bool,
    },
    /// A vector of numbers in the field [`SourceOptions::text_key`], fingerprinted with random hyperplanes.
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
/// assert_eq!(rows[0].fingerprint, rows[1].fingerprint);
/// # Ok(())
/// # }
/// ```
pub fn fingerprints<E: From<JobError>>(
    inputs: &[String],
    source_options: &SourceOptions,
    subject: &Subject,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    mut row: impl FnMut(FingerprintRow) -> Result<(), E>,
) -> Result<Intake, E> {
    let maker = || {
        ThreadFingerprinter::new(subject)
            .map_err(|error| JobError::Option(OptionError::new("profile", error.to_string())))
    };
    let makers = ObjectPool::new();
    // Created before any input is read, so that a recipe without its dictionaries fails at once.
    makers.put(maker()?);
    let work = WorkDir::temporary().map_err(JobError::from)?;
    let options = SourceOptions {
        raw: matches!(subject, Subject::Vector { .. }),
        ..source_options.clone()
    };
    let sources = Sources::discover_cancellable(inputs, &options, work.path(), Arc::clone(cancel))
        .map_err(JobError::from)?;
    sources
        .check_fields(|hint| progress.warn(hint))
        .map_err(JobError::from)?;
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    for batch in sources.read(BATCH_BYTES) {
        let batch = batch.map_err(JobError::from)?;
        let rows: Result<Vec<Vec<FingerprintRow>>, JobError> = batch
            .chunks
            .par_iter()
            .map(|chunk| {
                let mut maker = makers.get().map_or_else(maker, Ok)?;
                let rows = chunk_rows(chunk, &sources, &mut maker);
                makers.put(maker);
                Ok(rows)
            })
            .collect();
        for next in rows?.into_iter().flatten() {
            row(next)?;
        }
        progress.advance(batch.input_bytes());
    }
    Ok(sources.intake().map_err(JobError::from)?)
}

/// The size of a batch of input, in bytes.
const BATCH_BYTES: usize = 8 << 20;

/// The fingerprinter of one thread.
enum ThreadFingerprinter {
    Analyzer {
        analyzer: Box<Analyzer>,
        bits: u32,
        counts_features: bool,
    },
    Vector {
        bits: u32,
    },
    Recipe {
        fingerprinter: Box<RecipeFingerprinter>,
        bits: u32,
    },
}

impl ThreadFingerprinter {
    fn new(subject: &Subject) -> Result<Self, RecipeError> {
        Ok(match subject {
            Subject::Text {
                profile,
                key,
                counts_features,
            } => Self::Analyzer {
                analyzer: Box::new(Analyzer::new(profile, *key)),
                bits: profile.bits(),
                counts_features: *counts_features,
            },
            Subject::Vector { bits } => Self::Vector { bits: *bits },
            Subject::Recipe { recipe, dictionaries } => Self::Recipe {
                fingerprinter: Box::new(RecipeFingerprinter::new(*recipe, dictionaries.clone())?),
                bits: recipe.bits(),
            },
        })
    }

    /// Returns the fingerprint of a text, or the reason why it has none.
    fn make(&mut self, text: &str) -> Result<RowFingerprint, String> {
        match self {
            Self::Analyzer {
                analyzer,
                bits,
                counts_features: false,
            } => Ok(RowFingerprint {
                hex: fingerprint_hex(analyzer.fingerprint(text), *bits),
                features: None,
            }),
            Self::Analyzer { analyzer, bits, .. } => {
                let analysis = analyzer.analyze(text);
                Ok(RowFingerprint {
                    hex: fingerprint_hex(analysis.fingerprint, *bits),
                    features: Some(analysis.features),
                })
            }
            Self::Vector { bits } => vector_fingerprint(text, *bits),
            Self::Recipe { fingerprinter, bits } => {
                let made = fingerprinter.fingerprint(text);
                let made = made.map_err(|error| error.to_string())?;
                Ok(RowFingerprint {
                    hex: fingerprint_hex(made.bits.into(), *bits),
                    features: Some(made.features),
                })
            }
        }
    }
}

fn chunk_rows(chunk: &Chunk, sources: &Sources, maker: &mut ThreadFingerprinter) -> Vec<FingerprintRow> {
    let mut rows = Vec::with_capacity(chunk.records() as usize);
    chunk.documents(sources.options(), &mut |record| {
        let source = sources.file(record.source);
        let (id, fingerprint) = match record.kind {
            RecordKind::Blank | RecordKind::Other { .. } => return,
            RecordKind::Rejected { reason } => (None, Err(reason)),
            RecordKind::Document { id, text, .. } => {
                let made = maker
                    .make(&text)
                    .map_err(|message| RejectReason::NoFingerprint { message });
                if let Err(reason) = &made {
                    chunk.refuse(record.source, record.line, reason);
                }
                (id, made)
            }
        };
        let id = id.map_or_else(|| source.name_of(record.line), std::borrow::Cow::into_owned);
        rows.push(FingerprintRow {
            id,
            source: source.label.clone(),
            line: record.line,
            fingerprint,
        });
    });
    rows
}

/// The JSON parser's error message is cut to this number of characters, because it quotes the input.
const MAX_QUOTED_CHARS: usize = 100;

/// Returns the fingerprint, of `bits` bits, of a vector that is given as a JSON array of numbers.
fn vector_fingerprint(json: &str, bits: u32) -> Result<RowFingerprint, String> {
    let vector: Vec<f32> = serde_json::from_str(json).map_err(|error| {
        let message = error.to_string();
        // The parser's message quotes the value that it found, which can be very long.
        let short: String = message.chars().take(MAX_QUOTED_CHARS).collect();
        let cut = if short.len() < message.len() { "…" } else { "" };
        format!("the vector is not an array of numbers: {short}{cut}")
    })?;
    let key = HashKey::PUBLIC;
    let full: Result<u128, _> = fingerprint_dense(&key, &vector);
    let full = full.map_err(|error| error.to_string())?;
    Ok(RowFingerprint {
        hex: fingerprint_hex(full, bits),
        features: Some(vector.len() as u32),
    })
}
