//! Collects the counts of a finished run for its [`Report`].

use crate::error::DedupError;
use crate::ids::{ClassId, IdVec, ItemId};
use crate::verify::near_misses::band;
use crate::write::FinishedRun;
use twinprint_io::results::{
    ClusterCounts, DamagedFile, HotRowReport, InputCounts, PlanReport, RadiusReport, RecordCounts, Report,
    SearchCounts, UnreadParts,
};
use twinprint_io::source::{Damage, FileIntake};
use twinprint_text::fingerprint_hex;

/// The largest number of plans in the report.
const MAX_PLANS: usize = 6;

/// Collects the report without its times and without the groups and pairs that are shown as examples.
pub(super) fn counts(run: &FinishedRun<'_>, sizes: &IdVec<ItemId, u32>) -> Result<Report, DedupError> {
    let profile = run.input.options.profile_at(run.tables.radius.bits)?;
    let mut report = Report {
        version: twinprint_io::VERSION.to_owned(),
        profile: profile.id(),
        profile_checksum: format!("{:016x}", profile.checksum()),
        records: records(run),
        rejects: run.tables.counts.intake.examples.clone(),
        intake: run.tables.counts.intake.clone(),
        input: InputCounts {
            damaged_files: run.tables.counts.intake.damaged().map(damaged_file).collect(),
            not_taken: UnreadParts {
                files: run.tables.counts.intake.damaged().count() as u64,
                loss: run.tables.counts.intake.loss(),
            },
            given: run.input.inputs.to_vec(),
            files: run.input.sources.list().len() as u64,
            bytes: run.tables.counts.input_bytes,
            text_bytes: run.tables.counts.text_bytes,
            blank_lines: run.tables.counts.blank_lines,
            other_records: run
                .tables
                .counts
                .other_records
                .iter()
                .map(|(&kind, &n)| (kind.to_owned(), n))
                .collect(),
            charsets: run
                .input
                .sources
                .charsets()
                .into_iter()
                .map(|(name, n)| (name.to_owned(), n))
                .collect(),
            skipped: run.input.sources.skipped().clone(),
            read_as_text: run.input.sources.as_text().clone(),
            empty_inputs: run.input.sources.empty_inputs().to_vec(),
            limit_reached: run.input.sources.limit_reached().is_some(),
            files_not_begun: run.input.sources.limit_reached().unwrap_or(0),
            repeated_files: run.input.sources.repeated(),
        },
        radius: radius(run),
        threshold: run.input.options.verify.then_some(run.input.options.threshold),
        recall: run.tables.recall,
        search: search(run),
        clusters: clusters(sizes),
        near_misses: run.tables.near_misses.bands().clone(),
        hot_rows: hot_rows(run),
        ..Report::default()
    };
    removed(run, &mut report);
    report.run.threads = rayon::current_num_threads();
    twinprint_fingerprint::kernel::level()
        .name()
        .clone_into(&mut report.run.kernels);
    report.run.plan.clone_from(&run.tables.candidates.plan);
    report.run.plans = plans(run);
    report.parts = run.parts;
    Ok(report)
}

/// Counts the removed documents. Duplicates of documents of the same run are counted by distance and by Jaccard.
fn removed(run: &FinishedRun<'_>, report: &mut Report) {
    let documents = &run.tables.corpus.documents;
    for document in documents.document_ids() {
        let verdict = run.verdict(document);
        if verdict.kept() {
            continue;
        }
        report.records.removed += 1;
        if verdict.empty {
            report.records.removed_empty += 1;
            continue;
        }
        if verdict.known.is_some() {
            report.records.removed_known += 1;
            continue;
        }
        if verdict.item == verdict.leader_item {
            report.records.removed_equal += 1;
        }
        *report.distances.entry(verdict.group.distance).or_default() += 1;
        if run.input.options.verify {
            let band = band(verdict.group.similarity.jaccard);
            *report.jaccards.entry(band).or_default() += 1;
        }
    }
    report.records.kept = documents.len() as u64 - report.records.removed;
}

fn radius(run: &FinishedRun<'_>) -> RadiusReport {
    RadiusReport {
        bits: run.tables.radius.bits,
        k: run.tables.radius.k,
        choice: run.tables.radius.choice,
        reason: run.tables.radius.reason.clone(),
        sampled: Some(run.tables.radius.sample.sampled as u64).filter(|&sampled| sampled > 0),
        expected_candidates: run.tables.radius.expected_candidates,
        expected_recall: run
            .input
            .options
            .verify
            .then_some(run.tables.radius.expected_recall),
    }
}

fn clusters(sizes: &IdVec<ItemId, u32>) -> ClusterCounts {
    let mut counts = ClusterCounts::default();
    for &size in sizes.iter().filter(|&&size| size > 1) {
        counts.count += 1;
        *counts.sizes.entry(size).or_default() += 1;
    }
    counts
}

fn records(run: &FinishedRun<'_>) -> RecordCounts {
    let documents = &run.tables.corpus.documents;
    let classes = &run.tables.corpus.classes;
    let empty = |&class: &ClassId| classes.is_empty_text(class);
    RecordCounts {
        read: documents.records(),
        rejected: documents.rejected(),
        rejected_by: run.tables.counts.intake.rejected_by.clone(),
        equal_texts: if run.input.options.verify {
            classes
                .class_ids()
                .map(|class| u64::from(classes.copies(class) - 1))
                .sum()
        } else {
            0
        },
        empty: classes
            .class_ids()
            .filter(empty)
            .map(|class| u64::from(classes.size(class)))
            .sum(),
        repeated_ids: documents.repeated_ids(),
        ..RecordCounts::default()
    }
}

fn damaged_file((file, damage): (&FileIntake, &Damage)) -> DamagedFile {
    DamagedFile {
        source: file.source.clone(),
        damage: damage.clone(),
    }
}

fn search(run: &FinishedRun<'_>) -> SearchCounts {
    let candidates = run.tables.candidates.edges.len() as u64 + run.tables.probed;
    SearchCounts {
        texts: run.tables.keep.len() as u64,
        short_texts: run.tables.candidates.short,
        fingerprints: run.tables.candidates.rows,
        matches: run.tables.candidates.row_pairs,
        fingerprint_candidates: run.tables.candidates.edges.len() as u64 - run.tables.candidates.by_shingles,
        shingle_candidates: run.tables.candidates.by_shingles + run.tables.probed,
        candidates_a_document: candidates as f64 / run.tables.corpus.documents.len().max(1) as f64,
        verified: run.tables.outcome.verified,
        duplicates: run.tables.outcome.duplicates,
        pair_rows: run.tables.pairs.rows,
    }
}

fn hot_rows(run: &FinishedRun<'_>) -> Vec<HotRowReport> {
    let hot = run.tables.candidates.hot.iter();
    hot.map(|row| HotRowReport {
        fingerprint: fingerprint_hex(row.fingerprint, run.tables.radius.bits),
        texts: row.classes,
        neighbors: row.neighbors,
        example: run
            .names
            .id(run.tables.keep.representative(row.item))
            .into_owned(),
    })
    .collect()
}

fn plans(run: &FinishedRun<'_>) -> Vec<PlanReport> {
    let plans = run.tables.candidates.plans.iter().take(MAX_PLANS);
    plans
        .map(|plan| PlanReport {
            name: plan.name.clone(),
            tables: plan.tables,
            seconds: plan.cost / 1e9,
            bytes: plan.bytes,
            verdict: plan.verdict.clone(),
        })
        .collect()
}
