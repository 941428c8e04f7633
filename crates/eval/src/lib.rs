//! How well near-duplicates are found, measured on labelled documents.
//!
//! Every method is judged over *all* pairs of documents: a pair that the list of labelled pairs does not name is known to be below the
//! list's bound, where it has one, and is measured otherwise ([`truth`]). Methods that give a score for every pair (fingerprints alone,
//! MinHash, cosine) are cut at every score ([`score`]); the engine is run as users run it ([`engine`]). The work is quadratic, which is the
//! price of a truth that no index has had a hand in.
//!
//! Baselines: MinHash (Broder 1997) and its banding (Indyk and Motwani 1998; [`minhash`]), and the cosine of word counts ([`cosine`]).
//!
//! [`calibrate()`](calibrate::calibrate) chooses width and radius on a sample.
#![forbid(unsafe_code)]

pub mod calibrate;
mod cosine;
mod documents;
mod engine;
mod error;
mod evaluation;
mod minhash;
mod page;
mod plot;
mod score;
#[cfg(test)]
mod stop_at;
mod truth;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use twinprint_io::VERSION;
use twinprint_text::Profile;

pub use error::EvalError;
pub use evaluation::{Agreement, Bytes, Cell, Curve, Evaluation, Judged, Method, Point, Seconds, Setting};

pub(crate) use self::documents::Documents;
use self::minhash::Signatures;
use self::score::Tally;
use self::truth::Truth;
use twinprint_dedup::DedupOptions;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::source::SourceOptions;
use twinprint_io::threads;

/// Documents at most: every pair of them is looked at several times.
pub const MAX_DOCUMENTS: usize = 50_000;

/// What is to be evaluated.
#[derive(Clone, Debug)]
pub struct EvalOptions {
    /// How the engine is run; its threshold is set to each of [`thresholds`](Self::thresholds) in turn.
    pub dedup: DedupOptions,
    /// Jaccards from which on a pair is a duplicate, each judged by itself.
    pub thresholds: Vec<f64>,
    /// Rows `{a, b, jaccard}` of labelled pairs by id; JSON lines.
    pub pairs: Option<PathBuf>,
    /// The field of those rows that holds the truth.
    pub truth_field: String,
    /// The list names every pair from this Jaccard up; otherwise what it does not name is measured.
    pub complete: Option<f64>,
    /// Profiles whose fingerprints are judged too, after that of [`dedup`](Self::dedup).
    pub profiles: Vec<FurtherProfile>,
}

/// A profile whose fingerprints are judged by their distance alone.
#[derive(Clone, Debug)]
pub struct FurtherProfile {
    /// The profile, at any width.
    pub profile: Profile,
    /// The widths at which it is judged: 16, 32, 64 or 128.
    pub widths: Vec<u32>,
}

impl FurtherProfile {
    /// The widths at which a profile is judged that names none.
    pub const WIDTHS: [u32; 2] = [64, 128];

    fn check(&self) -> Result<(), EvalError> {
        let wrong = self.widths.iter().find(|bits| ![16, 32, 64, 128].contains(*bits));
        wrong.map_or(Ok(()), |&bits| Err(EvalError::Width(bits)))
    }
}

/// Evaluates. O(n²) in documents, of which there may be [`MAX_DOCUMENTS`]; all texts are held.
///
/// # Errors
/// What stops reading or the engine; a list of pairs that names unknown documents or lacks its field; thresholds below the
/// Jaccard from which the list is complete; `Width` for a further profile.
pub fn evaluate(
    inputs: &[String],
    source_options: &SourceOptions,
    options: &EvalOptions,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Evaluation, EvalError> {
    options.dedup.check()?;
    for profile in &options.profiles {
        profile.check()?;
    }
    let mut thresholds = options.thresholds.clone();
    thresholds.sort_by(f64::total_cmp);
    thresholds.dedup();
    let (Some(&lowest), true) = (
        thresholds.first(),
        thresholds.iter().all(|t| (0.0..=1.0).contains(t) && *t > 0.0),
    ) else {
        return Err(EvalError::Thresholds);
    };
    let pool = threads::pool(options.dedup.threads)?;
    pool.install(|| {
        let profile = options
            .dedup
            .profile_at(128)
            .map_err(twinprint_dedup::DedupError::from)?;
        let documents = Documents::read(inputs, source_options, &profile, progress, cancel)?;
        progress.stage("truth", 0, Unit::Steps);
        let truth = Truth::of(&documents, options, lowest)?;
        let mut all = Judge {
            documents: &documents,
            truth: &truth,
            thresholds: &thresholds,
            evaluation: Evaluation::begin(&documents, &truth, &thresholds),
        };
        progress.stage("judge", 0, Unit::Steps);
        let store = engine::judge(&mut all, inputs, source_options, options, cancel)?;
        progress.stage("compare", 0, Unit::Steps);
        let own = Made {
            profile: &profile,
            fingerprints: &documents.fingerprints,
            seconds: documents.seconds,
        };
        for bits in FurtherProfile::WIDTHS {
            all.fingerprints(&own, bits, true)?;
        }
        for FurtherProfile { profile, widths } in &options.profiles {
            let started = Instant::now();
            let (profile, fingerprints) = documents.fingerprints_of(profile)?;
            let made = Made {
                profile: &profile,
                fingerprints: &fingerprints,
                seconds: started.elapsed().as_secs_f64(),
            };
            for &bits in widths {
                all.fingerprints(&made, bits, false)?;
            }
        }
        all.minhash(store)?;
        all.cosine()?;
        Ok(all.evaluation)
    })
}

/// The fingerprints of all documents.
struct Made<'m> {
    /// At 128 bits.
    profile: &'m Profile,
    /// Fingerprints of 128 bits, whose low bits are the narrower ones.
    fingerprints: &'m [u128],
    /// Seconds for making them.
    seconds: f64,
}

/// Judges one method after another.
struct Judge<'e> {
    documents: &'e Documents,
    truth: &'e Truth,
    thresholds: &'e [f64],
    evaluation: Evaluation,
}

impl Judge<'_> {
    /// Fingerprints alone, at one width: the distance is the verdict. `own` is for the engine's profile, of which more is reported.
    fn fingerprints(&mut self, made: &Made<'_>, bits: u32, own: bool) -> Result<(), EvalError> {
        let started = Instant::now();
        let fingerprints = made.fingerprints;
        let mask = u128::MAX >> (128 - bits);
        let distance = |a: usize, b: usize| ((fingerprints[a] ^ fingerprints[b]) & mask).count_ones();
        let tally = self.tally(bits as usize + 1, |a, bins| {
            bins.extend((0..a).map(|b| distance(a, b) as u16));
        })?;
        let seconds = Seconds {
            made: made.seconds,
            found: started.elapsed().as_secs_f64(),
            verified: 0.0,
        };
        let bytes = Bytes {
            fingerprint: f64::from(bits / 8),
            ..Bytes::default()
        };
        let id = profile_name(made.profile, bits);
        if own && bits == 64 {
            let name = format!("SimHash k = 3 alone ({id})");
            let at = |i| {
                tally
                    .at(i, 3)
                    .with(Setting::Radius { bits, k: 3 }, bytes, seconds)
            };
            self.push(&name, at);
        }
        let name = format!("SimHash alone, best k ({id})");
        self.push(&name, |i| {
            let (k, judged) = tally.best(i);
            judged.with(Setting::Radius { bits, k: k as u32 }, bytes, seconds)
        });
        self.evaluation.curves.push(Curve {
            profile: id,
            bits,
            points: tally.points(self.documents.len(), bits / 2),
        });
        if own && bits == 128 {
            self.evaluation.heat(self.truth, distance);
        }
        Ok(())
    }

    /// MinHash with 128 slots: its estimate as the verdict, and banded with the engine's verification.
    fn minhash(&mut self, store: f64) -> Result<(), EvalError> {
        let started = Instant::now();
        let signatures = Signatures::of(&self.documents.sets);
        let made = self.documents.seconds_shingling + started.elapsed().as_secs_f64();
        let bytes = Bytes {
            fingerprint: Signatures::BYTES as f64,
            ..Bytes::default()
        };
        let started = Instant::now();
        let tally = self.tally(minhash::SLOTS + 1, |a, bins| {
            bins.extend((0..a).map(|b| (minhash::SLOTS - signatures.equal_slots(a, b)) as u16));
        })?;
        let found = started.elapsed().as_secs_f64();
        let seconds = Seconds {
            made,
            found,
            verified: 0.0,
        };
        let thresholds = self.thresholds;
        self.push("MinHash-128 alone", |i| {
            let slots = minhash::least_slots(thresholds[i]);
            let setting = Setting::Similarity { least: thresholds[i] };
            tally.at(i, minhash::SLOTS - slots).with(setting, bytes, seconds)
        });
        let mut cells = Vec::new();
        for &threshold in thresholds {
            self.documents.check_cancelled()?;
            let (bands, rows) = minhash::bands(threshold);
            let started = Instant::now();
            let candidates = signatures.candidates(bands, rows);
            let found = started.elapsed().as_secs_f64();
            let started = Instant::now();
            let verified = self.documents.verify(&candidates, threshold);
            let seconds = Seconds {
                made,
                found,
                verified: started.elapsed().as_secs_f64(),
            };
            let judged = self
                .truth
                .judge(&verified, threshold)
                .of(candidates.len(), self.documents.len());
            let bytes = Bytes {
                // A key of 8 bytes and a document of 4 in each band's table.
                tables: (bands * 12) as f64,
                verification: store,
                ..bytes
            };
            cells.push(judged.with(Setting::Bands { bands, rows }, bytes, seconds));
        }
        self.push_cells("MinHash-128 LSH + verification", cells);
        Ok(())
    }

    /// Cosine of word counts.
    fn cosine(&mut self) -> Result<(), EvalError> {
        let started = Instant::now();
        let vectors = cosine::Vectors::of(self.documents);
        let made = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let tally = self.tally(cosine::BINS + 1, |a, bins| vectors.row(a, bins))?;
        let seconds = Seconds {
            made,
            found: started.elapsed().as_secs_f64(),
            verified: 0.0,
        };
        let bytes = Bytes {
            fingerprint: vectors.bytes() / self.documents.len().max(1) as f64,
            ..Bytes::default()
        };
        self.push("bag-of-words cosine, best cut", |i| {
            let (bin, judged) = tally.best(i);
            let least = cosine::least(bin);
            judged.with(Setting::Similarity { least }, bytes, seconds)
        });
        Ok(())
    }

    fn tally(&self, bins: usize, row: impl Fn(usize, &mut Vec<u16>) + Sync) -> Result<Tally, EvalError> {
        Tally::of((self.documents, self.truth), self.thresholds, bins, row)
    }

    fn push(&mut self, name: &str, at: impl Fn(usize) -> Cell) {
        let cells = (0..self.thresholds.len()).map(at).collect();
        self.push_cells(name, cells);
    }

    fn push_cells(&mut self, name: &str, cells: Vec<Cell>) {
        self.evaluation.methods.push(Method {
            name: name.to_owned(),
            cells,
        });
    }
}

/// A profile's id at a width.
fn profile_name(profile: &Profile, bits: u32) -> String {
    profile
        .at_width(bits)
        .map_or_else(|_| profile.id(), |profile| profile.id())
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&page::setting(*self))
    }
}

/// The page of an evaluation, in two languages, for a browser without a network.
pub fn page(evaluation: &Evaluation) -> String {
    page::html(evaluation)
}

#[cfg(test)]
mod tests;
