//! Stores of documents that a run compares with and may add to.
//!
//! This crate uses stores through these traits only, so that it does not depend on one. The facade `twinprint`
//! implements them for collections.

use std::path::Path;

use twinprint_io::progress::Progress;
use twinprint_io::runs::{AddedRecord, Appended, DigestKey, EndedRun, KnownDocument, PastRun};
use twinprint_io::source::Sources;

use crate::DedupError;

/// An error of a store, with its own message.
pub type StoreFailure = Box<dyn std::error::Error + Send + Sync>;

/// Opens stores of documents by their paths.
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
    /// Opens the store at `path`; `None` if no store is there.
    ///
    /// # Errors
    /// The store cannot be opened with `access`.
    fn open(&self, path: &Path, access: Access) -> Result<Option<Box<dyn DocumentStore>>, StoreFailure>;
}

/// The way in which a run uses a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Texts are looked up and nothing changes. Other runs may read at the same time.
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
    /// No document of the store is a duplicate of the text.
    New,
    /// The text is a duplicate of a document of the store.
    Known {
        /// The document that the text duplicates.
        document: KnownDocument,
        /// True if the text and the text of the document are equal.
        equal: bool,
    },
    /// The text is longer than the store accepts.
    TooLong,
}

/// A document that a run may keep, offered to the store that the run adds to.
#[derive(Clone, Copy, Debug)]
pub struct OfferedDocument<'a> {
    /// The id that the record states; `None` if the document is named by file and line.
    pub id: Option<&'a str>,
    /// The text of the document.
    pub text: &'a str,
    /// True if the run removes documents without features, so that the store need not accept such documents.
    pub only_with_features: bool,
}

/// The part of a document that a store does not accept, with the store's reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// The store does not accept the id.
    Id(String),
    /// The store does not accept the text.
    Text(String),
    /// The store does not accept a text without features.
    NoFeatures(String),
}

/// The records that a run adds to a store.
#[derive(Clone, Copy)]
pub struct KeptRecords<'a> {
    /// The inputs of the run, which are read once more for this.
    pub sources: &'a Sources,
    /// Returns true for the number of a record that is to be added.
    pub is_wanted: &'a dyn Fn(u64) -> bool,
    /// The records that earlier runs over the same input added.
    pub earlier: &'a [AddedRecord],
}

/// The outcome of [`DocumentStore::add`].
#[derive(Clone, Debug, Default)]
pub struct AddedRecords {
    /// The number of records read.
    pub read: u64,
    /// The records that are documents of the store now.
    pub added: Vec<AddedRecord>,
    /// The counts of the added records.
    pub counts: Appended,
}

/// A store of documents. A run looks up its texts in the store, and may add the documents that it keeps.
pub trait DocumentStore: Sync {
    /// The lowest Jaccard at which the store verifies duplicates; `None` if it does not verify.
    fn least_threshold(&self) -> Option<f64>;

    /// Looks up duplicates of `texts`, and returns the answers in the order of the texts.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    fn check(&self, texts: Vec<String>) -> Result<Vec<TextAnswer>, StoreFailure>;

    /// A number that identifies the store, so that two stores are not confused.
    fn identity(&self) -> u128;

    /// The key under which the digests of inputs are computed for this store.
    fn digest_key(&self) -> DigestKey;

    /// True if the store records that the run `name` over the input with this digest has ended.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    fn has_run(&self, digest: u128, name: u128) -> Result<bool, StoreFailure>;

    /// The store's record of earlier runs over the input with this digest; `None` if no run over it has
    /// ended.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    fn past_run(&self, digest: u128) -> Result<Option<PastRun>, StoreFailure>;

    /// The reason why the store would refuse a document; `None` if it would accept the document.
    fn objection(&self, document: &OfferedDocument<'_>) -> Option<Objection>;

    /// True if the store has documents with the ids `a` and `b`, and the texts of both are equal.
    fn have_same_text(&self, a: &str, b: &str) -> bool;

    /// Adds documents. [`record_run`](Self::record_run) makes them durable; without that call they are discarded.
    ///
    /// # Errors
    /// The inputs cannot be read again, or the store refuses a document.
    fn add(&self, records: KeptRecords<'_>, progress: &dyn Progress) -> Result<AddedRecords, DedupError>;

    /// Makes the added documents and the record of the run durable, in one transaction.
    ///
    /// # Errors
    /// The store cannot be written. Then either both are durable or neither is.
    fn record_run(&self, run: EndedRun) -> Result<(), StoreFailure>;

    /// The time now, in Unix seconds, by the store's clock.
    fn now(&self) -> i64;

    /// Formats a Unix time in seconds for people; `None` beyond the range of the calendar.
    fn format_time(&self, seconds: i64) -> Option<String>;
}
