//! Stores of documents that a run compares with and may add to.
//!
//! This crate uses stores through these traits only, so that it does not depend on one. The facade `twinprint` implements them for
//! collections.

use std::path::Path;

use twinprint_io::progress::Progress;
use twinprint_io::runs::{AddedRecord, Appended, DigestKey, EndedRun, KnownDocument, PastRun};
use twinprint_io::source::Sources;

use crate::DedupError;

/// An error of a store, with its own message.
pub type StoreFailure = Box<dyn std::error::Error + Send + Sync>;

/// Opens the store of documents at a path.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
/// use twinprint_dedup::known::{Access, DocumentStore, DocumentStores, NoStores, StoreFailure};
/// use twinprint_dedup::{DedupJob, DedupOptions, dedup_with_stores};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::SourceOptions;
///
/// /// Stores that runs may compare with, but not add to.
/// struct ReadOnly<S>(S);
///
/// impl<S: DocumentStores> DocumentStores for ReadOnly<S> {
///     fn open(&self, path: &Path, access: Access) -> Result<Option<Box<dyn DocumentStore>>, StoreFailure> {
///         match access {
///             Access::Read => self.0.open(path, access),
///             Access::Append => Err("the store is read-only".into()),
///         }
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let job = DedupJob {
///     inputs: &[dir.path().display().to_string()],
///     source: &SourceOptions::default(),
///     options: &DedupOptions {
///         against: Some(dir.path().join("articles")),
///         append: true,
///         ..DedupOptions::new()?
///     },
///     out: &dir.path().join("out"),
/// };
/// let refused = dedup_with_stores(&job, &ReadOnly(NoStores), &Silent, &Arc::default());
/// assert!(refused.unwrap_err().to_string().contains("the store is read-only"));
/// # Ok(())
/// # }
/// ```
pub trait DocumentStores: Sync {
    /// Opens the store at `path`; `None` if there is none.
    ///
    /// # Errors
    /// The store cannot be opened with `access`.
    fn open(&self, path: &Path, access: Access) -> Result<Option<Box<dyn DocumentStore>>, StoreFailure>;
}

/// The access of a run to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Texts are checked and nothing changes. Other runs may read at the same time.
    Read,
    /// Kept documents are added. No other process may open the store.
    Append,
}

/// No stores: every path is regarded as an index of fingerprints.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStores;

impl DocumentStores for NoStores {
    fn open(&self, _: &Path, _: Access) -> Result<Option<Box<dyn DocumentStore>>, StoreFailure> {
        Ok(None)
    }
}

/// The answer of a store about one text.
#[derive(Clone, Debug, PartialEq)]
pub enum TextAnswer {
    /// The store has no duplicate of it.
    New,
    /// It duplicates a document of the store.
    Known {
        /// That document.
        document: KnownDocument,
        /// True if the texts are equal.
        equal: bool,
    },
    /// The text is longer than the store accepts.
    TooLong,
}

/// A document that a run may keep, offered to the store that the run adds to.
#[derive(Clone, Copy, Debug)]
pub struct OfferedDocument<'a> {
    /// Its own id; `None` if it is named by file and line.
    pub id: Option<&'a str>,
    /// Its text.
    pub text: &'a str,
    /// True if the run removes documents without features, so that the store need not accept them.
    pub only_with_features: bool,
}

/// The part of a document that a store does not accept, with the store's reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// Its id.
    Id(String),
    /// Its text.
    Text(String),
    /// A text without features.
    NoFeatures(String),
}

/// The records that a run adds to a store.
#[derive(Clone, Copy)]
pub struct KeptRecords<'a> {
    /// The inputs, which are read once more.
    pub sources: &'a Sources,
    /// True for the numbers of records to add.
    pub is_wanted: &'a dyn Fn(u64) -> bool,
    /// Records that earlier runs of this input added.
    pub earlier: &'a [AddedRecord],
}

/// The outcome of [`DocumentStore::add`].
#[derive(Clone, Debug, Default)]
pub struct AddedRecords {
    /// Records read.
    pub read: u64,
    /// Records that are documents of the store now.
    pub added: Vec<AddedRecord>,
    /// Counts of them.
    pub counts: Appended,
}

/// A store of documents: checks texts, and takes what a run keeps.
pub trait DocumentStore: Sync {
    /// The least Jaccard at which the store verifies; `None` if it does not verify.
    fn least_threshold(&self) -> Option<f64>;

    /// Looks up duplicates of `texts`. The answers are in the order of the texts.
    ///
    /// # Errors
    /// Damage.
    fn check(&self, texts: Vec<String>) -> Result<Vec<TextAnswer>, StoreFailure>;

    /// An identifier of the store.
    fn identity(&self) -> u128;

    /// The key for digests of inputs.
    fn digest_key(&self) -> DigestKey;

    /// True if the run `name` over the input of this digest has ended.
    ///
    /// # Errors
    /// Damage.
    fn has_run(&self, digest: u128, name: u128) -> Result<bool, StoreFailure>;

    /// The record of the runs of the input of this digest.
    ///
    /// # Errors
    /// Damage.
    fn past_run(&self, digest: u128) -> Result<Option<PastRun>, StoreFailure>;

    /// The reason why the store would not take a document; `None` if it would.
    fn objection(&self, document: &OfferedDocument<'_>) -> Option<Objection>;

    /// True if the store has documents of both ids and their texts are equal.
    fn have_same_text(&self, a: &str, b: &str) -> bool;

    /// Adds records. They become durable with [`record_run`](Self::record_run), and go if it is never called.
    ///
    /// # Errors
    /// Inputs that cannot be read again; a store that refuses a document.
    fn add(&self, records: KeptRecords<'_>, progress: &dyn Progress) -> Result<AddedRecords, DedupError>;

    /// Makes the added records and the record of the run durable, in one step.
    ///
    /// # Errors
    /// A store that cannot be written. Then all of it is durable, or nothing.
    fn record_run(&self, run: EndedRun) -> Result<(), StoreFailure>;

    /// The time now, in Unix seconds, by the store's clock.
    fn now(&self) -> i64;

    /// A Unix time in seconds, as people read it.
    fn format_time(&self, seconds: i64) -> Option<String>;
}
