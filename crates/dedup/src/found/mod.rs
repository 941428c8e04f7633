//! A search whose result stays in memory: [`find`], and [`Found`], its result.
//!
//! [`dedup`](crate::dedup()) is the same search, but writes its result to a directory at once.

mod records;
mod save;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint_io::progress::Progress;
use twinprint_io::results::Report;
use twinprint_io::source::{SourceOptions, Sources};

use crate::error::DedupError;
use crate::ids::{DocumentId, Id};
use crate::job::{Runner, Search, Searched, in_pool};
use crate::known::{DocumentStores, KnownStore};
use crate::options::DedupOptions;
use crate::read::{RejectedRecord, SpoolPlace};
use crate::report::Shown;
use crate::write::pairs::FoundPair;
use crate::write::{RunInput, Tables};
pub use records::{Fate, FoundDocument, FoundRecord};

/// The size in bytes up to which the texts of a search stay in memory. Beyond it they are in a file.
const SPOOL_IN_MEMORY: usize = 64 << 20;

/// The documents of a search, and their names.
#[derive(Debug)]
pub struct FindInput {
    /// The records: of files, or in memory.
    pub sources: Sources,
    /// The inputs as the user named them, for the report.
    pub inputs: Vec<String>,
}

/// Finds the near-duplicates among the records of `input` and keeps the result in memory.
///
/// [`DedupOptions::against`] may name a store that `stores` opens, but nothing is added to it. Partial copies are not
/// searched. Deterministic, like [`dedup`](crate::dedup()), and with the same result. Texts are held in
/// memory up to 64 MiB and beyond that in a file without a name in [`DedupOptions::work_dir`] or else the directory of
/// temporary files.
///
/// # Errors
/// The errors of [`dedup`](crate::dedup()) before anything is written.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use twinprint_dedup::known::NoStores;
/// use twinprint_dedup::{DedupOptions, Fate, FindInput, find};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::{SourceOptions, Sources};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let lighthouse = "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back.";
/// std::fs::write(dir.path().join("1.txt"), lighthouse)?;
/// std::fs::write(dir.path().join("2.txt"), lighthouse)?;
///
/// let inputs = vec![dir.path().display().to_string()];
/// let sources = Sources::discover(&inputs, &SourceOptions::default(), dir.path())?;
/// let input = FindInput { sources, inputs };
/// let found = find(input, &DedupOptions::new()?, &NoStores, &Silent, &Arc::default())?;
/// let fates: Vec<Fate> = found.records().map(|record| record.fate).collect();
/// assert_eq!(fates, [Fate::Kept, Fate::Removed]);
/// # Ok(())
/// # }
/// ```
pub fn find(
    input: FindInput,
    options: &DedupOptions,
    stores: &dyn DocumentStores,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Found, DedupError> {
    in_pool(options, cancel, |budget| {
        let FindInput { sources, inputs } = input;
        let source_options = sources.options().clone();
        let spool_dir = options.work_dir.clone().unwrap_or_else(std::env::temp_dir);
        let against = KnownStore::open(options, stores)?;
        let mut runner = Runner::new(&source_options, options, budget, progress, cancel);
        let Searched { tables, spool, .. } = runner.find(Search {
            sources: &sources,
            against: against.as_ref(),
            append: None,
            spool: SpoolPlace::Unnamed {
                dir: &spool_dir,
                in_memory: SPOOL_IN_MEMORY,
            },
            dir: None,
        })?;
        let input = RunInput {
            inputs: &inputs,
            sources: &sources,
            source_options: &source_options,
            options,
        };
        let shown = runner.shown(&tables.finished(input), spool.as_ref())?;
        Ok(Found {
            tables,
            shown,
            sources,
            inputs,
            source_options,
            options: options.clone(),
        })
    })
}

/// The result of [`find`].
pub struct Found {
    tables: Tables,
    shown: Shown,
    sources: Sources,
    inputs: Vec<String>,
    source_options: SourceOptions,
    options: DedupOptions,
}

impl Found {
    /// The report of the search.
    pub fn report(&self) -> &Report {
        self.shown.report()
    }

    /// The report as a page of HTML, which needs no other file.
    pub fn html(&self) -> String {
        self.shown.html()
    }

    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        self.shown.markdown()
    }

    /// The pairs that [`DedupOptions::pairs`] asked for, by the numbers of their documents; empty if it asked for none.
    pub fn pairs(&self) -> &[FoundPair] {
        self.tables.pairs.pairs.as_deref().unwrap_or_default()
    }

    /// The rejected records, in input order.
    pub fn rejected(&self) -> &[RejectedRecord] {
        &self.tables.rejected
    }

    /// The name of a document by its number, as in the files of results.
    ///
    /// # Panics
    /// If there is no document with this number.
    pub fn id(&self, document: u32) -> String {
        let names = self.tables.names(&self.sources);
        names.id(DocumentId::new(document)).into_owned()
    }

    fn input(&self) -> RunInput<'_> {
        RunInput {
            inputs: &self.inputs,
            sources: &self.sources,
            source_options: &self.source_options,
            options: &self.options,
        }
    }
}

impl std::fmt::Debug for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let report = self.report();
        f.debug_struct("Found")
            .field("inputs", &self.inputs)
            .field("kept", &report.records.kept)
            .field("removed", &report.records.removed)
            .finish_non_exhaustive()
    }
}
