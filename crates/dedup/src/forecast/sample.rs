//! The sample of the input that a forecast reads: sections of neighbouring records at even distances.
//!
//! Copies are often near each other in the input. The first half of each section is compared with the whole section.
//! This shows whether the candidates per document grow with the corpus, or come from neighbouring documents only.

use std::path::Path;
use std::time::Instant;

use twinprint_fingerprint::HashKey;
use twinprint_text::Measure;

use crate::candidates::{FeatureLimits, SetJoinCosts};
use crate::corpus::shingle_sets::{SpooledText, jaccard};
use crate::corpus::{ClassHasher, Classes, Corpus};
use crate::error::DedupError;
use crate::ids::{ClassId, Id};
use crate::known::{Against, LookedUpTexts};
use crate::memory;
use crate::options::DedupOptions;
use crate::read::{self, ReadCounts, ReadOutcome};
use twinprint_io::progress::{Progress, Silent, cpu_seconds};
use twinprint_io::sink::OutputDir;
use twinprint_io::source::Sources;
use twinprint_io::work::Spool;

/// The maximum number of sections in a sample.
const MAX_SECTIONS: u64 = 16;
/// The maximum number of texts of the sample that are looked up in an index or a store.
const MAX_LOOKUPS: usize = 4096;

/// The counts and fingerprints of a sample.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) counts: ReadCounts,
    pub(super) documents: u64,
    pub(super) rejected: u64,
    pub(super) texts: u64,
    pub(super) id_bytes: u64,
    pub(super) label_bytes: u64,
    /// The bytes of the distinct texts, and of their shingle sets.
    pub(super) text_bytes: u64,
    pub(super) set_bytes: u64,
    /// The number of texts whose fingerprints are joined.
    pub(super) joined: u64,
    pub(super) spool_bytes: u64,
    /// The costs of set joins of the sampled texts.
    pub(super) set_join: SetJoinCosts,
    /// The distinct fingerprints of the first halves of the sections, and of the whole sections.
    pub(super) rows: [SampledRows; 2],
    /// The texts of the sections.
    sections: Vec<(Classes, Option<Spool>)>,
    /// True if a text was segmented by the Chinese dictionary.
    pub(super) chinese: bool,
    /// The time of all cores together in which the sample was read, in seconds.
    pub(super) seconds: f64,
    /// The number of sampled texts that were looked up in an index or a store.
    pub(super) looked_up: u64,
    /// The number of looked-up texts that are known.
    pub(super) known: u64,
    /// The time of the lookups in seconds.
    pub(super) lookup_seconds: f64,
    /// True if the sample is the whole input.
    pub(super) whole: bool,
}

/// Distinct fingerprints, ascending, each with its first text.
#[derive(Default)]
pub(super) struct SampledRows {
    pub(super) fingerprints: Vec<u128>,
    /// The section and the class of the text.
    texts: Vec<(u32, ClassId)>,
}

impl SampledRows {
    fn sort(&mut self) {
        let mut rows: Vec<(u128, (u32, ClassId))> =
            self.fingerprints.drain(..).zip(self.texts.drain(..)).collect();
        rows.sort_unstable();
        rows.dedup_by_key(|row| row.0);
        (self.fingerprints, self.texts) = rows.into_iter().unzip();
    }
}

/// A moment, from which the time of all cores is measured.
struct CoreTime {
    started: Instant,
    cores: Option<f64>,
}

impl CoreTime {
    fn now() -> Self {
        Self {
            started: Instant::now(),
            cores: cpu_seconds(),
        }
    }

    /// The time of all cores since then, in seconds; the wall time if the system does not tell it.
    fn elapsed(&self) -> f64 {
        match cpu_seconds().zip(self.cores) {
            Some((now, before)) => now - before,
            None => self.started.elapsed().as_secs_f64(),
        }
    }
}

/// A section of the input: neighbouring records that belong to the sample.
struct Section {
    files: Vec<u32>,
    /// The bytes of records after which reading the section ends.
    max_bytes: u64,
}

/// The approximate bytes that a sample of these sources reads.
pub(super) fn bytes(sources: &Sources, options: &DedupOptions) -> u64 {
    sources.total_bytes().min(options.sample_bytes)
}

/// Chooses the sections of a sample of `bytes` bytes of files with these `sizes`, at even distances in bytes. Adjacent
/// sections become one.
fn sections(sizes: &[u64], bytes: u64) -> Vec<Section> {
    let total: u64 = sizes.iter().sum();
    // A section of no bytes would have no record.
    let each = (bytes / MAX_SECTIONS).max(1);
    let mut sections: Vec<Section> = Vec::new();
    let (mut next, mut before) = (0, 0);
    for i in 0..MAX_SECTIONS {
        let at = total / MAX_SECTIONS * i + total / MAX_SECTIONS / 2;
        while next < sizes.len() && before + sizes[next] <= at {
            before += sizes[next];
            next += 1;
        }
        // The file at this position already belongs to the previous section.
        if let Some(last) = sections.last_mut()
            && at < before
        {
            last.max_bytes += each;
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
            sections.push(Section {
                files,
                max_bytes: each,
            });
        }
    }
    sections
}

/// An opened store or index, whose documents are known before the run.
#[derive(Clone, Copy)]
pub(super) struct KnownSource<'a> {
    /// The directory of the store or index, as given; messages name it.
    pub(super) path: &'a Path,
    /// The opened store or index.
    pub(super) store: &'a Against,
}

impl Sample {
    /// Reads the sample, with temporary files in `work`, and looks up a part of it in `against`.
    pub(super) fn read(
        sources: &Sources,
        options: &DedupOptions,
        against: Option<KnownSource<'_>>,
        work: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, DedupError> {
        let sizes: Vec<u64> = sources.list().iter().map(|file| file.bytes).collect();
        let mut sample = Self::default();
        let sections = if sources.total_bytes() <= options.sample_bytes {
            let files = (0..sizes.len() as u32).collect();
            vec![Section {
                files,
                max_bytes: u64::MAX,
            }]
        } else {
            sections(&sizes, options.sample_bytes)
        };
        for (i, section) in sections.iter().enumerate() {
            let place = work.join(format!("sample{i}"));
            let part = sources.subset(&section.files);
            let (corpus, spool) = sample.add(&part, section, options, &place, progress)?;
            if let Some(against) = against {
                let wanted = MAX_LOOKUPS / sections.len();
                sample.look_up(against, &corpus.classes, spool.as_ref(), wanted, &part)?;
            }
            sample.sections.push((corpus.classes, spool));
        }
        sample.rows.iter_mut().for_each(SampledRows::sort);
        let classes = || sample.sections.iter().map(|(classes, _)| classes);
        let texts = || classes().flat_map(|classes| classes.class_ids().map(|class| classes.counts(class)));
        // A few short texts decide the limits, so these are those of all sections together.
        let limits = FeatureLimits::new(texts(), options);
        sample.set_join = SetJoinCosts::of(texts(), limits, options);
        sample.whole = sample.counts.input_bytes >= sources.total_bytes();
        if sample.whole {
            sample.counts.intake = std::mem::take(&mut sample.counts.intake).checked()?;
        }
        Ok(sample)
    }

    /// The Jaccard of the texts of two rows of the first halves (`half` = 0) or of the whole sections (`half` = 1).
    pub(super) fn jaccard(&self, half: usize, a: usize, b: usize) -> Result<f64, DedupError> {
        let text = |row: usize| {
            let (section, class) = self.rows[half].texts[row];
            let (classes, spool) = &self.sections[section as usize];
            spool.as_ref().map(|spool| SpooledText {
                spool,
                text: classes.text(class),
                measure: classes.measure(class),
            })
        };
        match (text(a), text(b)) {
            (Some(a), Some(b)) => jaccard(HashKey::PUBLIC, [a, b]),
            _ => Ok(0.0),
        }
    }

    fn add(
        &mut self,
        sources: &Sources,
        section: &Section,
        options: &DedupOptions,
        place: &Path,
        progress: &dyn Progress,
    ) -> Result<(Corpus, Option<Spool>), DedupError> {
        let started = CoreTime::now();
        let dir = OutputDir::create(place)?;
        let mut rejects = read::Rejects::File(dir.file("rejects.jsonl")?);
        let budget = memory::Budget::new(None, options.threads)?;
        let reading = read::ReadOptions {
            options,
            hasher: ClassHasher::for_one_run(read::random_key()),
            spool: read::SpoolPlace::Unnamed {
                dir: place,
                in_memory: 0,
            },
            budget,
            max_record_bytes: section.max_bytes,
            digest: None,
            reject_check: None,
        };
        let read = read::read(sources, reading, &mut rejects, progress)?;
        self.seconds += started.elapsed();
        let ReadOutcome {
            corpus,
            spool,
            mut counts,
            ..
        } = read;
        for file in &mut counts.intake.files {
            // Within the section, files are numbered from 0. The number is replaced by that of the file in the whole
            // input.
            file.file = section.files[file.file as usize];
        }
        for example in &mut counts.intake.examples {
            example.file = section.files[example.file as usize];
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
            let text = classes.bytes(class) as usize;
            crate::corpus::shingle_sets::cost(text, classes.measure(class)) as u64
        };
        self.chinese |= classes
            .class_ids()
            .any(|class| classes.measure(class) == Measure::CharGrams);
        self.set_bytes += classes.class_ids().map(cost).sum::<u64>();
        let bytes = |class| u64::from(classes.bytes(class));
        self.text_bytes += classes.class_ids().map(bytes).sum::<u64>();
        // Classes are numbered in input order, so the first half of them is the first half of the section.
        for class in classes
            .class_ids()
            .filter(|&class| classes.counts(class).is_joined(options))
        {
            self.joined += 1;
            let text = (self.sections.len() as u32, class);
            let [half, whole] = &mut self.rows;
            whole.fingerprints.push(classes.fingerprint[class]);
            whole.texts.push(text);
            if class.index() < classes.len() / 2 {
                half.fingerprints.push(classes.fingerprint[class]);
                half.texts.push(text);
            }
        }
        self.counts.add(counts);
        Ok((corpus, spool))
    }

    /// Looks up at most `limit` texts of the sample, chosen at even distances.
    fn look_up(
        &mut self,
        known: KnownSource<'_>,
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
        let started = Instant::now();
        let texts = LookedUpTexts {
            classes,
            spool,
            wanted: &wanted,
        };
        let known = known
            .store
            .look_up(known.path, texts, &Silent, &check_cancelled)?;
        self.lookup_seconds += started.elapsed().as_secs_f64();
        self.looked_up += wanted.len() as u64;
        self.known += known.count();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::SAMPLE_BYTES;

    #[test]
    fn sections_are_disjoint_and_spread_evenly() {
        let one = sections(&[1 << 30], SAMPLE_BYTES);
        assert_eq!(
            (one.len(), &one[0].files[..], one[0].max_bytes),
            (1, &[0][..], SAMPLE_BYTES)
        );
        let large = sections(&[1 << 30; 4], SAMPLE_BYTES);
        assert_eq!(large.len(), 4);
        assert!(
            large
                .iter()
                .all(|s| s.files.len() == 1 && s.max_bytes == SAMPLE_BYTES / 4)
        );
        let small = sections(&vec![10 << 10; 100_000], SAMPLE_BYTES);
        assert_eq!(small.len(), 16);
        let taken: Vec<u32> = small.iter().flat_map(|s| s.files.clone()).collect();
        assert!(taken.is_sorted() && taken.windows(2).all(|w| w[0] < w[1]));
        assert!((3000..3500).contains(&taken.len()), "{}", taken.len());
        assert!(small[0].files[0] > 2000 && small[15].files[0] > 90_000);
        assert!(sections(&[], SAMPLE_BYTES).is_empty() && sections(&[0, 0], SAMPLE_BYTES).len() <= 1);
    }
}
