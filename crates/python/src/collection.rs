//! Collections: the class `Collection` of the extension module.
//!
//! Documents come as tuples, answers go as JSON. A handle belongs to the process that opened it: a forked process has
//! no writing thread, so there it refuses every call.
#![expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 converts the arguments of Python to owned values"
)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};

use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyKeyError, PyKeyboardInterrupt, PyOSError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde::Serialize;
use serde_json::json;
use twinprint::collection::{
    Answer, Collection, CollectionError, Content, Details, Durability, NewDocument, Settings, StoryQuery,
};

use crate::errors::{TwinprintError, argument};
use crate::pool;

/// A call with fewer documents than this needs no worker threads.
const FEW_DOCUMENTS: usize = 2;

/// The first process that opened a collection for writing; 0 if none did. The thread that writes uses rayon's global pool,
/// which a forked process cannot use.
static WRITING: AtomicU32 = AtomicU32::new(0);

/// Refuses to open a collection for writing in a process that was forked from one that has done so.
fn check_fork() -> PyResult<()> {
    let process = std::process::id();
    let first = WRITING.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
    match first {
        Err(first) if first != process => Err(TwinprintError::new_err(
            "this process was forked from one that has opened a collection for writing, so it cannot; start it by \
             another method, such as multiprocessing's \"spawn\", or open the collection with read_only=True",
        )),
        _ => Ok(()),
    }
}

/// The start of the ids of documents that are checked without an id. No stored document has such an id.
const UNNAMED: char = '\0';

/// An open collection.
#[pyclass(module = "twinprint._twinprint", name = "Collection", frozen)]
pub(crate) struct CollectionHandle {
    /// `None` after `close`. Running calls hold a read lock, so `close` waits for them.
    open: RwLock<Option<Collection>>,
    process: u32,
}

impl Drop for CollectionHandle {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            // The writing thread of the collection does not exist in a forked process, so nothing can wait for it.
            std::mem::forget(self.open.get_mut().map(Option::take));
        }
    }
}

/// A document: its id, or else its position and false; the kind and the value of its content, its details as JSON, and
/// its time to live in seconds.
type DocumentRow<'py> = (
    String,
    bool,
    String,
    Bound<'py, PyString>,
    Option<String>,
    Option<u64>,
);

/// The exception for an error of a collection.
fn exception(error: &CollectionError) -> PyErr {
    let text = error.to_string();
    match error {
        CollectionError::NotThere { .. } => PyFileNotFoundError::new_err(text),
        CollectionError::NotEmpty { .. } => PyFileExistsError::new_err(text),
        CollectionError::Limit { what: "k", .. } => {
            PyValueError::new_err(text.replacen("k: ", "hamming: ", 1))
        }
        CollectionError::Invalid(_)
        | CollectionError::EmptyText
        | CollectionError::Limit { .. }
        | CollectionError::NoStories
        | CollectionError::Closed => PyValueError::new_err(text),
        CollectionError::NoDocument { .. } | CollectionError::NoStory(_) | CollectionError::NoGroup(_) => {
            PyKeyError::new_err(text)
        }
        CollectionError::ReadOnly { .. } | CollectionError::Io { .. } => PyOSError::new_err(text),
        CollectionError::Cancelled => PyKeyboardInterrupt::new_err(()),
        _ => TwinprintError::new_err(text),
    }
}

/// The exception for a value that cannot be converted from or to JSON.
fn json_error(name: &'static str) -> impl Fn(serde_json::Error) -> PyErr {
    move |error| argument(name, error)
}

/// Reads the settings of a collection from JSON.
fn settings(json: &str) -> PyResult<Settings> {
    serde_json::from_str(json).map_err(json_error("settings"))
}

/// Converts documents. A document without an id gets one from `name`, which takes the document with its position as id.
fn documents(rows: Vec<DocumentRow<'_>>, name: impl Fn(&mut NewDocument)) -> PyResult<Vec<NewDocument>> {
    let convert = |(id, has_id, kind, content, details, ttl): DocumentRow<'_>| {
        let content = content.to_string_lossy().into_owned();
        let content = match kind.as_str() {
            "text" => Content::Text(content),
            "html" => Content::Html(content),
            _ => Content::Fingerprint(
                u128::from_str_radix(&content, 16).map_err(|error| argument("fingerprint", error))?,
            ),
        };
        let details = details.as_deref().map(serde_json::from_str::<Details>);
        let mut document = NewDocument {
            id,
            content,
            details: details
                .transpose()
                .map_err(json_error("documents"))?
                .unwrap_or_default(),
            ttl,
        };
        if !has_id {
            name(&mut document);
        }
        Ok(document)
    };
    rows.into_iter().map(convert).collect()
}

/// Converts the answers for documents to a list in JSON. A document that was refused has the reason in `error`.
fn answers(answers: Vec<Result<Answer, CollectionError>>) -> Result<String, CollectionError> {
    let answers = answers.into_iter().map(|answer| match answer {
        Ok(mut answer) => {
            if let Some(position) = answer.id.strip_prefix(UNNAMED) {
                answer.id = position.to_owned();
            }
            to_json(&answer)
        }
        Err(error) => to_json(&json!({"error": error.to_string()})),
    });
    let answers: Vec<String> = answers.collect::<Result<_, _>>()?;
    Ok(format!("[{}]", answers.join(",")))
}

/// Encodes a result of the library as JSON.
fn to_json(value: &impl Serialize) -> Result<String, CollectionError> {
    serde_json::to_string(value).map_err(|error| CollectionError::Invalid(error.to_string()))
}

/// The guarantee of a write.
fn durability(durable: bool) -> Durability {
    if durable {
        Durability::Synced
    } else {
        Durability::Buffered
    }
}

impl CollectionHandle {
    /// Opens a collection by `open`, without the interpreter.
    fn opened(
        py: Python<'_>,
        open: impl FnOnce() -> Result<Collection, CollectionError> + Send,
    ) -> PyResult<Self> {
        let collection = pool::detached(py, open)?.map_err(|error| exception(&error))?;
        Ok(Self {
            open: RwLock::new(Some(collection)),
            process: std::process::id(),
        })
    }

    /// Refuses the call in a process that was forked from the one that opened the collection.
    fn check_process(&self) -> PyResult<()> {
        if std::process::id() == self.process {
            return Ok(());
        }
        Err(TwinprintError::new_err(
            "the collection was opened by the parent process; open it in this process, after the parent has closed it",
        ))
    }

    /// Runs `work` on the open collection.
    fn with<T>(
        &self,
        work: impl FnOnce(&Collection) -> Result<T, CollectionError>,
    ) -> Result<T, CollectionError> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().map_or(Err(CollectionError::Closed), work)
    }

    /// Runs `work` on the open collection, without the interpreter.
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Collection) -> Result<T, CollectionError> + Send,
    ) -> PyResult<T> {
        self.check_process()?;
        py.detach(|| self.with(work)).map_err(|error| exception(&error))
    }

    /// Runs `work`, which handles `count` documents, on worker threads if it needs them.
    fn call_on_pool<T: Send>(
        &self,
        py: Python<'_>,
        count: usize,
        work: impl FnOnce(&Collection) -> Result<T, CollectionError> + Send,
    ) -> PyResult<T> {
        if count < FEW_DOCUMENTS {
            return self.call(py, work);
        }
        self.check_process()?;
        pool::detached(py, || self.with(work))?.map_err(|error| exception(&error))
    }
}

#[pymethods]
impl CollectionHandle {
    /// Creates a collection with settings given as JSON.
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf, settings_json: &str) -> PyResult<Self> {
        let settings = settings(settings_json)?;
        check_fork()?;
        Self::opened(py, || Collection::create(&path, settings))
    }

    /// Opens a collection.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, read_only: bool) -> PyResult<Self> {
        if !read_only {
            check_fork()?;
        }
        Self::opened(py, || {
            if read_only {
                return Collection::open_read_only(&path);
            }
            let collection = Collection::open(&path)?;
            // The library opens a file that is not writable for reading. Here that must be asked for.
            collection.refusal().map_or(Ok(collection), Err)
        })
    }

    /// True if a directory has a collection.
    #[staticmethod]
    fn is_at(py: Python<'_>, path: PathBuf) -> bool {
        py.detach(|| Collection::is_at(&path))
    }

    /// Makes a collection of a backup, and returns the counts of its verification as JSON.
    #[staticmethod]
    fn restore(py: Python<'_>, backup: PathBuf, path: PathBuf) -> PyResult<String> {
        let restored = pool::run(py, None, |_, _| to_json(&Collection::restore(&backup, &path)?))?;
        restored.map_err(|error| exception(&error))
    }

    /// Makes a collection of the readable documents of a damaged one. Returns how many were saved and lost.
    #[staticmethod]
    fn repair(py: Python<'_>, damaged: PathBuf, path: PathBuf) -> PyResult<(u64, Option<u64>)> {
        check_fork()?;
        let repaired = pool::run(py, None, |_, _| Collection::repair(&damaged, &path))?;
        let report = repaired.map_err(|error| exception(&error))?;
        Ok((report.saved, report.lost))
    }

    /// Closes the collection when the running calls have ended.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.check_process()?;
        py.detach(|| {
            let open = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
            drop(open);
        });
        Ok(())
    }

    /// The settings as JSON.
    fn settings(&self, py: Python<'_>) -> PyResult<String> {
        self.call(py, |collection| to_json(collection.settings()))
    }

    /// True if the settings of the collection are those that are given as JSON.
    fn satisfies(&self, py: Python<'_>, settings_json: &str) -> PyResult<bool> {
        let asked = settings(settings_json)?;
        self.call(py, |collection| Ok(collection.settings().satisfy(&asked)))
    }

    /// The number of documents.
    fn len(&self, py: Python<'_>) -> PyResult<usize> {
        self.call(py, |collection| Ok(collection.len()))
    }

    /// Adds documents, and returns their answers as JSON. A document without an id gets `new_ids` with its position.
    fn add(
        &self,
        py: Python<'_>,
        rows: Vec<DocumentRow<'_>>,
        new_ids: &str,
        only_new: bool,
        durable: bool,
    ) -> PyResult<String> {
        let documents = documents(rows, |document| document.id.insert_str(0, new_ids))?;
        self.call_on_pool(py, documents.len(), |collection| {
            answers(collection.add(documents, only_new, durability(durable))?)
        })
    }

    /// Checks documents, and returns their answers as JSON.
    fn check(&self, py: Python<'_>, rows: Vec<DocumentRow<'_>>) -> PyResult<String> {
        let documents = documents(rows, unnamed)?;
        self.call_on_pool(py, documents.len(), |collection| {
            answers(collection.check(documents)?)
        })
    }

    /// Deletes documents, and returns the numbers of the changes.
    fn delete(&self, py: Python<'_>, ids: Vec<String>, durable: bool) -> PyResult<Vec<Option<u64>>> {
        self.call(py, |collection| collection.delete(&ids, durability(durable)))
    }

    /// The ids of some documents of a source.
    fn ids_of_source(&self, py: Python<'_>, source: &str, limit: usize) -> PyResult<Vec<String>> {
        self.call(py, |collection| collection.ids_of_source(source, limit))
    }

    /// A stored document as JSON.
    fn get(&self, py: Python<'_>, id: &str) -> PyResult<String> {
        self.call(py, |collection| to_json(&collection.get(id)?))
    }

    /// A page of documents as JSON, and the position after it.
    fn documents(&self, py: Python<'_>, after: u64, limit: usize) -> PyResult<(String, Option<u64>)> {
        self.call(py, |collection| {
            let (documents, next) = collection.documents(after, limit)?;
            Ok((to_json(&documents)?, next))
        })
    }

    /// The similar leaders of a document as JSON.
    fn similar(
        &self,
        py: Python<'_>,
        row: DocumentRow<'_>,
        hamming: Option<u32>,
        limit: usize,
    ) -> PyResult<String> {
        let document = documents(vec![row], unnamed)?.into_iter().next();
        self.call_on_pool(py, FEW_DOCUMENTS, |collection| {
            let document = document.ok_or(CollectionError::Closed)?;
            to_json(&collection.similar(document, hamming, limit)?)
        })
    }

    /// Two stored documents compared, as JSON.
    fn explain(&self, py: Python<'_>, a: &str, b: &str) -> PyResult<String> {
        self.call(py, |collection| to_json(&collection.explain(a, b)?))
    }

    /// A page of groups as JSON.
    fn groups(&self, py: Python<'_>, after: u64, min_size: u64, limit: usize) -> PyResult<String> {
        self.call(py, |collection| {
            to_json(&collection.groups(after, min_size, limit)?)
        })
    }

    /// A group with a page of its members as JSON.
    fn group(&self, py: Python<'_>, number: u64, after: u64, limit: usize) -> PyResult<String> {
        self.call(py, |collection| to_json(&collection.group(number, after, limit)?))
    }

    /// A page of stories as JSON. `ended` selects live or ended stories.
    #[expect(clippy::too_many_arguments, reason = "the parameters of the query")]
    fn stories(
        &self,
        py: Python<'_>,
        ended: Option<bool>,
        since: Option<i64>,
        until: Option<i64>,
        min_size: u64,
        after: Option<String>,
        limit: usize,
    ) -> PyResult<String> {
        let query = StoryQuery {
            ended,
            since,
            until,
            min_size,
            after,
            limit,
        };
        self.call(py, |collection| to_json(&collection.stories(&query)?))
    }

    /// A story with a page of its documents as JSON.
    fn story(&self, py: Python<'_>, number: u64, after: u64, limit: usize) -> PyResult<String> {
        self.call(py, |collection| to_json(&collection.story(number, after, limit)?))
    }

    /// A page of changes as JSON.
    fn changes(&self, py: Python<'_>, since: u64, limit: usize) -> PyResult<String> {
        self.call(py, |collection| to_json(&collection.changes(since, limit)?))
    }

    /// The number of the oldest stored change.
    fn first_change(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.call(py, Collection::first_change)
    }

    /// Statistics as JSON, with at most `limit` sources.
    fn stats(&self, py: Python<'_>, limit: usize) -> PyResult<String> {
        self.call(py, |collection| to_json(&collection.stats(None, None, limit)?))
    }

    /// Verifies the open collection, and returns the counts as JSON.
    fn verify(&self, py: Python<'_>) -> PyResult<String> {
        self.check_process()?;
        let verified = pool::run(py, None, |_, _| {
            self.with(|collection| to_json(&collection.verify()?))
        })?;
        verified.map_err(|error| exception(&error))
    }

    /// Copies the collection into a directory, and returns the counts of the verified copy as JSON.
    fn backup(&self, py: Python<'_>, path: PathBuf) -> PyResult<String> {
        self.check_process()?;
        let copied = pool::run(py, None, |_, cancel| {
            let cancelled = || cancel.load(Ordering::Relaxed);
            self.with(|collection| to_json(&collection.backup_unless(&path, &cancelled)?))
        })?;
        copied.map_err(|error| exception(&error))
    }
}

/// Gives a document that is checked an id that no stored document has.
fn unnamed(document: &mut NewDocument) {
    document.id.insert(0, UNNAMED);
}
