//! The part of the input that a forecast reads: stretches of neighbouring records at even distances.
//!
//! Neighbours matter: copies often stand near each other, and whether candidates grow with the corpus or stay within
//! neighbourhoods shows when half of each stretch is compared with the whole.

use std::path::Path;

use twinprint_text::Measure;

use crate::candidates::is_joined;
use crate::corpus::{Classes, Corpus};
use crate::error::DedupError;
use crate::ids::{ClassId, Id};
use crate::known::{Against, LookedUpTexts};
use crate::memory;
use crate::options::DedupOptions;
use crate::read::{self, ReadCounts, ReadOutcome};
use twinprint_io::progress::{Progress, Silent};
use twinprint_io::sink::OutputDir;
use twinprint_io::source::Sources;
use twinprint_io::work::Spool;

/// Bytes of records read in all.
const SAMPLE: u64 = 32 << 20;
/// Stretches at most.
const STRETCHES: u64 = 16;
/// The largest number of texts of the sample that are looked up in an index or a store.
const MAX_LOOKUPS: usize = 4096;

/// What the sample holds.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) counts: ReadCounts,
    pub(super) documents: u64,
    pub(super) rejected: u64,
    pub(super) texts: u64,
    pub(super) id_bytes: u64,
    pub(super) label_bytes: u64,
    /// Bytes of the shingle sets of all texts.
    pub(super) set_bytes: u64,
    pub(super) spool_bytes: u64,
    /// Distinct fingerprints of the first halves of the stretches, ascending, and of all.
    pub(super) rows: [Vec<u128>; 2],
    /// Whether a text was cut by the dictionary.
    pub(super) chinese: bool,
    /// Seconds of reading.
    pub(super) seconds: f64,
    /// Texts about which was asked what is known from before.
    pub(super) asked: u64,
    /// Of these, texts that are known.
    pub(super) known: u64,
    /// Seconds of asking.
    pub(super) asking_seconds: f64,
    /// Whether the sample is all there is.
    pub(super) whole: bool,
}

/// Files of one stretch, and how much of them to read.
struct Stretch {
    files: Vec<u32>,
    most: u64,
}

/// About the bytes that a sample of the sources reads.
pub(super) fn bytes(sources: &Sources) -> u64 {
    sources.total_bytes().min(SAMPLE)
}

/// Even distances by bytes; stretches that meet become one.
fn stretches(sizes: &[u64]) -> Vec<Stretch> {
    let total: u64 = sizes.iter().sum();
    let each = SAMPLE / STRETCHES;
    let mut stretches: Vec<Stretch> = Vec::new();
    let (mut next, mut before) = (0, 0);
    for i in 0..STRETCHES {
        let at = total / STRETCHES * i + total / STRETCHES / 2;
        while next < sizes.len() && before + sizes[next] <= at {
            before += sizes[next];
            next += 1;
        }
        // The file that holds this place belongs to the stretch before.
        if let Some(last) = stretches.last_mut()
            && at < before
        {
            last.most += each;
            continue;
        }
        let (mut files, mut bytes) = (Vec::new(), 0);
        while bytes < each && next < sizes.len() {
            files.push(next as u32);
            bytes += sizes[next];
            before += sizes[next];
            next += 1;
        }
        if !files.is_empty() {
            stretches.push(Stretch { files, most: each });
        }
    }
    stretches
}

impl Sample {
    /// Reads the sample, with temporary files in `work`, and asks `against` about a part of it.
    pub(super) fn read(
        sources: &Sources,
        options: &DedupOptions,
        against: Option<(&Path, &Against)>,
        work: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, DedupError> {
        let sizes: Vec<u64> = sources.list().iter().map(|file| file.bytes).collect();
        let mut sample = Self::default();
        let stretches = if sources.total_bytes() <= SAMPLE {
            let files = (0..sizes.len() as u32).collect();
            vec![Stretch {
                files,
                most: u64::MAX,
            }]
        } else {
            stretches(&sizes)
        };
        for (i, stretch) in stretches.iter().enumerate() {
            let place = work.join(format!("sample{i}"));
            let part = sources.subset(&stretch.files);
            let (corpus, spool) = sample.add(&part, stretch, options, &place, progress)?;
            if let Some(against) = against {
                let wanted = MAX_LOOKUPS / stretches.len();
                sample.look_up(against, &corpus.classes, spool.as_ref(), wanted, &part)?;
            }
        }
        for rows in &mut sample.rows {
            rows.sort_unstable();
            rows.dedup();
        }
        sample.whole = sample.counts.input_bytes >= sources.total_bytes();
        if sample.whole {
            sample.counts.intake = std::mem::take(&mut sample.counts.intake).checked()?;
        }
        Ok(sample)
    }

    fn add(
        &mut self,
        sources: &Sources,
        stretch: &Stretch,
        options: &DedupOptions,
        place: &Path,
        progress: &dyn Progress,
    ) -> Result<(Corpus, Option<Spool>), DedupError> {
        let started = std::time::Instant::now();
        let dir = OutputDir::create(place)?;
        let mut rejects = dir.file("rejects.jsonl")?;
        let budget = memory::Budget::new(None, options.threads)?;
        let reading = read::ReadOptions {
            options,
            spool: &place.join("texts"),
            budget,
            max_record_bytes: stretch.most,
            digest: None,
            reject_check: None,
        };
        let read = read::read(sources, reading, &mut rejects, progress)?;
        self.seconds += started.elapsed().as_secs_f64();
        let ReadOutcome {
            corpus,
            spool,
            mut counts,
            ..
        } = read;
        for file in &mut counts.intake.files {
            // From its number in the stretch to that in the input.
            file.file = stretch.files[file.file as usize];
        }
        for example in &mut counts.intake.examples {
            example.file = stretch.files[example.file as usize];
        }
        let (documents, classes) = (&corpus.documents, &corpus.classes);
        self.documents += documents.len() as u64;
        self.rejected += documents.rejected();
        self.texts += classes.len() as u64;
        self.id_bytes += documents.id_bytes();
        let label = |document| sources.file(documents.source(document)).label.len() as u64;
        self.label_bytes += documents.document_ids().map(label).sum::<u64>();
        self.spool_bytes += spool.as_ref().map_or(0, Spool::bytes);
        let cost = |class: ClassId| {
            let text = classes.text[class].len();
            crate::corpus::shingle_sets::cost(text, classes.measure[class]) as u64
        };
        self.chinese |= classes
            .measure
            .iter()
            .any(|&measure| measure == Measure::CharGrams);
        self.set_bytes += classes.class_ids().map(cost).sum::<u64>();
        // Classes are numbered in input order, so the first half of them is the first half of the stretch.
        for class in classes
            .class_ids()
            .filter(|&class| is_joined(classes, class, options))
        {
            let row = classes.fingerprint[class];
            self.rows[1].push(row);
            if class.index() < classes.len() / 2 {
                self.rows[0].push(row);
            }
        }
        self.counts.add(counts);
        Ok((corpus, spool))
    }

    /// Looks up at most `limit` texts at even distances.
    fn look_up(
        &mut self,
        (path, against): (&Path, &Against),
        classes: &Classes,
        spool: Option<&Spool>,
        limit: usize,
        sources: &Sources,
    ) -> Result<(), DedupError> {
        let step = classes.len().div_ceil(limit).max(1);
        let wanted: Vec<ClassId> = classes.class_ids().step_by(step).collect();
        let check_cancelled = || {
            if sources.cancelled() {
                Err(DedupError::cancelled())
            } else {
                Ok(())
            }
        };
        let started = std::time::Instant::now();
        let texts = LookedUpTexts {
            classes,
            spool,
            wanted: &wanted,
        };
        let known = against.look_up(path, texts, &Silent, &check_cancelled)?;
        self.asking_seconds += started.elapsed().as_secs_f64();
        self.asked += wanted.len() as u64;
        self.known += known.count();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_apart_and_cover_the_corpus_evenly() {
        let one = stretches(&[1 << 30]);
        assert_eq!((one.len(), &one[0].files[..], one[0].most), (1, &[0][..], SAMPLE));
        let large = stretches(&[1 << 30; 4]);
        assert_eq!(large.len(), 4);
        assert!(large.iter().all(|s| s.files.len() == 1 && s.most == SAMPLE / 4));
        let small = stretches(&vec![10 << 10; 100_000]);
        assert_eq!(small.len(), 16);
        let taken: Vec<u32> = small.iter().flat_map(|s| s.files.clone()).collect();
        assert!(taken.is_sorted() && taken.windows(2).all(|w| w[0] < w[1]));
        assert!((3000..3500).contains(&taken.len()), "{}", taken.len());
        assert!(small[0].files[0] > 2000 && small[15].files[0] > 90_000);
        assert!(stretches(&[]).is_empty() && stretches(&[0, 0]).len() <= 1);
    }
}
