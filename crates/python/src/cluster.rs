//! Clusters of a stream: the class `Stream` of the extension module.
//!
//! Assignments go as bytes of little-endian numbers, groups and stories as JSON. Documents are prepared on all threads
//! and placed in order on one.
#![expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 converts the arguments of Python to owned values"
)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use rayon::prelude::*;
use serde_json::{Value, json};
use twinprint::stream::{
    Assigned, Document, DuplicateGroup, Method, Preference, Prepared, Preparer, Scope, StateError, Story,
    Stream, StreamError, StreamOptions, Topic, time,
};

use crate::errors::{TwinprintError, argument, exception, job_exception, message};
use crate::pool;
use crate::profile::profile;

/// The width of the fingerprints of streams.
const BITS: u32 = 128;
/// The number of documents that a thread prepares at a time.
const DOCUMENTS_AT_A_TIME: usize = 16;

/// The options of a stream, from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct StreamSettings {
    profile: String,
    threshold: f64,
    hamming: u32,
    canonical: Vec<String>,
    canonical_scope: String,
    group_window: Option<i64>,
    story_threshold: Option<f64>,
    story_merge: Option<f64>,
    window: Option<i64>,
    half_life: Option<i64>,
    equal_bits: Option<u32>,
    live: usize,
}

impl StreamSettings {
    fn options(self) -> PyResult<StreamOptions> {
        let mut options = StreamOptions::new().map_err(|error| exception(&error))?;
        options.profile = profile(&self.profile, Some(BITS))?;
        options.threshold = self.threshold;
        options.radius = self.hamming;
        options.scope = match self.canonical_scope.as_str() {
            "host" => Scope::Host,
            "domain" => Scope::Domain,
            _ => Scope::None,
        };
        let preferences = self.canonical.iter().map(|name| name.parse::<Preference>());
        options.groups.policy = preferences
            .collect::<Result<_, _>>()
            .map_err(|error| argument("canonical", error))?;
        options.groups.window = self.group_window;
        options.groups.live = self.live;
        options.stories.threshold = self.story_threshold.into();
        options.stories.merge = (self.story_merge != Some(1.0)).then_some(self.story_merge.into());
        options.stories.window = self.window;
        options.stories.half_life = self.half_life;
        options.stories.live = self.live;
        if let Some(bits) = self.equal_bits {
            options.stories.method = Method::EqualBits(bits);
        }
        options.check().map_err(|error| stream_exception(&error))?;
        Ok(options)
    }
}

/// The exception for an error of a stream.
fn stream_exception(error: &StreamError) -> PyErr {
    match error {
        StreamError::Job(twinprint::JobError::Option(error)) => {
            let text = error.to_string();
            // The library calls these options by other names.
            let text = match text.split_once(':') {
                Some(("radius", rest)) => format!("hamming:{rest}"),
                Some(("merge", rest)) => format!("story_merge:{rest}"),
                _ => text,
            };
            PyValueError::new_err(text)
        }
        StreamError::Job(error) => job_exception(error),
        StreamError::State(error) => state_exception(error),
        error => exception(error),
    }
}

/// The exception for an error of a state file.
fn state_exception(error: &StateError) -> PyErr {
    match error {
        StateError::Options { .. } => PyValueError::new_err(message(error)),
        error => exception(error),
    }
}

/// A document: its id, text, title, URL, time in seconds since 1970, and score.
type DocumentRow<'py> = (
    String,
    Bound<'py, PyString>,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<f64>,
);

/// A document with an owned text.
struct OwnedDocument {
    name: String,
    text: String,
    title: Option<String>,
    url: Option<String>,
    time: Option<i64>,
    score: Option<f64>,
}

impl OwnedDocument {
    fn of((name, text, title, url, time, score): DocumentRow<'_>) -> Self {
        Self {
            name,
            text: text.to_string_lossy().into_owned(),
            title,
            url,
            time,
            score,
        }
    }

    fn prepared(&self, preparer: &mut Preparer) -> Prepared {
        preparer.prepare(&Document {
            name: &self.name,
            text: &self.text,
            title: self.title.as_deref(),
            url: self.url.as_deref(),
            time: self.time,
            score: self.score,
        })
    }
}

/// A stream, and what the handle knows about it.
struct State {
    stream: Stream,
    /// Preparers that are not in use, so that their buffers stay allocated.
    preparers: Mutex<Vec<Preparer>>,
    /// True if some document has a time.
    timed: bool,
}

impl State {
    /// Prepares documents on all threads. Stops early if `cancel` becomes true.
    fn prepare(&self, documents: &[OwnedDocument], cancel: &AtomicBool) -> Vec<Prepared> {
        let free = || self.preparers.lock().unwrap_or_else(PoisonError::into_inner);
        let prepare = |documents: &[OwnedDocument]| {
            let idle = free().pop();
            let mut preparer = idle.unwrap_or_else(|| self.stream.preparer());
            let documents = documents.iter().take_while(|_| !cancel.load(Ordering::Relaxed));
            let prepared: Vec<Prepared> = documents
                .map(|document| document.prepared(&mut preparer))
                .collect();
            free().push(preparer);
            prepared
        };
        let parts: Vec<Vec<Prepared>> = documents.par_chunks(DOCUMENTS_AT_A_TIME).map(prepare).collect();
        parts.into_iter().flatten().collect()
    }
}

/// The assignments of a batch: columns of little-endian numbers.
type Columns = [Vec<u8>; 5];

/// Appends an assignment to the columns: group, story, leader, Jaccard, containment.
fn push(columns: &mut Columns, assigned: &Assigned) {
    let values = [
        assigned.group.to_le_bytes(),
        assigned.story.to_le_bytes(),
        assigned.leader.to_le_bytes(),
        assigned.similarity.jaccard.to_le_bytes(),
        assigned.similarity.containment.to_le_bytes(),
    ];
    for (column, value) in columns.iter_mut().zip(values) {
        column.extend_from_slice(&value);
    }
}

/// A stream of documents that are placed in groups and stories.
#[pyclass(module = "twinprint._twinprint", name = "Stream", frozen)]
pub(crate) struct StreamHandle {
    state: Mutex<State>,
    process: u32,
}

impl StreamHandle {
    fn new(stream: Stream, timed: bool) -> Self {
        Self {
            state: Mutex::new(State {
                stream,
                preparers: Mutex::default(),
                timed,
            }),
            process: std::process::id(),
        }
    }

    /// Refuses the call in a process that was forked from the one that made the stream.
    fn check_process(&self) -> PyResult<()> {
        if std::process::id() == self.process {
            return Ok(());
        }
        Err(TwinprintError::new_err(
            "the clusterer was made by the parent process; save it there and open its file in this process",
        ))
    }

    /// Locks the state. Must be called without the interpreter, because another call may hold the lock for long.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the stream, without the interpreter.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut State) -> T + Send) -> PyResult<T> {
        self.check_process()?;
        Ok(py.detach(|| work(&mut self.lock())))
    }

    /// Resolves ids, which are little-endian numbers.
    fn resolve(
        &self,
        py: Python<'_>,
        ids: &[u8],
        resolve: impl Fn(&Stream, u64) -> u64 + Send + Sync,
    ) -> PyResult<Vec<u8>> {
        self.with(py, |state| {
            let (ids, _) = ids.as_chunks::<8>();
            let ids = ids
                .iter()
                .map(|id| resolve(&state.stream, u64::from_le_bytes(*id)));
            ids.flat_map(u64::to_le_bytes).collect()
        })
    }
}

#[pymethods]
impl StreamHandle {
    /// Makes a stream without documents.
    #[staticmethod]
    fn create(settings: StreamSettings) -> PyResult<Self> {
        Ok(Self::new(Stream::new(settings.options()?), false))
    }

    /// Reads the state of a stream.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, settings: StreamSettings) -> PyResult<Self> {
        let options = settings.options()?;
        let loaded = pool::detached(py, || Stream::load(&path, options))?;
        let stream = loaded.map_err(|error| state_exception(&error))?;
        // Without times, the clock of a stream stands at 0.
        let timed = stream.stories().any(|story| story.seen != [0, 0]);
        Ok(Self::new(stream, timed))
    }

    /// Writes the state of the stream to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved = self.with(py, |state| state.stream.save(&path))?;
        saved.map_err(|error| state_exception(&error))
    }

    /// Counts the words of documents that will be placed later.
    fn count_ahead(&self, py: Python<'_>, rows: Vec<DocumentRow<'_>>) -> PyResult<()> {
        self.check_process()?;
        let documents: Vec<_> = rows.into_iter().map(OwnedDocument::of).collect();
        pool::run(py, None, |_, cancel| {
            let mut state = self.lock();
            let prepared = state.prepare(&documents, cancel);
            for document in &prepared {
                state.stream.count_ahead(document);
            }
        })
    }

    /// Places documents. Returns the number of the first one, and the columns of the assignments.
    fn feed<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<DocumentRow<'_>>,
    ) -> PyResult<(u64, [Bound<'py, PyBytes>; 5])> {
        self.check_process()?;
        let documents: Vec<_> = rows.into_iter().map(OwnedDocument::of).collect();
        let placed = pool::run(py, None, |_, cancel| {
            let mut state = self.lock();
            let first = state.stream.documents();
            let prepared = state.prepare(&documents, cancel);
            let mut columns = Columns::default();
            for document in &prepared {
                if cancel.load(Ordering::Relaxed) {
                    return None;
                }
                let assigned = state.stream.place(document);
                push(&mut columns, &assigned);
            }
            state.timed |= documents.iter().any(|document| document.time.is_some());
            Some((first, columns))
        })?;
        let (first, columns) = placed.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
        Ok((first, columns.map(|column| PyBytes::new(py, &column))))
    }

    /// The number of documents placed so far.
    fn documents(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |state| state.stream.documents())
    }

    /// Resolves the ids of groups that may have merged into others.
    fn resolve_groups<'py>(&self, py: Python<'py>, ids: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let resolved = self.resolve(py, ids, Stream::group)?;
        Ok(PyBytes::new(py, &resolved))
    }

    /// Resolves the ids of stories that may have merged into others.
    fn resolve_stories<'py>(&self, py: Python<'py>, ids: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let resolved = self.resolve(py, ids, Stream::story)?;
        Ok(PyBytes::new(py, &resolved))
    }

    /// The live groups of at least `min_size` documents as JSON.
    fn groups(&self, py: Python<'_>, min_size: u64) -> PyResult<String> {
        self.with(py, |state| {
            let groups = state.stream.groups().filter(|group| group.size >= min_size);
            let groups = groups.map(|group| group_row(group, &state.stream, state.timed));
            groups.collect::<Value>().to_string()
        })
    }

    /// The live stories of at least `min_size` documents as JSON.
    fn stories(&self, py: Python<'_>, min_size: u64) -> PyResult<String> {
        self.with(py, |state| {
            let stories = state.stream.stories().filter(|story| story.size >= min_size);
            let stories =
                stories.map(|story| story_row(story, &state.stream.topic(story), state.timed, false));
            stories.collect::<Value>().to_string()
        })
    }

    /// The groups and stories that ended since the last call, as JSON.
    fn take_ended(&self, py: Python<'_>) -> PyResult<(String, String)> {
        self.with(py, |state| {
            let (groups, stories) = state.stream.take_retired();
            let groups = groups
                .iter()
                .map(|group| group_row(group, &state.stream, state.timed));
            let stories = stories
                .iter()
                .map(|(story, topic)| story_row(story, topic, state.timed, true));
            (
                groups.collect::<Value>().to_string(),
                stories.collect::<Value>().to_string(),
            )
        })
    }

    /// The cosines at which documents join stories and stories merge, and the number of documents that they were
    /// estimated from.
    fn thresholds(&self, py: Python<'_>) -> PyResult<(f64, Option<f64>, Option<u64>)> {
        self.with(py, |state| {
            let thresholds = state.stream.story_thresholds();
            let estimate = state.stream.story_estimate().map(|estimate| estimate.items);
            (thresholds.join, thresholds.merge, estimate)
        })
    }
}

/// The times of a cluster, such as "2024-05-01T12:00:00Z", if its documents have times.
fn stamps(seen: [i64; 2], timed: bool) -> [Option<String>; 2] {
    seen.map(|seconds| time::stamp(seconds).filter(|_| timed))
}

fn group_row(group: &DuplicateGroup, stream: &Stream, timed: bool) -> Value {
    let [first, last] = stamps(group.seen, timed);
    let canonical: Vec<&str> = group.canonicals.members().map(|member| &*member.name).collect();
    json!({
        "group_id": group.id,
        "size": group.size,
        "story_id": stream.story(group.label),
        "first": first,
        "last": last,
        "canonical": canonical,
        "merged": group.merged,
    })
}

fn story_row(story: &Story, topic: &Topic, timed: bool, ended: bool) -> Value {
    let [first, last] = stamps(story.seen, timed);
    let terms: Vec<Value> = topic
        .terms
        .iter()
        .map(|term| {
            // The files of `twinprint cluster` have the same four decimals.
            let weight = (term.score * 1e4).round() / 1e4;
            json!({"term": term.text, "weight": weight, "documents": term.members})
        })
        .collect();
    json!({
        "story_id": story.id,
        "size": story.size,
        "distinct": story.members,
        "first": first,
        "last": last,
        "topic": terms,
        "title": topic.title,
        "ended": ended,
        "merged": story.merged,
    })
}
