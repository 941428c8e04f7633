//! `--append`: a run adds what it keeps to the collection that it is compared with.
//!
//! The run has two results, an output directory and a change of the collection, and a kill can come at any moment. Both belong together
//! through four rules:
//!
//! 1. The run opens the collection first and holds its lock until it ends. No other process asks or adds in between, so of two runs at
//!    once the second is refused before it writes anything.
//! 2. The output directory is marked before anything else is written to it. The marker names the run and the collection
//!    ([`Claim`](crate::sink::Claim)).
//! 3. The documents and the record of the run enter the collection in one transaction, after the output is whole and durable. That
//!    commit is the moment at which the run has ended.
//! 4. The collection remembers the run by a digest of its input: the answers it gave and what the run added
//!    ([`runs`](crate::collection::runs)).
//!
//! What a kill leaves, and what the same command does with it:
//!
//! | killed | output directory | collection | the same command again |
//! |---|---|---|---|
//! | before the directory is marked | missing or empty | as before | runs from the start |
//! | while the output is written, or documents are held in memory | marked, in part | as before | deletes it and runs from the start |
//! | after the output is declared whole | marked, whole | as before | asks the collection, deletes it and runs from the start |
//! | after the commit | marked, whole | has the run | asks the collection, reads the input to see that it is the same, and removes the mark |
//! | after the mark is removed | finished | has the run | refuses the directory, or replaces the result (`--overwrite`), as every finished one |
//!
//! So the result is that of one run, whenever the kill came. Some decisions that follow:
//!
//! * **What is the same run.** A run is known by its input: the ids and texts of its documents, in order, whatever the files are called and
//!   however they are packed. Options are not part of that. The first run of an input asks the collection. Every later run of the same input,
//!   into whatever directory and however many other runs came in between, is given the answers that the first one was given. Its output is
//!   that of the first run under its own options.
//! * **What it adds.** A later run of the same input adds what it keeps and no run of this input has added. What the first run added
//!   and somebody deleted or replaced since stays as it is.
//! * **Documents that are there already.** A document that an earlier run of the same input added is recognised by its record number, and one
//!   that its own id names by that id and its text. It is the document in the collection and no duplicate of it: it stands for all records of equal
//!   text, and is not added again.
//! * **Other inputs.** An input that differs in one document is another run. What other runs added is known to it: the same text under
//!   another id, or without an id of its own, is removed.
//! * **The input changed after a kill.** Before the commit nothing is lost, since the collection has nothing of the killed run. After the
//!   commit the killed run's output is whole; a run of another input, or with other options, removes the mark, and treats the
//!   directory as one with a finished result.
//! * **The output directory is gone.** A run of the same input makes it again.
//! * **A directory with an open question** (declared whole, and still marked) is not replaced by a run that cannot ask: one without
//!   `--append`, or with another collection.
//! * **Documents with the id of another kept document of the same input.** The collection has one document an id, so the second one gets a
//!   hash of its text behind its id. All that is kept is in the collection.

mod command;
mod documents;

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::against::{Against, Known, KnownClasses};
use crate::collection::runs::{Added, PastRun, RunEntry, Told};
use crate::collection::{Best, Collection, CollectionError};
use crate::corpus::Corpus;
use crate::error::DedupError;
use crate::input_digest::DigestKey;
use crate::keep::KeepOrder;
use crate::options::DedupOptions;
use crate::progress::Progress;
use crate::rows::Names;
use crate::sink::{Begun, Claim, Existing, OpenClaim, OutputDir};
use crate::source::SourceOptions;
use crate::stream::time;

/// What a run added to a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// Documents added.
    pub added: u64,
    /// Documents kept that the collection had already: added by an earlier run of the same input, or with the same id and text.
    pub earlier: u64,
    /// Of the documents added, those whose id another text had, which they replace.
    pub replaced: u64,
    /// Documents kept that the collection does not take.
    pub refused: u64,
}

/// A run that adds what it keeps to a collection.
pub(crate) struct Append {
    collection: Collection,
    /// The collection's directory, as it was given.
    path: PathBuf,
    claim: Claim,
    /// What the runs of this input left, if there were any.
    past: Option<PastRun>,
    /// What the collection answers, if this is the first run.
    told: Vec<Told>,
    /// Documents of the input that the collection has.
    added: Vec<Added>,
}

/// An input about which a collection is asked.
pub(crate) struct AskedInput<'a> {
    pub(crate) digest: u128,
    pub(crate) corpus: &'a Corpus,
    pub(crate) names: Names<'a>,
}

impl Append {
    /// A run that holds `against`.
    pub(crate) fn new(
        against: &Against,
        path: &Path,
        inputs: &[String],
        source: &SourceOptions,
        options: &DedupOptions,
    ) -> Result<Self, DedupError> {
        let Against::Collection(collection) = against else {
            return Err(DedupError::Option(
                "--append: --against names an index, which has no texts; add fingerprints with `twinprint index add`"
                    .to_owned(),
            ));
        };
        let claim = Claim {
            run: random(),
            store: collection.identity(),
            command: command::hash(inputs, source, options),
            place: path.display().to_string(),
        };
        Ok(Self {
            collection: Collection::clone(collection),
            path: path.to_owned(),
            claim,
            past: None,
            told: Vec::new(),
            added: Vec::new(),
        })
    }

    fn failed(&self, error: &CollectionError) -> DedupError {
        DedupError::Against {
            path: self.path.clone(),
            message: error.to_string(),
        }
    }

    /// Begins the output directory and marks it as that of this run.
    pub(crate) fn begin(&self, out: &Path, existing: Existing) -> Result<Begun, DedupError> {
        let begun = OutputDir::begin_or_resume(out, existing, |open| self.has_ended(out, open))?;
        if let Begun::New(dir) = &begun {
            dir.claim(&self.claim)?;
        }
        Ok(begun)
    }

    /// Begins an output directory whose run has ended and is finished.
    pub(crate) fn begin_again(&self, out: &Path, existing: Existing) -> Result<OutputDir, DedupError> {
        let dir = OutputDir::begin(out, existing)?;
        dir.claim(&self.claim)?;
        Ok(dir)
    }

    /// Whether a run that was killed has come to its end.
    fn has_ended(&self, out: &Path, open: &OpenClaim) -> Result<bool, DedupError> {
        if open.claim.store != self.claim.store {
            return Err(open.undecided(out).into());
        }
        let ended = self.collection.has_run(open.digest, open.claim.run);
        ended.map_err(|error| self.failed(&error))
    }

    /// Whether a run that was killed was this one: the same command over the same input.
    pub(crate) fn is_same(&self, open: &OpenClaim, digest: u128) -> bool {
        (open.claim.command, open.digest) == (self.claim.command, digest)
    }

    pub(crate) fn digest_key(&self) -> DigestKey {
        self.collection.digest_key()
    }

    /// What the collection knows of the texts of an input: as the first run of this input was told, or else as `ask` says now.
    /// Documents that the collection has already are let stand for their classes.
    pub(crate) fn known(
        &mut self,
        input: &AskedInput<'_>,
        keep: &mut KeepOrder,
        progress: &dyn Progress,
        ask: impl FnOnce() -> Result<KnownClasses, DedupError>,
    ) -> Result<KnownClasses, DedupError> {
        let corpus = input.corpus;
        let past = self.collection.past_run(input.digest);
        self.past = past.map_err(|error| self.failed(&error))?;
        let first = first_records(corpus);
        let Some(past) = &self.past else {
            let mut known = ask()?;
            self.recognise(input, &mut known, keep);
            let told = known
                .iter()
                .map(|(class, known)| told(first[class as usize], known));
            self.told = told.collect();
            return Ok(known);
        };
        progress.warn(&format!(
            "{}: a run of this input has ended before{}; its answers from the collection are used again",
            self.path.display(),
            time::stamp(past.first).map_or_else(String::new, |at| format!(" ({at})")),
        ));
        let before = self.added_before();
        for (document, record) in (0u32..).zip(corpus.documents.record_ordinals()) {
            if before.contains(&record) {
                keep.let_stand(document, &corpus.documents);
            }
        }
        let class_of: FxHashMap<u64, u32> = first.into_iter().zip(0..).collect();
        let known = past.told.iter().filter_map(|told| {
            let class = *class_of.get(&told.record)?;
            Some((class, Known::of(told.best.clone())))
        });
        Ok(KnownClasses::of_some(corpus.classes.len(), known))
    }

    /// Finds the documents that are in the collection themselves, with the same id and the same text: they are not known from before, and
    /// each stands for its class. Of several with one text it is the first.
    fn recognise(&mut self, input: &AskedInput<'_>, known: &mut KnownClasses, keep: &mut KeepOrder) {
        let documents = &input.corpus.documents;
        for (document, record) in (0u32..).zip(documents.record_ordinals()) {
            let class = documents.class[document as usize];
            let Some(equal) = known.of(class).filter(|known| known.equal) else {
                continue;
            };
            if !input.names.is_own_id(document) {
                continue;
            }
            let id = input.names.id(document);
            if let Some(number) = self.collection.number_of_same_text(&id, &equal.id) {
                self.added.push(Added { record, number });
                keep.let_stand(document, documents);
                known.forget(class);
            }
        }
    }

    /// Commits the run: the output is durable before, and the directory is finished after.
    pub(crate) fn conclude(self, digest: u128, dir: &OutputDir) -> Result<(), DedupError> {
        dir.declare_whole(digest)?;
        let entry = RunEntry {
            name: self.claim.run,
            digest,
            told: self.told,
            added: self.added,
            ended: self.collection.now(),
        };
        let concluded = self.collection.conclude(entry);
        concluded.map_err(|error| DedupError::Against {
            path: self.path.clone(),
            message: format!(
                "{error}; {} is whole, and the same command, run again, finds out whether the collection has the run",
                dir.path().display()
            ),
        })?;
        Ok(dir.finish()?)
    }

    /// Numbers of the records that the collection had before: those that runs of this input have added, and those recognised.
    fn added_before(&self) -> FxHashSet<u64> {
        let past = self.past.iter().flat_map(|past| &past.added);
        past.chain(&self.added).map(|added| added.record).collect()
    }
}

/// The number of the first record of each class. Unlike the numbers of classes and documents it does not depend on options.
fn first_records(corpus: &Corpus) -> Vec<u64> {
    let mut first = vec![u64::MAX; corpus.classes.len() as usize];
    let records = corpus.documents.record_ordinals();
    for (&class, record) in corpus.documents.class.iter().zip(records) {
        let first = &mut first[class as usize];
        *first = record.min(*first);
    }
    first
}

fn told(record: u64, known: &Known) -> Told {
    Told {
        record,
        best: Best {
            doc_id: known.id.clone(),
            hamming: known.hamming,
            jaccard: known.jaccard,
            containment: None,
        },
    }
}

/// A number that no other run has.
fn random() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    let word = |n: u64| u128::from(RandomState::new().hash_one(n));
    word(0) << 64 | word(1)
}
