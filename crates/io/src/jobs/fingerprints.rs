//! Fingerprints of documents or of vectors they hold, one row each.

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

/// What a row tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FingerprintRow {
    /// The record's id, or `source:line`, or the path of a whole file.
    pub id: String,
    /// The file, as named in all output.
    pub source: String,
    /// Its line, from 1.
    pub line: u64,
    /// The fingerprint in hexadecimal and the number of distinct features (or dimensions) where it was asked for, or why there is none.
    pub fingerprint: Result<(String, Option<u32>), String>,
}

/// What is fingerprinted, and how.
#[derive(Clone, Debug)]
pub enum Subject {
    /// The text, by a profile under the key that its key id stands for. Where features are not to be counted, some fingerprints are made
    /// in a third of the time; see [`Analyzer::fingerprint`].
    Text {
        /// How the text becomes a fingerprint.
        profile: Profile,
        /// The key of the feature hash.
        key: HashKey,
        /// Whether rows tell how many distinct features there are.
        counted: bool,
    },
    /// A vector of numbers in the field of [`SourceOptions::text_key`], by random hyperplanes; so many bits.
    Vector(u32),
    /// The text as another library takes it, with cppjieba's dictionaries where it needs them.
    Recipe(Recipe, Option<Arc<Dictionaries>>),
}

/// Calls `row` for every record in input order, and returns the account of them. O(text); memory for a few batches.
///
/// # Errors
/// No record of which a fingerprint can be made; a recipe without the dictionaries it needs; what stops reading; what `row` returns ends the work.
pub fn fingerprints<E: From<JobError>>(
    inputs: &[String],
    source_options: &SourceOptions,
    subject: &Subject,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    mut row: impl FnMut(FingerprintRow) -> Result<(), E>,
) -> Result<Intake, E> {
    let maker = || {
        Maker::new(subject).map_err(|error| JobError::Option(OptionError::new("profile", error.to_string())))
    };
    let idle = ObjectPool::new();
    // What cannot be made is told before anything is read.
    idle.give(maker()?);
    let work = WorkDir::temporary().map_err(JobError::from)?;
    let options = SourceOptions {
        raw: matches!(subject, Subject::Vector(_)),
        ..source_options.clone()
    };
    let sources = Sources::discover_cancellable(inputs, &options, work.path(), Arc::clone(cancel))
        .map_err(JobError::from)?;
    sources
        .check_fields(|hint| progress.warn(hint))
        .map_err(JobError::from)?;
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    for batch in sources.read(8 << 20) {
        let batch = batch.map_err(JobError::from)?;
        let rows: Result<Vec<Vec<FingerprintRow>>, JobError> = batch
            .chunks
            .par_iter()
            .map(|chunk| {
                let mut lent = idle.take().map_or_else(maker, Ok)?;
                let rows = chunk_rows(chunk, &sources, &mut lent);
                idle.give(lent);
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

/// Makes the fingerprints of one thread.
enum Maker {
    /// With the bits of a fingerprint, and whether features are counted.
    Analyzer(Box<Analyzer>, u32, bool),
    Vector(u32),
    Recipe(Box<RecipeFingerprinter>, u32),
}

impl Maker {
    fn new(subject: &Subject) -> Result<Self, RecipeError> {
        Ok(match subject {
            Subject::Text {
                profile,
                key,
                counted,
            } => Self::Analyzer(Box::new(Analyzer::new(profile, *key)), profile.bits(), *counted),
            Subject::Vector(bits) => Self::Vector(*bits),
            Subject::Recipe(recipe, dictionaries) => Self::Recipe(
                Box::new(RecipeFingerprinter::new(*recipe, dictionaries.clone())?),
                recipe.bits(),
            ),
        })
    }

    /// The fingerprint in hexadecimal and the number of features, or why there is none.
    fn make(&mut self, text: &str) -> Result<(String, Option<u32>), String> {
        match self {
            Self::Analyzer(analyzer, bits, false) => {
                Ok((fingerprint_hex(analyzer.fingerprint(text), *bits), None))
            }
            Self::Analyzer(analyzer, bits, true) => {
                let analysis = analyzer.analyze(text);
                Ok((
                    fingerprint_hex(analysis.fingerprint, *bits),
                    Some(analysis.features),
                ))
            }
            Self::Vector(bits) => {
                let (fingerprint, dimensions) = of_vector(text, *bits)?;
                Ok((fingerprint, Some(dimensions)))
            }
            Self::Recipe(fingerprinter, bits) => {
                let made = fingerprinter.fingerprint(text);
                let made = made.map_err(|error| error.to_string())?;
                Ok((fingerprint_hex(made.bits.into(), *bits), Some(made.features)))
            }
        }
    }
}

fn chunk_rows(chunk: &Chunk, sources: &Sources, maker: &mut Maker) -> Vec<FingerprintRow> {
    let mut rows = Vec::with_capacity(chunk.records() as usize);
    chunk.documents(sources.options(), &mut |record| {
        let source = &sources.list()[record.source as usize];
        let (id, fingerprint) = match record.kind {
            RecordKind::Blank | RecordKind::Other { .. } => return,
            RecordKind::Rejected { reason } => (None, Err(reason.to_string())),
            RecordKind::Document { id, text, .. } => {
                let made = maker.make(&text);
                if let Err(message) = &made {
                    let message = message.clone();
                    chunk.refuse(
                        record.source,
                        record.line,
                        &RejectReason::NoFingerprint { message },
                    );
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

/// Characters of a parser's message that are told.
const SAID: usize = 100;

/// The fingerprint of a JSON array of numbers.
fn of_vector(json: &str, bits: u32) -> Result<(String, u32), String> {
    let vector: Vec<f32> = serde_json::from_str(json).map_err(|error| {
        let said = error.to_string();
        // What is there instead is quoted, however long it is.
        let short: String = said.chars().take(SAID).collect();
        let cut = if short.len() < said.len() { "…" } else { "" };
        format!("the vector is not an array of numbers: {short}{cut}")
    })?;
    let key = HashKey::PUBLIC;
    let full: Result<u128, _> = fingerprint_dense(&key, &vector);
    let full = full.map_err(|error| error.to_string())?;
    Ok((fingerprint_hex(full, bits), vector.len() as u32))
}
