//! Evaluation and calibration over files. Results go as JSON.
#![expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 converts the arguments of Python to owned values"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use twinprint::calibrate::{CalibrationJob, calibrate};
use twinprint::eval::{EvalError, EvalJob, EvalOptions, FurtherProfile, evaluate, page};
use twinprint::source::SourceOptions;
use twinprint::stream::{LabelledDocuments, StreamError};
use twinprint::{Auto, DedupOptions};

use crate::errors::{argument, dedup_exception, exception, job_exception, message};
use crate::json::to_json;
use crate::profile::profile;
use crate::run::run;

/// The width of a profile whose id has none. The engine chooses the width itself, so it is only a default.
const DEFAULT_BITS: u32 = 128;

/// The inputs and the engine of a measurement, from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Measure {
    inputs: Vec<String>,
    text: String,
    id: Option<String>,
    limit: Option<u64>,
    profile: String,
    bits: Option<u32>,
    threads: usize,
}

impl Measure {
    fn source(&self) -> SourceOptions {
        let mut source = SourceOptions {
            text_key: self.text.clone(),
            limit: self.limit,
            ..SourceOptions::default()
        };
        if self.id.is_some() {
            source.id_key.clone_from(&self.id);
        }
        source
    }

    fn dedup(&self) -> PyResult<DedupOptions> {
        let mut options = DedupOptions::new().map_err(|error| exception(&error))?;
        options.profile = profile(
            &self.profile,
            self.bits.or(width(&self.profile)).or(Some(DEFAULT_BITS)),
        )?;
        options.bits = match (self.bits, width(&self.profile)) {
            (Some(bits), _) | (None, Some(bits)) => Auto::Fixed(bits),
            (None, None) => Auto::Auto,
        };
        options.threads = self.threads;
        Ok(options)
    }
}

/// The width in the id of a profile, if it has one.
fn width(id: &str) -> Option<u32> {
    let recipe = id.split('+').next().unwrap_or(id);
    recipe.rsplit('-').next()?.parse().ok()
}

/// The exception for a failed evaluation or calibration.
fn eval_exception(error: &EvalError) -> PyErr {
    match error {
        EvalError::Dedup(error) => dedup_exception(error),
        EvalError::Row { .. }
        | EvalError::NoJaccard { .. }
        | EvalError::RepeatedId(_)
        | EvalError::TooMany
        | EvalError::TooFew(_)
        | EvalError::Width(_)
        | EvalError::Thresholds
        | EvalError::Incomplete { .. } => PyValueError::new_err(message(error)),
        error => exception(error),
    }
}

/// The options of an evaluation, from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct EvalSettings {
    pairs: Option<PathBuf>,
    truth: String,
    complete: Option<f64>,
    thresholds: Vec<f64>,
    also: Vec<String>,
    hamming: Option<u32>,
}

fn further(id: &str) -> PyResult<FurtherProfile> {
    let profile = profile(id, None).map_err(|error| argument("also", error))?;
    let widths = width(id).map_or_else(|| FurtherProfile::WIDTHS.to_vec(), |bits| vec![bits]);
    Ok(FurtherProfile { profile, widths })
}

/// Evaluates the engine on files. Returns the figures as JSON, and a page of HTML.
#[pyfunction]
pub(crate) fn evaluate_files(
    py: Python<'_>,
    measure: Measure,
    settings: EvalSettings,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let mut dedup = measure.dedup()?;
    dedup.hamming = settings.hamming.map_or(Auto::Auto, Auto::Fixed);
    let options = EvalOptions {
        dedup,
        thresholds: settings.thresholds,
        pairs: settings.pairs,
        truth_field: settings.truth,
        complete: settings.complete,
        profiles: settings
            .also
            .iter()
            .map(|id| further(id))
            .collect::<PyResult<_>>()?,
    };
    let source = measure.source();
    let evaluated = run(py, progress.as_ref(), |progress, cancel| {
        let job = EvalJob {
            inputs: &measure.inputs,
            source: &source,
            options: &options,
        };
        let evaluation = evaluate(&job, progress, cancel)?;
        let page = page(&evaluation);
        Ok::<_, EvalError>((evaluation, page))
    })?;
    let (evaluation, page) = evaluated.map_err(|error| eval_exception(&error))?;
    Ok((to_json(&evaluation)?, page))
}

/// Chooses width and radius from a sample in files. Returns the figures as JSON, and a page of HTML.
#[pyfunction]
pub(crate) fn calibrate_files(
    py: Python<'_>,
    measure: Measure,
    threshold: f64,
    documents: Option<u64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let mut options = measure.dedup()?;
    options.threshold = threshold;
    let source = measure.source();
    let calibrated = run(py, progress.as_ref(), |progress, cancel| {
        let job = CalibrationJob {
            inputs: &measure.inputs,
            source: &source,
            options: &options,
            corpus_documents: documents,
        };
        let calibration = calibrate(&job, progress, cancel)?;
        let page = twinprint::calibrate::page(&calibration);
        Ok::<_, EvalError>((calibration, page))
    })?;
    let (calibration, page) = calibrated.map_err(|error| eval_exception(&error))?;
    Ok((to_json(&calibration)?, page))
}

/// Compares clusters in files with a field of documents. Returns a list of agreements as JSON, one for each file.
#[pyfunction]
pub(crate) fn agreement_of_files(
    py: Python<'_>,
    measure: Measure,
    labels: &str,
    clusters: Vec<PathBuf>,
    by: &str,
) -> PyResult<String> {
    let source = measure.source();
    let read = |cancel: &Arc<AtomicBool>| {
        let documents = LabelledDocuments::read(&measure.inputs, &source, labels, cancel)?;
        let agreements = clusters.iter().map(|path| documents.agreement(path, by));
        agreements.collect::<Result<Vec<_>, _>>()
    };
    let reports = run(py, None, |_, cancel| read(cancel))?;
    let reports = reports.map_err(|error| match &error {
        StreamError::Job(error) => job_exception(error),
        error => exception(error),
    })?;
    to_json(&reports)
}
