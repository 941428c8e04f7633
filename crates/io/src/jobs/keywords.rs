//! Finds the keywords of documents.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint_text::compat::{Keywords, RecipeFingerprinter};
use twinprint_text::{KeywordExtractor, WeightedFeature};

use super::each_record::{RecordJob, RecordRow};
use super::fingerprints::Subject;
use crate::progress::Progress;
use crate::source::{Intake, SourceOptions};
use crate::{JobError, OptionError};

/// Calls `row` for every record in input order, with at most `limit` keywords and their weights, the heaviest first, and returns the intake. The keywords are
/// the words of a profile with the highest TF-IDF, or the keywords of cppjieba.
///
/// # Errors
/// The subject has no keywords: it is not text, or its profile has no idf table or features other than words. Otherwise
/// as for [`fingerprints`](super::fingerprints::fingerprints).
pub fn keywords<E: From<JobError>>(
    inputs: &[String],
    source_options: &SourceOptions,
    subject: &Subject,
    limit: u32,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    row: impl FnMut(RecordRow<Vec<WeightedFeature>>) -> Result<(), E>,
) -> Result<Intake, E> {
    let job = RecordJob {
        inputs,
        options: subject.source_options(source_options),
        progress,
        cancel,
    };
    let new_worker = || Worker::new(subject).map_err(JobError::from);
    let find = |worker: &mut Worker, text: &str| Ok(worker.keywords(text, limit));
    job.run(new_worker, find, row)
}

/// The extractor of one thread.
enum Worker {
    Profile(Box<KeywordExtractor>),
    Recipe(Box<RecipeFingerprinter>),
}

impl Worker {
    fn new(subject: &Subject) -> Result<Self, OptionError> {
        let refuse = |problem: String| OptionError::new("profile", problem);
        match subject {
            Subject::Text { profile, key, .. } => KeywordExtractor::new(profile, *key)
                .map(|extractor| Self::Profile(Box::new(extractor)))
                .map_err(|error| refuse(error.to_string())),
            Subject::Recipe { recipe, dictionaries } if recipe.needs_dictionaries() => {
                RecipeFingerprinter::new(*recipe, dictionaries.clone())
                    .map(|fingerprinter| Self::Recipe(Box::new(fingerprinter)))
                    .map_err(|error| refuse(error.to_string()))
            }
            Subject::Recipe { recipe, .. } => Err(refuse(format!("{} has no keywords", recipe.name()))),
            Subject::Vector { .. } | Subject::Features(_) => {
                Err(refuse("keywords are found in texts only".to_owned()))
            }
        }
    }

    fn keywords(&mut self, text: &str, limit: u32) -> Vec<WeightedFeature> {
        match self {
            Self::Profile(extractor) => extractor.keywords(text, limit as usize),
            Self::Recipe(fingerprinter) => {
                let keywords = fingerprinter.keywords(text, Keywords::Top(limit)).into_iter();
                let word = |keyword: twinprint_text::compat::Keyword<'_>| WeightedFeature {
                    name: keyword.word.to_owned(),
                    weight: keyword.weight,
                };
                keywords.map(word).collect()
            }
        }
    }
}
