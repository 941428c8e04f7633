//! The report of a run on disk, from the summaries of its tasks.

use std::collections::BTreeMap;

use twinprint_io::VERSION;
use twinprint_io::results::{
    ClusterCounts, DamagedFile, InputCounts, RadiusReport, RecordCounts, Report, SearchCounts, UnreadParts,
};
use twinprint_io::source::Intake;

use super::examples::StagedReport;
use super::folder::{Stage, Task};
use super::hot_list;
use super::job::StagedJob;
use super::outputs::{GroupsSummary, LeadSummary};
use crate::candidates::radius::Radius;
use crate::error::DedupError;

/// The numbers of documents of the analysed parts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DocumentCounts {
    pub(crate) documents: u64,
    pub(crate) rejected: u64,
    /// The documents without the field by which the newest are kept.
    pub(crate) undated: u64,
}

impl StagedJob<'_> {
    /// Counts the documents of all parts.
    ///
    /// # Errors
    /// No record of the input is a document.
    pub(crate) fn counts(&self) -> Result<DocumentCounts, DedupError> {
        let mut counts = DocumentCounts::default();
        for part in self.spec.parts() {
            for slice in &self.part(part)?.slices {
                counts.documents += u64::from(slice.documents);
                counts.rejected += slice.rejected;
                counts.undated += slice.undated;
            }
        }
        self.intake()?.checked()?;
        Ok(counts)
    }

    fn intake(&self) -> Result<Intake, DedupError> {
        let mut intake = Intake::default();
        for part in self.spec.parts() {
            let mut of_part = self.part(part)?.intake.clone();
            // The summary of a part names the files, but it does not have their numbers.
            let numbers: BTreeMap<&str, u32> = self
                .spec
                .part(part)
                .map(|file| (self.sources.file(file).label.as_str(), file))
                .collect();
            let number = |source: &str| numbers.get(source).copied().unwrap_or_default();
            for example in &mut of_part.examples {
                example.file = number(&example.source);
            }
            for file in &mut of_part.files {
                file.file = number(&file.source);
            }
            intake.add(of_part);
        }
        Ok(intake)
    }

    /// The chosen radius.
    pub(crate) fn radius(&self) -> Result<&Radius, DedupError> {
        Ok(&self.parameters()?.radius)
    }

    /// The report before the documents are counted as kept and removed.
    pub(crate) fn report(&self, inputs: &[String]) -> Result<StagedReport, DedupError> {
        let radius = self.radius()?;
        let profile = self.options.profile_at(radius.bits)?;
        let intake = self.intake()?;
        let counts = self.counts()?;
        let items = self.items_summary()?;
        let candidates = self.candidates()?;
        let verified = self.verified()?;
        let led: LeadSummary = self.folder.summary(Task::only(Stage::Lead))?;
        let groups: GroupsSummary = self.folder.summary(Task::only(Stage::Groups))?;
        let mut report = Report {
            version: VERSION.to_owned(),
            profile: profile.id(),
            profile_checksum: format!("{:016x}", profile.checksum()),
            records: RecordCounts {
                read: counts.documents + counts.rejected,
                rejected: counts.rejected,
                rejected_by: intake.rejected_by.clone(),
                equal_texts: if self.options.verify { items.equal_texts } else { 0 },
                empty: items.empty,
                ..RecordCounts::default()
            },
            rejects: intake.examples.clone(),
            input: self.input_counts(inputs, &intake)?,
            radius: RadiusReport {
                bits: radius.bits,
                k: radius.k,
                choice: radius.choice,
                reason: radius.reason.clone(),
                sampled: Some(radius.sample.sampled as u64).filter(|&sampled| sampled > 0),
                expected_candidates: radius.expected_candidates,
                expected_recall: self.options.verify.then_some(radius.expected_recall),
            },
            threshold: self.options.verify.then_some(self.options.threshold),
            search: SearchCounts {
                texts: items.blocks.rows,
                short_texts: items.short,
                fingerprints: self.parameters()?.fingerprints,
                matches: candidates.row_pairs,
                fingerprint_candidates: candidates.by_fingerprints,
                shingle_candidates: candidates.by_shingles + led.probed,
                candidates_a_document: (candidates.by_fingerprints + candidates.by_shingles + led.probed)
                    as f64
                    / counts.documents.max(1) as f64,
                verified: verified.verified + led.probed,
                duplicates: verified.duplicates + led.crowd_duplicates,
                pair_rows: None,
            },
            clusters: clusters(groups.sizes),
            recall: self.recall()?,
            hot_rows: hot_list::report(self)?,
            near_misses: led.near_misses.bands().clone(),
            intake,
            ..Report::default()
        };
        report.run.threads = rayon::current_num_threads();
        twinprint_fingerprint::kernel::level()
            .name()
            .clone_into(&mut report.run.kernels);
        report.run.spool_bytes = self.folder.bytes()?;
        StagedReport::new(self, report)
    }

    fn input_counts(&self, inputs: &[String], intake: &Intake) -> Result<InputCounts, DedupError> {
        let mut counts = InputCounts {
            damaged_files: intake
                .damaged()
                .map(|(file, damage)| DamagedFile {
                    source: file.source.clone(),
                    damage: damage.clone(),
                })
                .collect(),
            not_taken: UnreadParts {
                files: intake.damaged().count() as u64,
                loss: intake.loss(),
            },
            given: inputs.to_vec(),
            files: self.sources.list().len() as u64,
            skipped: self.sources.skipped().clone(),
            read_as_text: self.sources.as_text().clone(),
            empty_inputs: self.sources.empty_inputs().to_vec(),
            repeated_files: self.sources.repeated(),
            ..InputCounts::default()
        };
        for part in self.spec.parts() {
            let part = self.part(part)?;
            counts.bytes += part.input_bytes;
            counts.text_bytes += part.text_bytes;
            counts.blank_lines += part.blank_lines;
            add(&mut counts.other_records, &part.other_records);
            add(&mut counts.charsets, &part.charsets);
        }
        Ok(counts)
    }
}

fn add(sums: &mut BTreeMap<String, u64>, counts: &BTreeMap<String, u64>) {
    for (name, count) in counts {
        *sums.entry(name.clone()).or_default() += count;
    }
}

fn clusters(sizes: BTreeMap<u32, u64>) -> ClusterCounts {
    ClusterCounts {
        count: sizes.values().sum(),
        sizes,
    }
}
