//! The evaluation: reads the documents, establishes the truth, and evaluates one method after another.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::documents::Documents;
use super::engine;
use super::error::EvalError;
use super::evaluation::Evaluation;
use super::evaluator::{Evaluator, TimedFingerprints};
use super::options::{EvalJob, FurtherProfile};
use super::truth::Truth;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::threads;

/// Evaluates the engine and the baselines on labelled documents. O(n²) in the number of documents, of which there may
/// be at most [`MAX_DOCUMENTS`](crate::MAX_DOCUMENTS). All texts are in memory.
///
/// # Errors
/// The input cannot be read, or the engine fails. The list of pairs names an unknown document or lacks the field with
/// the Jaccard. A threshold is below [`EvalOptions::complete`](crate::EvalOptions::complete). A further profile has an
/// invalid width.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use twinprint_dedup::DedupOptions;
/// use twinprint_eval::{EvalJob, EvalOptions, evaluate};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::SourceOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let docs = dir.path().join("docs.jsonl");
/// std::fs::write(
///     &docs,
///     concat!(
///         "{\"id\": \"a\", \"text\": \"Cocoa prices rose in London after rain delayed the harvest.\"}\n",
///         "{\"id\": \"b\", \"text\": \"Cocoa prices rose in London, after rain delayed the harvest!\"}\n",
///         "{\"id\": \"c\", \"text\": \"The city council voted to build a bridge over the river.\"}\n",
///     ),
/// )?;
///
/// let mut options = EvalOptions::new(DedupOptions::new()?);
/// options.thresholds = vec![0.8];
/// let job = EvalJob {
///     inputs: &[docs.display().to_string()],
///     source: &SourceOptions::default(),
///     options: &options,
/// };
/// let evaluation = evaluate(&job, &Silent, &Arc::default())?;
/// assert_eq!(evaluation.true_pairs, [1]);
/// for method in &evaluation.methods {
///     println!("{}: F1 {:.3}", method.name, method.results[0].quality.f1);
/// }
/// # Ok(())
/// # }
/// ```
pub fn evaluate(
    job: &EvalJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Evaluation, EvalError> {
    let options = job.options;
    options.dedup.check()?;
    for profile in &options.profiles {
        profile.check()?;
    }
    let mut thresholds = options.thresholds.clone();
    thresholds.sort_by(f64::total_cmp);
    thresholds.dedup();
    let (Some(&lowest), true) = (
        thresholds.first(),
        thresholds.iter().all(|t| (0.0..=1.0).contains(t) && *t > 0.0),
    ) else {
        return Err(EvalError::Thresholds);
    };
    let pool = threads::pool(options.dedup.threads)?;
    pool.install(|| {
        let profile = options
            .dedup
            .profile_at(128)
            .map_err(twinprint_dedup::DedupError::from)?;
        let documents = Documents::read(job.inputs, job.source, &profile, progress, cancel)?;
        progress.stage("truth", 0, Unit::Steps);
        let truth = Truth::of(&documents, options, lowest)?;
        let mut evaluator = Evaluator {
            documents: &documents,
            truth: &truth,
            thresholds: &thresholds,
            evaluation: begin(&documents, &truth, &thresholds),
        };
        progress.stage("judge", 0, Unit::Steps);
        let text_bytes = engine::evaluate_engine(&mut evaluator, job, cancel)?;
        progress.stage("compare", 0, Unit::Steps);
        let own = TimedFingerprints {
            profile: &profile,
            fingerprints: &documents.fingerprints,
            seconds: documents.seconds,
        };
        for bits in FurtherProfile::WIDTHS {
            evaluator.fingerprints(&own, bits, true)?;
        }
        for FurtherProfile { profile, widths } in &options.profiles {
            let started = Instant::now();
            let (profile, fingerprints) = documents.fingerprints_of(profile)?;
            let made = TimedFingerprints {
                profile: &profile,
                fingerprints: &fingerprints,
                seconds: started.elapsed().as_secs_f64(),
            };
            for &bits in widths {
                evaluator.fingerprints(&made, bits, false)?;
            }
        }
        evaluator.minhash(text_bytes)?;
        evaluator.cosine()?;
        Ok(evaluator.evaluation)
    })
}

/// Makes an evaluation to which no method has been added yet.
fn begin(documents: &Documents, truth: &Truth, thresholds: &[f64]) -> Evaluation {
    Evaluation {
        version: twinprint_io::VERSION.to_owned(),
        documents: documents.len(),
        short: documents.short(),
        intake: documents.intake.clone(),
        threads: rayon::current_num_threads(),
        truth: truth.sentence.clone(),
        agreement: truth.agreement,
        thresholds: thresholds.to_vec(),
        true_pairs: thresholds.iter().map(|&t| truth.count(t)).collect(),
        ..Evaluation::default()
    }
}
