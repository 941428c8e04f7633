//! Texts that are known from before: a collection, or an index of fingerprints, is asked about every text of a run before the texts are
//! compared with one another. What is known is removed, and takes no part in the grouping.
//!
//! Answers do not depend on the run's threshold; [`KnownClasses::at_least`] applies it.
//! A collection answers by its own radius and verifies on its texts; an index has no texts, so there a fingerprint within the radius decides.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use rayon::prelude::*;
use twinprint_fingerprint::Width;
use twinprint_index::segment::Scratch;
use twinprint_index::store;

use twinprint_collection::{Answer, Best, Collection, Content, Details, NewDocument, Store, Verdict};
use crate::corpus::{Classes, Corpus};
use crate::error::DedupError;
use twinprint_io::profile_label::ProfileLabel;
use crate::options::{Auto, DedupOptions};
use twinprint_io::progress::Progress;
use twinprint_io::rows::Names;
use twinprint_io::work::BlockBuffer;
use twinprint_io::work::Spool;

/// The radius in an index unless one is given: the paper's.
const RADIUS: u32 = 3;
/// Texts asked about at a time.
const AT_A_TIME: usize = 512;
/// The id under which a collection is asked; no document has it.
const ASKED: &str = "\u{0}asked by dedup";

/// What a text duplicates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    /// The id of the document that is known.
    pub(crate) id: String,
    /// Bits in which the fingerprints differ.
    pub(crate) hamming: u32,
    /// Exact, where it was verified.
    pub(crate) jaccard: Option<f64>,
    /// True if the collection holds the same text now; always false for stored answers.
    pub(crate) equal: bool,
}

/// The answers for all classes of a run, in order: one entry each, or no entries if nothing was asked.
#[derive(Debug, Default)]
pub(crate) struct KnownClasses(Vec<Option<Box<Known>>>);

impl Known {
    pub(crate) fn of(best: Best) -> Self {
        Self {
            id: best.id,
            hamming: best.hamming,
            jaccard: best.jaccard,
            equal: false,
        }
    }
}

impl KnownClasses {
    /// Answers for `classes` classes, of which `known` are given.
    pub(crate) fn of_some(classes: u32, known: impl Iterator<Item = (u32, Known)>) -> Self {
        let mut all: Vec<Option<Box<Known>>> = vec![None; classes as usize];
        for (class, known) in known {
            if let Some(place) = all.get_mut(class as usize) {
                *place = Some(Box::new(known));
            }
        }
        Self(all)
    }

    /// The classes that are known.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Known)> {
        let all = (0u32..).zip(&self.0);
        all.filter_map(|(class, known)| Some((class, known.as_deref()?)))
    }

    /// Takes a class for one that nothing is known of.
    pub(crate) fn forget(&mut self, class: u32) {
        if let Some(known) = self.0.get_mut(class as usize) {
            *known = None;
        }
    }

    /// Without those whose Jaccard is below a threshold.
    pub(crate) fn at_least(mut self, threshold: f64) -> Self {
        for known in &mut self.0 {
            known.take_if(|known| known.jaccard.is_some_and(|jaccard| jaccard < threshold));
        }
        self
    }

    /// Whether nothing was asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of known classes.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().flatten().count() as u64
    }

    /// What a class duplicates.
    pub(crate) fn of(&self, class: u32) -> Option<&Known> {
        self.0.get(class as usize)?.as_deref()
    }

    /// Whether all that is known was verified.
    #[cfg(feature = "tables")]
    pub(crate) fn verified(&self) -> bool {
        self.0.iter().flatten().all(|known| known.jaccard.is_some())
    }
}

/// An input whose texts are asked about.
pub(crate) struct AskedInput<'a> {
    pub(crate) digest: u128,
    pub(crate) corpus: &'a Corpus,
    pub(crate) names: Names<'a>,
}

/// Something that knows texts. It holds the lock of a collection: no other process may write to that, and with `--append` none may open it.
pub(crate) enum Against {
    Collection(Box<Collection>),
    Narrow(store::Snapshot<u64>, u32),
    Wide(store::Snapshot<u128>, u32),
}

impl Against {
    /// Opens what `--against` names, and refuses what does not go with the run.
    pub(crate) fn open(path: &Path, options: &DedupOptions) -> Result<Self, DedupError> {
        let refuse = |message: String| DedupError::Against {
            path: path.to_owned(),
            message,
        };
        if path.is_file() {
            return Err(refuse(
                "it is a file; name the directory of a collection or an index".to_owned(),
            ));
        }
        if Collection::is_at(path) {
            if !options.verify {
                return Err(refuse(
                    "a collection is asked with texts; leave out --no-verify".to_owned(),
                ));
            }
            let open = if options.append {
                Collection::open
            } else {
                Collection::open_read_only
            };
            let collection = open(path).map_err(|error| refuse(error.to_string()))?;
            if let (true, Some(error)) = (options.append, collection.refusal()) {
                return Err(refuse(error.to_string()));
            }
            let least = collection.settings().threshold;
            if collection.settings().store != Store::None && options.threshold < least {
                return Err(refuse(format!(
                    "the collection verifies at a Jaccard of {least}, so it cannot tell what lies between that and --threshold {}; take {least} or more",
                    options.threshold
                )));
            }
            return Ok(Self::Collection(Box::new(collection)));
        }
        let failed = |error: store::StoreError| refuse(error.to_string());
        let none = |error: store::StoreError| match error {
            store::StoreError::NotAnIndex { .. } => refuse(
                "there is neither a collection (twinprint collection create) nor an index (twinprint index \
                 build)"
                    .to_owned(),
            ),
            error => failed(error),
        };
        let bits = store::width_of(path).map_err(none)?;
        if bits > options.width_made() {
            return Err(refuse(format!(
                "it holds fingerprints of {bits} bits, and this run makes them of {}; leave out --bits",
                options.width_made()
            )));
        }
        let k = match options.hamming {
            Auto::Auto => RADIUS,
            Auto::Fixed(k) => k,
        };
        let profile = ProfileLabel::of_profile(&options.profile_at(bits)?);
        let same = |label: &str| match ProfileLabel::read(label) {
            Some(theirs) if theirs.check_same(&profile).is_err() => Err(refuse(format!(
                "its fingerprints are of profile {theirs}, those of this run of {profile}; take --profile {}",
                theirs.id()
            ))),
            _ => Ok(()),
        };
        Ok(if bits == u64::BITS {
            let index = store::read::<u64>(path).map_err(failed)?;
            same(&index.settings.label)?;
            Self::Narrow(index.snapshot, k)
        } else {
            let index = store::read::<u128>(path).map_err(failed)?;
            same(&index.settings.label)?;
            Self::Wide(index.snapshot, k)
        })
    }

    /// Asks about the classes `asked`, and answers in their order. `progress` counts them.
    pub(crate) fn ask(
        &self,
        path: &Path,
        (classes, spool): (&Classes, Option<&Spool>),
        asked: &[u32],
        progress: &dyn Progress,
        go_on: &dyn Fn() -> Result<(), DedupError>,
    ) -> Result<KnownClasses, DedupError> {
        let asking = Asking {
            path: path.to_owned(),
            classes,
            too_long: AtomicU64::new(0),
        };
        let mut known = Vec::with_capacity(asked.len());
        for some in asked.chunks(AT_A_TIME) {
            go_on()?;
            match self {
                Self::Collection(collection) => {
                    // Whoever verifies has texts.
                    let Some(spool) = spool else { continue };
                    known.extend(asking.collection(collection, spool, some)?);
                }
                Self::Narrow(index, k) => known.extend(asking.index(index, *k, some)?),
                Self::Wide(index, k) => known.extend(asking.index(index, *k, some)?),
            }
            progress.advance(some.len() as u64);
        }
        let too_long = asking.too_long.into_inner();
        if too_long > 0 {
            progress.warn(&format!(
                "--against: {too_long} texts are longer than a collection takes and were not looked for there"
            ));
        }
        Ok(KnownClasses(known))
    }
}

struct Asking<'c> {
    path: PathBuf,
    classes: &'c Classes,
    /// Texts that a collection does not take.
    too_long: AtomicU64,
}

impl Asking<'_> {
    fn failed(&self, error: &dyn std::fmt::Display) -> DedupError {
        DedupError::Against {
            path: self.path.clone(),
            message: error.to_string(),
        }
    }

    /// Texts stand in the spool in the order of classes.
    fn collection(
        &self,
        collection: &Collection,
        spool: &Spool,
        classes: &[u32],
    ) -> Result<Vec<Option<Box<Known>>>, DedupError> {
        use twinprint_collection::CollectionError;

        let mut buffer = BlockBuffer::default();
        // A text without features duplicates nothing.
        let asked = |class: &&u32| !self.classes.is_empty_text(**class);
        let texts: Vec<NewDocument> = classes
            .iter()
            .filter(asked)
            .map(|&class| {
                let text = spool.text(self.classes.text[class as usize], &mut buffer)?;
                Ok(NewDocument {
                    id: ASKED.to_owned(),
                    content: Content::Text(text.to_owned()),
                    details: Details::default(),
                    ttl: None,
                })
            })
            .collect::<Result<_, DedupError>>()?;
        let answers = collection.check(texts).map_err(|error| self.failed(&error))?;
        let known = |answer: Result<Answer, CollectionError>| match answer {
            Ok(answer) => {
                let equal = answer.verdict == Verdict::Exact;
                let known = |best| Known {
                    equal,
                    ..Known::of(best)
                };
                Ok(answer.best.map(|best| Box::new(known(best))))
            }
            // By the collection's profile it has no features.
            Err(CollectionError::EmptyText) => Ok(None),
            Err(CollectionError::Limit { .. }) => {
                self.too_long.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
            Err(error) => Err(self.failed(&error)),
        };
        let mut answers = answers.into_iter().map(known);
        let mut next = |class: &u32| {
            if asked(&class) {
                answers.next().unwrap_or(Ok(None))
            } else {
                Ok(None)
            }
        };
        classes.iter().map(&mut next).collect()
    }

    fn index<W: Width>(
        &self,
        index: &store::Snapshot<W>,
        k: u32,
        classes: &[u32],
    ) -> Result<Vec<Option<Box<Known>>>, DedupError> {
        let nearest = |scratch: &mut Scratch<W>, &class: &u32| {
            if self.classes.is_empty_text(class) {
                return Ok(None);
            }
            let query = W::truncate(self.classes.fingerprint[class as usize]);
            let mut nearest: Option<(u32, u64)> = None;
            index
                .lookup(query, k, scratch, |id, _, distance| {
                    nearest = Some(nearest.map_or((distance, id), |found| found.min((distance, id))));
                })
                .map_err(|error| self.failed(&error))?;
            Ok(nearest.map(|(hamming, id)| {
                Box::new(Known {
                    id: id.to_string(),
                    hamming,
                    jaccard: None,
                    equal: false,
                })
            }))
        };
        classes.par_iter().map_init(Scratch::default, nearest).collect()
    }
}
