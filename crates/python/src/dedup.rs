//! The main job over Python data.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use twinprint::{Auto, DedupOptions, EmptyTexts, Fate, Found, FoundRecord, Keep, Mode, PairRows, find};

use crate::columns::{Column, column};
use crate::errors::{argument, dedup_exception};
use crate::profile::profile;
use crate::records::{Data, Failure, Fields, Records};
use crate::run::{run, run_until};

/// The arguments of a deduplication, by the names that the package gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arguments {
    text: String,
    id: Option<String>,
    sort: Option<String>,
    name: String,
    keep: String,
    empty: String,
    threshold: f64,
    bits: Option<u32>,
    hamming: Option<u32>,
    verify: bool,
    profile: String,
    pairs: String,
    against: Option<PathBuf>,
    threads: usize,
    memory: Option<u64>,
    work_dir: Option<PathBuf>,
    seed: u64,
}

/// One of the values that an argument may have.
pub(crate) fn choice<T: Copy>(name: &str, given: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|choice| choice.0 == given);
    found.map(|choice| choice.1).ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|choice| format!("{:?}", choice.0)).collect();
        argument(name, format_args!("{given:?} is none of {}", names.join(", ")))
    })
}

fn auto(number: Option<u32>) -> Auto {
    number.map_or(Auto::Auto, Auto::Fixed)
}

impl Arguments {
    pub(crate) fn options(&self) -> PyResult<DedupOptions> {
        let mut options = DedupOptions::new().map_err(|error| argument("profile", error))?;
        options.profile = profile(&self.profile, Some(128))?;
        options.bits = auto(self.bits);
        options.hamming = auto(self.hamming);
        options.threshold = self.threshold;
        options.verify = self.verify;
        options.against.clone_from(&self.against);
        options.keep = choice(
            "keep",
            &self.keep,
            &[
                ("first", Keep::First),
                ("longest", Keep::Longest),
                ("shortest", Keep::Shortest),
                ("newest", Keep::Newest),
            ],
        )?;
        options.empty = choice(
            "empty",
            &self.empty,
            &[
                ("keep", EmptyTexts::Keep),
                ("remove", EmptyTexts::Remove),
                ("reject", EmptyTexts::Reject),
            ],
        )?;
        options.pairs = choice(
            "pairs",
            &self.pairs,
            &[
                ("none", PairRows::None),
                ("all", PairRows::All),
                ("distinct", PairRows::Distinct),
            ],
        )?;
        options.threads = self.threads;
        options.memory = self.memory;
        options.work_dir.clone_from(&self.work_dir);
        options.seed = self.seed;
        options.check().map_err(|error| dedup_exception(&error))?;
        Ok(options)
    }

    /// The fields of the records.
    pub(crate) fn fields(&self, keep: Keep) -> Fields {
        Fields {
            text: self.text.clone(),
            id: self.id.clone(),
            sort: self.sort.clone().filter(|_| keep == Keep::Newest),
        }
    }
}

/// The result of a deduplication.
#[pyclass(module = "twinprint._twinprint", frozen)]
pub(crate) struct Deduplicated {
    found: Found,
}

/// Deduplicates lists, an Arrow table or files.
#[pyfunction]
#[pyo3(signature = (data, arguments, progress))]
pub(crate) fn dedup(
    py: Python<'_>,
    data: Data<'_>,
    arguments: Arguments,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Deduplicated> {
    let mut options = arguments.options()?;
    // The records of files are copied when the result is saved; those in memory belong to the caller.
    options.mode = if matches!(data, Data::Paths(_)) {
        Mode::Remove
    } else {
        Mode::Report
    };
    let (cancel, failure) = (Arc::default(), Failure::default());
    let fields = arguments.fields(options.keep);
    let records = Records::new(data, &arguments.name, &fields, &cancel, &failure)?;
    let result = run_until(py, progress.as_ref(), &cancel, |progress| {
        let input = records.open(progress, &cancel)?;
        find(input, &options, progress, &cancel)
    })?;
    match (failure.take(), result) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(dedup_exception(&error)),
        (None, Ok(found)) => Ok(Deduplicated { found }),
    }
}

#[pymethods]
impl Deduplicated {
    /// The columns of the records, as bytes of numbers, and the positions of the records that duplicate a known document
    /// with the ids of those documents. A rejected record has -1, NaN, or the fingerprint 0.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = py.detach(|| RecordColumns::of(&self.found));
        columns.into_dict(py)
    }

    /// The pairs: the positions of the two records, the distances, Jaccards and containments, as bytes of numbers.
    fn pairs<'py>(&self, py: Python<'py>) -> [Bound<'py, PyByteArray>; 5] {
        let pairs = self.found.pairs();
        let positions: Vec<u64> = py.detach(|| self.found.positions());
        let position = |document: u32| positions[document as usize];
        [
            column(py, pairs.iter().map(|pair| position(pair.a))),
            column(py, pairs.iter().map(|pair| position(pair.b))),
            column(py, pairs.iter().map(|pair| pair.hamming)),
            column(py, pairs.iter().map(|pair| pair.similarity.jaccard)),
            column(py, pairs.iter().map(|pair| pair.similarity.containment)),
        ]
    }

    /// The names of the records: their ids, or their source and number.
    fn ids(&self, py: Python<'_>) -> Vec<Option<String>> {
        py.detach(|| {
            let id = |record: FoundRecord<'_>| record.document.map(|it| self.found.id(it.number));
            self.found.records().map(id).collect()
        })
    }

    /// The source, the line and the reason of each rejected record, in order.
    fn rejected(&self) -> Vec<(String, u64, String)> {
        let rejected = self.found.rejected().iter();
        rejected
            .map(|it| (it.source.clone(), it.line, it.reason.to_string()))
            .collect()
    }

    /// The report as JSON.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let json = py.detach(|| serde_json::to_string(self.found.report()));
        json.map_err(|error| crate::errors::exception(&error))
    }

    /// The report as a page of HTML.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.found.html())
    }

    /// The report as Markdown.
    fn markdown(&self, py: Python<'_>) -> String {
        py.detach(|| self.found.markdown())
    }

    /// Writes the result to a directory.
    fn save(&self, py: Python<'_>, out: PathBuf) -> PyResult<()> {
        let saved = run(py, None, |progress, _| self.found.save(&out, progress))?;
        saved.map(|_| ()).map_err(|error| dedup_exception(&error))
    }
}

/// The results of the records of a search, one column for each.
struct RecordColumns {
    fate: Column<u8>,
    leader: Column<i64>,
    hamming: Column<i32>,
    jaccard: Column<f64>,
    first: Column<i64>,
    rank: Column<i64>,
    fingerprint: Column<u128>,
    /// The positions of the records that duplicate a known document, with its id.
    known: Vec<(u64, String)>,
}

impl RecordColumns {
    fn of(found: &Found) -> Self {
        let records = found.records();
        let rows = records.len();
        let mut columns = Self {
            fate: Column::with_capacity(rows),
            leader: Column::with_capacity(rows),
            hamming: Column::with_capacity(rows),
            jaccard: Column::with_capacity(rows),
            first: Column::with_capacity(rows),
            rank: Column::with_capacity(rows),
            fingerprint: Column::with_capacity(rows),
            known: Vec::new(),
        };
        for (position, record) in (0..).zip(records) {
            columns.push(position, &record);
        }
        columns
    }

    fn push(&mut self, position: u64, record: &FoundRecord<'_>) {
        let document = record.document;
        self.fate.push(fate(record.fate));
        self.leader.push(document.map_or(-1, |it| it.leader as i64));
        self.hamming.push(document.map_or(-1, |it| it.hamming as i32));
        self.jaccard.push(document.map_or(f64::NAN, |it| it.jaccard));
        self.first.push(document.map_or(-1, |it| it.first as i64));
        let rank = document.and_then(|it| it.rank);
        self.rank.push(rank.map_or(-1, i64::from));
        self.fingerprint.push(document.map_or(0, |it| it.fingerprint));
        let known = document.and_then(|it| it.known);
        self.known.extend(known.map(|id| (position, id.to_owned())));
    }

    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let columns = PyDict::new(py);
        columns.set_item("fate", self.fate.into_array(py))?;
        columns.set_item("leader", self.leader.into_array(py))?;
        columns.set_item("hamming", self.hamming.into_array(py))?;
        columns.set_item("jaccard", self.jaccard.into_array(py))?;
        columns.set_item("first", self.first.into_array(py))?;
        columns.set_item("rank", self.rank.into_array(py))?;
        columns.set_item("fingerprint", self.fingerprint.into_array(py))?;
        columns.set_item("known", self.known)?;
        Ok(columns)
    }
}

fn fate(fate: Fate) -> u8 {
    match fate {
        Fate::Kept => 0,
        Fate::Removed => 1,
        Fate::Known => 2,
        Fate::Empty => 3,
        Fate::Rejected => 4,
    }
}
