//! A run with [`DedupOptions::append`](crate::DedupOptions::append) adds the documents that it keeps to the store that
//! it is compared with.
//!
//! The run has two results, an output directory and a change of the collection, and it can be killed at any moment.
//! Four rules keep the two consistent:
//!
//! 1. The run opens the collection first and holds its lock until it ends. No other process can query it or add to it
//!    in between, so of two concurrent runs the second is refused before it writes anything.
//! 2. The output directory is marked before anything else is written to it. The marker names the run and the collection
//!    ([`RunClaim`](twinprint_io::sink::RunClaim)).
//! 3. The documents and the record of the run enter the collection in one transaction, after the output is complete and
//!    durable. With that commit the run has ended.
//! 4. The collection stores, by a digest of the input, the answers that it gave and the documents that the run added
//!    ([`EndedRun`]).
//!
//! The state that a kill leaves, and the effect of the same command on it:
//!
//! | killed | output directory | collection | the same command again |
//! |---|---|---|---|
//! | before the directory is marked | missing or empty | as before | runs from the start |
//! | while the output is written, or added documents are pending | marked, incomplete | as before | deletes it and runs from the start |
//! | after the output is declared complete | marked, complete | as before | asks the collection, deletes it and runs from the start |
//! | after the commit | marked, complete | has recorded the run | asks the collection, reads the input to see that it is the same, and removes the marker |
//! | after the marker is removed | finished | has recorded the run | refuses the directory, or replaces the result ([`Existing`]), like any finished result |
//!
//! So the result is that of one complete run, whenever the killed run was interrupted. The consequences in detail:
//!
//! * **The same input.** A run is identified by its input: the ids and texts of its documents, in order, whatever the
//!   files are called and however they are compressed. Options are not part of the identity. The first run over an
//!   input queries the collection. Every later run over the same input, into any directory and after any number of
//!   other runs, gets the answers that the first one got. Its output is that of the first run, with its own options.
//! * **Added documents.** A later run over the same input adds those documents that it keeps and that no run over this
//!   input has added. Documents that an earlier run added and that were deleted or replaced since are not added again.
//! * **Documents that are in the collection.** A document with an id of its own is recognised by its id and text. It is
//!   the document in the collection and not a duplicate of it, so it comes first in keep order and stands for all
//!   records of equal text. Adding it again renews its time to live and nothing else. Two recognised documents that are
//!   near-duplicates are still duplicates of one another.
//! * **Other inputs.** An input that differs in one document is another input. A run over it finds the documents that
//!   runs over other inputs added: the same text under another id, or without an id of its own, is removed.
//! * **The input changed after a kill.** Before the commit nothing is lost, because the collection contains nothing of
//!   the killed run. After the commit the output of the killed run is complete; a run over another input, or with other
//!   options, removes the marker, and treats the directory like one with a finished result.
//! * **The output directory was deleted.** A run over the same input creates it again.
//! * **A directory in an undecided state** (declared complete, and still marked) is not replaced by a run that cannot
//!   ask the collection: one that does not append, or that uses another collection.
//! * **Documents that the collection would not accept** are rejected when they are read, like other unusable records:
//!   those whose id or text is too long, and those without words if the collection refuses such texts
//!   ([`Append::reject_check`]). So it accepts all documents that are kept. If it still refuses one, the run fails and
//!   commits nothing.
//! * **Two kept documents of one input with the same id.** The collection has one document per id, so the second
//!   document is added under its id with a hash of its text appended. So all kept documents are in the collection.

mod command;

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::runs::{AddedRecord, Appended, DigestKey, EndedRun, KnownAnswer, KnownDocument, PastRun};
use twinprint_io::sink::{Existing, OpenClaim, OutputDir, RunClaim, RunStart, changed, unchanged};
use twinprint_io::source::{RejectReason, Setting, SourceOptions, Sources};

use super::{
    Against, AppendInput, DocumentStore, KeptRecords, KnownClasses, KnownDuplicate, Objection, RejectCheck,
};
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::{Corpus, Documents};
use crate::error::{AgainstProblem, DedupError};
use crate::ids::{ClassId, DocumentId, IdVec};
use crate::options::DedupOptions;

/// A run that adds the documents that it keeps to a store.
pub(crate) struct Append<'a> {
    store: &'a dyn DocumentStore,
    /// The store's directory, as it was given.
    path: PathBuf,
    claim: RunClaim,
    /// The collection's record of earlier runs over this input, if any.
    past: Option<PastRun>,
    /// The answers of the collection about the texts; empty unless this is the first run over the input.
    answers: Vec<KnownAnswer>,
    /// The numbers of the records that are documents of the collection; empty unless this is the first run over the
    /// input.
    recognised: Vec<u64>,
    /// The records that this run added, or that the collection already had.
    added: Vec<AddedRecord>,
    counts: Appended,
}

impl<'a> Append<'a> {
    /// Prepares a run that adds documents to the store `against`, which is open and locked.
    pub(crate) fn new(
        against: &'a Against,
        path: &Path,
        inputs: &[String],
        source: &SourceOptions,
        options: &DedupOptions,
    ) -> Result<Self, DedupError> {
        let Against::Store(store) = against else {
            return Err(DedupError::Against {
                path: path.to_owned(),
                problem: AgainstProblem::AppendToIndex,
            });
        };
        let claim = RunClaim {
            run: random(),
            store: store.identity(),
            command: command::hash(inputs, source, options),
            store_path: path.display().to_string(),
        };
        Ok(Self {
            store: &**store,
            path: path.to_owned(),
            claim,
            past: None,
            answers: Vec::new(),
            recognised: Vec::new(),
            added: Vec::new(),
            counts: Appended::default(),
        })
    }

    /// Begins the output directory and marks it with this run.
    pub(crate) fn begin(&self, out: &Path, existing: Existing) -> Result<RunStart, DedupError> {
        let begun = OutputDir::begin_or_resume(out, existing, |open| self.has_ended(out, open))?;
        if let RunStart::New(dir) = &begun {
            dir.claim(&self.claim)?;
        }
        Ok(begun)
    }

    /// Begins the output directory again, after the killed run in it, which had ended, has been finished.
    pub(crate) fn begin_again(&self, out: &Path, existing: Existing) -> Result<OutputDir, DedupError> {
        let dir = OutputDir::begin(out, existing)?;
        dir.claim(&self.claim)?;
        Ok(dir)
    }

    /// True if the killed run that marked the output directory had ended: the store has recorded it.
    fn has_ended(&self, out: &Path, open: &OpenClaim) -> Result<bool, DedupError> {
        if open.claim.store != self.claim.store {
            return Err(open.undecided(out).into());
        }
        let ended = self.store.has_run(open.digest, open.claim.run);
        ended.map_err(|error| DedupError::against_failed(&self.path, &error))
    }

    /// True if the killed run of the claim `open` is the same as this run: it had the same command and the same input.
    pub(crate) fn is_same(&self, open: &OpenClaim, digest: u128) -> bool {
        (open.claim.command, open.digest) == (self.claim.command, digest)
    }

    pub(crate) fn digest_key(&self) -> DigestKey {
        self.store.digest_key()
    }

    /// Returns the check that rejects records at reading if the collection would not accept them.
    pub(crate) fn reject_check(&self) -> Box<RejectCheck<'_>> {
        Box::new(|offered| {
            let objection = self.store.objection(offered)?;
            let (fix, setting) = match objection {
                Objection::Id(_) => (
                    "shorten the id, or name another field for it",
                    Some(Setting::IdField),
                ),
                Objection::Text(_) => ("cut the text into several records", None),
                Objection::NoFeatures(_) => ("have such records removed", Some(Setting::EmptyTexts)),
            };
            let (Objection::Id(why) | Objection::Text(why) | Objection::NoFeatures(why)) = objection;
            Some(RejectReason::NotForCollection { why, fix, setting })
        })
    }

    /// Returns the answers of the collection about the texts of an input: the recorded answers if a run over this input
    /// has ended before, or else those of `look_up`. Documents that are themselves in the collection come first in keep
    /// order.
    pub(crate) fn known(
        &mut self,
        input: &AppendInput<'_>,
        keep: &mut KeepOrder,
        progress: &dyn Progress,
        look_up: impl FnOnce() -> Result<KnownClasses, DedupError>,
    ) -> Result<KnownClasses, DedupError> {
        let corpus = input.corpus;
        let past = self.store.past_run(input.digest);
        self.past = past.map_err(|error| DedupError::against_failed(&self.path, &error))?;
        let first = first_records(corpus);
        let Some(past) = &self.past else {
            let mut known = look_up()?;
            self.recognise(input, &mut known, keep);
            let answers = known.iter().map(|(class, known)| answer(first[class], known));
            self.answers = answers.collect();
            return Ok(known);
        };
        progress.warn(&format!(
            "{}: an earlier run over the same input has ended{}; the collection's answers to that run are used again",
            self.path.display(),
            self.store
                .format_time(past.first_ended)
                .map_or_else(String::new, |at| format!(" ({at})")),
        ));
        let recognised: FxHashSet<u64> = past.recognised.iter().copied().collect();
        let documents = corpus
            .documents
            .document_ids()
            .zip(corpus.documents.record_ordinals());
        let recognised = documents.filter(|(_, record)| recognised.contains(record));
        let recognised: Vec<DocumentId> = recognised.map(|(document, _)| document).collect();
        if !recognised.is_empty() {
            keep.put_first(&recognised, &corpus.documents);
        }
        let class_of: FxHashMap<u64, ClassId> =
            first.entries().map(|(class, &record)| (record, class)).collect();
        let known = past.answers.iter().filter_map(|answer| {
            let class = *class_of.get(&answer.record)?;
            Some((class, KnownDuplicate::new(answer.document.clone(), false)))
        });
        Ok(KnownClasses::of_some(corpus.classes.len(), known))
    }

    /// Finds the documents of the input that are themselves in the collection. For each text it chooses one document:
    /// the document whose id the collection's answer names, or else the first one.
    fn recognise(&mut self, input: &AppendInput<'_>, known: &mut KnownClasses, keep: &mut KeepOrder) {
        let documents = &input.corpus.documents;
        let mut found: FxHashMap<ClassId, (DocumentId, u64)> = FxHashMap::default();
        for (document, record) in documents.document_ids().zip(documents.record_ordinals()) {
            let class = documents.class[document];
            let Some(equal) = known.of(class).filter(|known| known.equal) else {
                continue;
            };
            if !input.names.is_own_id(document) {
                continue;
            }
            let id = input.names.id(document);
            if *id == equal.id || is_renamed(&equal.id, &id) {
                let is_first = found.get(&class).is_none_or(|&(other, _)| {
                    let other = input.names.id(other);
                    *other != equal.id && !is_renamed(&equal.id, &other)
                });
                if is_first {
                    found.insert(class, (document, record));
                }
            } else if self.store.have_same_text(&id, &equal.id) {
                found.entry(class).or_insert((document, record));
            }
        }
        let mut found: Vec<(ClassId, (DocumentId, u64))> = found.into_iter().collect();
        found.sort_unstable_by_key(|&(_, (document, _))| document);
        for &(class, _) in &found {
            known.remove(class);
        }
        self.recognised = found.iter().map(|&(_, (_, record))| record).collect();
        if !found.is_empty() {
            let first: Vec<DocumentId> = found.iter().map(|&(_, (document, _))| document).collect();
            keep.put_first(&first, documents);
        }
    }

    /// Ends the run: makes the output durable, commits the run to the collection, and finishes the output directory.
    pub(crate) fn conclude(self, digest: u128, dir: &OutputDir) -> Result<(), DedupError> {
        dir.declare_whole(digest)?;
        let entry = EndedRun {
            name: self.claim.run,
            digest,
            answers: self.answers,
            recognised: self.recognised,
            added: self.added,
            counts: self.counts,
            ended: self.store.now(),
        };
        let concluded = self.store.record_run(entry);
        concluded.map_err(|error| {
            let message = format!(
                "{error}; the output in {} is complete; run the same command again: it checks whether the collection \
                 recorded this run, and finishes the output or repeats the run",
                dir.path().display()
            );
            DedupError::against_failed(&self.path, &message)
        })?;
        Ok(dir.finish()?)
    }

    /// Returns the counts of the latest run over the input with this digest; `None` if no run over it has ended.
    pub(crate) fn ended(&self, digest: u128) -> Result<Option<Appended>, DedupError> {
        let past = self.store.past_run(digest);
        let past = past.map_err(|error| DedupError::against_failed(&self.path, &error))?;
        Ok(past.map(|past| past.latest))
    }

    /// Adds every kept document, unless a run over this input has already added it. The documents become durable at the
    /// [end](Append::conclude) of the run.
    ///
    /// # Errors
    /// The input has changed since it was read, or the store cannot be written.
    pub(crate) fn add(
        &mut self,
        sources: &Sources,
        documents: &Documents,
        is_kept: &dyn Fn(DocumentId) -> bool,
        progress: &dyn Progress,
    ) -> Result<Appended, DedupError> {
        let earlier: &[AddedRecord] = self.past.as_ref().map_or(&[], |past| &past.added);
        let before: FxHashSet<u64> = earlier.iter().map(|added| added.record).collect();
        let records = documents.records();
        let mut kept = vec![false; records as usize];
        for (document, record) in documents.document_ids().zip(documents.record_ordinals()) {
            if let Some(kept) = kept.get_mut(record as usize) {
                *kept = is_kept(document);
            }
        }
        let is_kept = |record: u64| kept.get(record as usize) == Some(&true);
        progress.stage("append", sources.total_bytes(), Unit::Bytes);
        let wanted = KeptRecords {
            sources,
            is_wanted: &|record| is_kept(record) && !before.contains(&record),
            earlier,
        };
        let mut outcome = self.store.add(wanted, progress)?;
        outcome.counts.earlier += before.iter().filter(|&&record| is_kept(record)).count() as u64;
        for file in sources.list() {
            unchanged(file)?;
        }
        if outcome.read != records
            && let Some(file) = sources.list().first()
        {
            return Err(changed(
                file,
                format!("the inputs had {records} records and now have {}", outcome.read),
            )
            .into());
        }
        self.added.extend(outcome.added);
        self.counts = outcome.counts;
        Ok(outcome.counts)
    }
}

/// True if `renamed` is `id` with the hash of a text appended. Such an id is made if two documents of an input have the
/// same id.
fn is_renamed(renamed: &str, id: &str) -> bool {
    let hash = renamed.strip_prefix(id).and_then(|rest| rest.strip_prefix('#'));
    hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The number of the first record of each class. Record numbers do not depend on the options of the run; the numbers of
/// classes and documents do.
fn first_records(corpus: &Corpus) -> IdVec<ClassId, u64> {
    let mut first = IdVec::filled(u64::MAX, corpus.classes.len());
    let records = corpus.documents.record_ordinals();
    for (&class, record) in corpus.documents.class.iter().zip(records) {
        let first = &mut first[class];
        *first = record.min(*first);
    }
    first
}

fn answer(record: u64, known: &KnownDuplicate) -> KnownAnswer {
    KnownAnswer {
        record,
        document: KnownDocument {
            id: known.id.clone(),
            hamming: known.hamming,
            jaccard: known.jaccard,
        },
    }
}

/// Draws a random number that identifies a run.
fn random() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    let word = |n: u64| u128::from(RandomState::new().hash_one(n));
    word(0) << 64 | word(1)
}
