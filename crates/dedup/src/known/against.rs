//! The index or the store that a run is compared with.
//!
//! A store has a radius of its own and verifies candidates on its texts. An index has no texts, so every fingerprint
//! within the radius counts as a duplicate.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use twinprint_fingerprint::Width;
use twinprint_index::segment::Scratch;
use twinprint_index::store::{self, Names};
use twinprint_io::ProfileLabel;
use twinprint_io::progress::Progress;
use twinprint_io::runs::KnownDocument;
use twinprint_io::work::{BlockBuffer, Spool};

use super::{Access, DocumentStore, DocumentStores, KnownClasses, KnownDuplicate, TextAnswer};
use crate::corpus::Classes;
use crate::error::{AgainstProblem, DedupError};
use crate::ids::ClassId;
use crate::options::{Auto, DedupOptions};

/// The default radius of lookups in an index, as in Manku, Jain and Das Sarma 2007.
const DEFAULT_RADIUS: u32 = 3;
/// The number of texts that are looked up at a time.
const TEXTS_PER_BATCH: usize = 512;

/// An index or a store that is open. An open store is locked: no other process may write to it, and with
/// [`Access::Append`] no other process may open it.
pub(crate) enum Against {
    /// An open store of documents.
    Store(Box<dyn DocumentStore>),
    /// An index, the names of its ids, and the radius of lookups in it.
    Index(IndexSnapshot, Option<Arc<Names>>, u32),
}

/// The content of an index, by the width of its fingerprints.
pub(crate) enum IndexSnapshot {
    Bits16(store::Snapshot<u16>),
    Bits32(store::Snapshot<u32>),
    Bits64(store::Snapshot<u64>),
    Bits128(store::Snapshot<u128>),
}

/// The texts of a run that are looked up.
#[derive(Clone, Copy)]
pub(crate) struct LookedUpTexts<'t> {
    pub(crate) classes: &'t Classes,
    /// The spool of texts; `None` in a run without verification.
    pub(crate) spool: Option<&'t Spool>,
    /// The classes to look up.
    pub(crate) wanted: &'t [ClassId],
}

/// The open index or store that a run is compared with.
pub(crate) struct KnownStore<'p> {
    /// The directory, as the options name it.
    pub(crate) path: &'p Path,
    pub(crate) store: Against,
}

impl<'p> KnownStore<'p> {
    /// Opens the index or the store that the options name, if any.
    ///
    /// # Errors
    /// The errors of [`Against::open`].
    pub(crate) fn open(
        options: &'p DedupOptions,
        stores: &dyn DocumentStores,
    ) -> Result<Option<Self>, DedupError> {
        let Some(path) = options.against.as_deref() else {
            return Ok(None);
        };
        let store = Against::open(path, options, stores)?;
        Ok(Some(Self { path, store }))
    }
}

impl Against {
    /// Opens the index or the store at `path`.
    ///
    /// # Errors
    /// An index or a store that cannot be opened, or that does not fit the options.
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
        if let Some(store) = store.map_err(|error| DedupError::against_failed(path, &error))? {
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
        let failed = |error: store::StoreError| DedupError::against_failed(path, &error);
        let bits = store::width_of(path).map_err(|error| match error {
            store::StoreError::NotAnIndex { .. } | store::StoreError::NoDirectory { .. } => {
                refuse(AgainstProblem::Nothing)
            }
            error => failed(error),
        })?;
        if bits > options.width_made() {
            return Err(refuse(AgainstProblem::Width {
                stored: bits,
                made: options.width_made(),
            }));
        }
        let k = match options.hamming {
            Auto::Auto => DEFAULT_RADIUS,
            Auto::Fixed(k) => k,
        };
        if k > bits {
            return Err(refuse(AgainstProblem::Radius {
                stored: bits,
                radius: k,
            }));
        }
        let profile = ProfileLabel::of_profile(&options.profile_at(bits)?);
        let same = |label: &str| match ProfileLabel::read(label) {
            Some(stored) if stored.check_same(&profile).is_err() => Err(refuse(AgainstProblem::Profile {
                stored: Box::new(stored),
                made: Box::new(profile.clone()),
            })),
            _ => Ok(()),
        };
        let mut names = None;
        let index = match bits {
            16 => IndexSnapshot::Bits16(read(path, &failed, &same, &mut names)?),
            32 => IndexSnapshot::Bits32(read(path, &failed, &same, &mut names)?),
            64 => IndexSnapshot::Bits64(read(path, &failed, &same, &mut names)?),
            _ => IndexSnapshot::Bits128(read(path, &failed, &same, &mut names)?),
        };
        Ok(Self::Index(index, names, k))
    }

    /// Looks up the wanted classes of `texts`, and returns the answers in their order. `progress` counts the texts.
    pub(crate) fn look_up(
        &self,
        path: &Path,
        texts: LookedUpTexts<'_>,
        progress: &dyn Progress,
        check_cancelled: &dyn Fn() -> Result<(), DedupError>,
    ) -> Result<KnownClasses, DedupError> {
        let lookup = TextLookup {
            path: path.to_owned(),
            classes: texts.classes,
            too_long: AtomicU64::new(0),
        };
        let mut known = Vec::with_capacity(texts.wanted.len());
        for batch in texts.wanted.chunks(TEXTS_PER_BATCH) {
            check_cancelled()?;
            match self {
                Self::Store(store) => {
                    // `Against::open` refuses a store in a run without verification, so the spool exists here.
                    let Some(spool) = texts.spool else { continue };
                    known.extend(lookup.in_store(&**store, spool, batch)?);
                }
                Self::Index(index, names, k) => {
                    let names = names.as_deref();
                    known.extend(match index {
                        IndexSnapshot::Bits16(index) => lookup.in_index(index, names, *k, batch)?,
                        IndexSnapshot::Bits32(index) => lookup.in_index(index, names, *k, batch)?,
                        IndexSnapshot::Bits64(index) => lookup.in_index(index, names, *k, batch)?,
                        IndexSnapshot::Bits128(index) => lookup.in_index(index, names, *k, batch)?,
                    });
                }
            }
            progress.advance(batch.len() as u64);
        }
        let too_long = lookup.too_long.into_inner();
        if too_long > 0 {
            progress.warn(&format!(
                "{}: {too_long} texts are longer than the collection accepts and were not looked up",
                path.display()
            ));
        }
        Ok(KnownClasses(known.into()))
    }
}

/// Reads an index whose label passes a check, and the names of its ids.
fn read<W: Width>(
    path: &Path,
    failed: &dyn Fn(store::StoreError) -> DedupError,
    check_label: &dyn Fn(&str) -> Result<(), DedupError>,
    names: &mut Option<Arc<Names>>,
) -> Result<store::Snapshot<W>, DedupError> {
    let index = store::read::<W>(path).map_err(failed)?;
    check_label(&index.settings.label)?;
    if !index.snapshot.is_exact() {
        return Err(DedupError::Against {
            path: path.to_owned(),
            problem: AgainstProblem::Inexact,
        });
    }
    *names = index.names;
    Ok(index.snapshot)
}

/// The name of an id of an index, or the id itself in an index without names.
fn name_of(names: Option<&Names>, id: u64) -> String {
    let name = names.and_then(|names| names.get(id));
    name.map_or_else(|| id.to_string(), str::to_owned)
}

/// A lookup of many texts in a store or an index.
struct TextLookup<'c> {
    path: PathBuf,
    classes: &'c Classes,
    /// The number of texts that are longer than the store accepts.
    too_long: AtomicU64,
}

impl TextLookup<'_> {
    /// Looks up classes in a store, in ascending order, in which the spool stores their texts.
    fn in_store(
        &self,
        store: &dyn DocumentStore,
        spool: &Spool,
        classes: &[ClassId],
    ) -> Result<Vec<Option<Box<KnownDuplicate>>>, DedupError> {
        let mut buffer = BlockBuffer::default();
        // A text without features is not looked up, because it duplicates nothing.
        let has_features = |class: &ClassId| !self.classes.is_empty_text(*class);
        let wanted = classes.iter().filter(|class| has_features(class));
        let texts = wanted.map(|&class| {
            let text = spool.text(self.classes.text(class), &mut buffer)?;
            Ok(text.to_owned())
        });
        let texts: Vec<String> = texts.collect::<Result<_, DedupError>>()?;
        let answers = store
            .check(texts)
            .map_err(|error| DedupError::against_failed(&self.path, &error))?;
        let known = |answer| match answer {
            TextAnswer::Known { document, equal } => Some(Box::new(KnownDuplicate::new(document, equal))),
            TextAnswer::New => None,
            TextAnswer::TooLong => {
                self.too_long.fetch_add(1, Ordering::Relaxed);
                None
            }
        };
        let mut answers = answers.into_iter();
        let next = |class: &ClassId| {
            if has_features(class) {
                answers.next().and_then(known)
            } else {
                None
            }
        };
        Ok(classes.iter().map(next).collect())
    }

    /// Looks up the fingerprints of classes in an index.
    fn in_index<W: Width>(
        &self,
        index: &store::Snapshot<W>,
        names: Option<&Names>,
        k: u32,
        classes: &[ClassId],
    ) -> Result<Vec<Option<Box<KnownDuplicate>>>, DedupError> {
        let nearest = |scratch: &mut Scratch<W>, &class: &ClassId| {
            if self.classes.is_empty_text(class) {
                return Ok(None);
            }
            let query = W::truncate(self.classes.fingerprint[class]);
            let mut nearest: Option<(u32, u64)> = None;
            index
                .lookup(query, k, scratch, |id, _, distance| {
                    nearest = Some(nearest.map_or((distance, id), |found| found.min((distance, id))));
                })
                .map_err(|error| DedupError::against_failed(&self.path, &error))?;
            Ok(nearest.map(|(hamming, id)| {
                let document = KnownDocument {
                    id: name_of(names, id),
                    hamming,
                    jaccard: None,
                };
                Box::new(KnownDuplicate::new(document, false))
            }))
        };
        classes.par_iter().map_init(Scratch::default, nearest).collect()
    }
}
