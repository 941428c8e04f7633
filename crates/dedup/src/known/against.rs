//! The index or the store that a run is compared with.
//!
//! A store answers by its own radius and verifies on its texts. An index has no texts, so there a fingerprint within the radius decides.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use twinprint_fingerprint::Width;
use twinprint_index::segment::Scratch;
use twinprint_index::store;
use twinprint_io::ProfileLabel;
use twinprint_io::progress::Progress;
use twinprint_io::runs::KnownDocument;
use twinprint_io::work::{BlockBuffer, Spool};

use super::{Access, DocumentStore, DocumentStores, Known, KnownClasses, TextAnswer};
use crate::corpus::Classes;
use crate::error::{AgainstProblem, DedupError};
use crate::options::{Auto, DedupOptions};

/// The radius in an index unless one is given: the paper's.
const RADIUS: u32 = 3;
/// Texts asked about at a time.
const TEXTS_PER_BATCH: usize = 512;

/// An index or a store. A store holds its lock: no other process may write to it, and with [`Access::Append`] none may open it.
pub(crate) enum Against {
    /// A store of documents.
    Store(Box<dyn DocumentStore>),
    /// An index of 64-bit fingerprints, and the radius asked for.
    Narrow(store::Snapshot<u64>, u32),
    /// An index of 128-bit fingerprints, and the radius asked for.
    Wide(store::Snapshot<u128>, u32),
}

impl Against {
    /// Opens the index or the store at `path`, and refuses one that does not go with the run.
    pub(crate) fn open(
        path: &Path,
        options: &DedupOptions,
        stores: &dyn DocumentStores,
    ) -> Result<Self, DedupError> {
        let refuse = |problem| DedupError::Against {
            path: path.to_owned(),
            problem,
        };
        if path.is_file() {
            return Err(refuse(AgainstProblem::IsFile));
        }
        let access = if options.append {
            Access::Append
        } else {
            Access::Read
        };
        let store = stores.open(path, access);
        if let Some(store) = store.map_err(|error| refuse(AgainstProblem::Failed(error.to_string())))? {
            if !options.verify {
                return Err(refuse(AgainstProblem::NeedsTexts));
            }
            return match store.least_threshold() {
                Some(least) if options.threshold < least => Err(refuse(AgainstProblem::Threshold {
                    least,
                    given: options.threshold,
                })),
                _ => Ok(Self::Store(store)),
            };
        }
        let failed = |error: store::StoreError| refuse(AgainstProblem::Failed(error.to_string()));
        let bits = store::width_of(path).map_err(|error| match error {
            store::StoreError::NotAnIndex { .. } => refuse(AgainstProblem::Nothing),
            error => failed(error),
        })?;
        if bits > options.width_made() {
            return Err(refuse(AgainstProblem::Width {
                stored: bits,
                made: options.width_made(),
            }));
        }
        let k = match options.hamming {
            Auto::Auto => RADIUS,
            Auto::Fixed(k) => k,
        };
        let profile = ProfileLabel::of_profile(&options.profile_at(bits)?);
        let same = |label: &str| match ProfileLabel::read(label) {
            Some(stored) if stored.check_same(&profile).is_err() => Err(refuse(AgainstProblem::Profile {
                stored: Box::new(stored),
                made: Box::new(profile.clone()),
            })),
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
        check_cancelled: &dyn Fn() -> Result<(), DedupError>,
    ) -> Result<KnownClasses, DedupError> {
        let asking = Asking {
            path: path.to_owned(),
            classes,
            too_long: AtomicU64::new(0),
        };
        let mut known = Vec::with_capacity(asked.len());
        for some in asked.chunks(TEXTS_PER_BATCH) {
            check_cancelled()?;
            match self {
                Self::Store(store) => {
                    // A run that verifies has texts.
                    let Some(spool) = spool else { continue };
                    known.extend(asking.store(&**store, spool, some)?);
                }
                Self::Narrow(index, k) => known.extend(asking.index(index, *k, some)?),
                Self::Wide(index, k) => known.extend(asking.index(index, *k, some)?),
            }
            progress.advance(some.len() as u64);
        }
        let too_long = asking.too_long.into_inner();
        if too_long > 0 {
            progress.warn(&format!(
                "{}: {too_long} texts are longer than it takes and were not looked up",
                path.display()
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
            problem: AgainstProblem::Failed(error.to_string()),
        }
    }

    /// Texts stand in the spool in the order of classes.
    fn store(
        &self,
        store: &dyn DocumentStore,
        spool: &Spool,
        classes: &[u32],
    ) -> Result<Vec<Option<Box<Known>>>, DedupError> {
        let mut buffer = BlockBuffer::default();
        // A text without features duplicates nothing.
        let is_asked = |class: &u32| !self.classes.is_empty_text(*class);
        let asked = classes.iter().filter(|class| is_asked(class));
        let texts = asked.map(|&class| {
            let text = spool.text(self.classes.text[class as usize], &mut buffer)?;
            Ok(text.to_owned())
        });
        let texts: Vec<String> = texts.collect::<Result<_, DedupError>>()?;
        let answers = store.check(texts).map_err(|error| self.failed(&error))?;
        let known = |answer| match answer {
            TextAnswer::Known { document, equal } => {
                let KnownDocument { id, hamming, jaccard } = document;
                Some(Box::new(Known {
                    id,
                    hamming,
                    jaccard,
                    equal,
                }))
            }
            TextAnswer::New => None,
            TextAnswer::TooLong => {
                self.too_long.fetch_add(1, Ordering::Relaxed);
                None
            }
        };
        let mut answers = answers.into_iter();
        let next = |class: &u32| {
            if is_asked(class) {
                answers.next().and_then(known)
            } else {
                None
            }
        };
        Ok(classes.iter().map(next).collect())
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
