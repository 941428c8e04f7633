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
use twinprint_io::work::Spool;
use twinprint_text::fingerprint_hex;

/// The largest number of plans in the report.
const MAX_PLANS: usize = 6;

/// Collects the report without its times and without the groups and pairs that are shown as examples.
pub(super) fn counts(run: &FinishedRun<'_>, sizes: &IdVec<ItemId, u32>) -> Result<Report, DedupError> {
    let profile = run.options.profile_at(run.radius.bits)?;
    let mut report = Report {
        version: twinprint_io::VERSION.to_owned(),
        profile: profile.id(),
        profile_checksum: format!("{:016x}", profile.checksum()),
        records: records(run),
        rejects: run.counts.intake.examples.clone(),
        intake: run.counts.intake.clone(),
        input: InputCounts {
            damaged_files: run.counts.intake.damaged().map(damaged_file).collect(),
            not_taken: UnreadParts {
                files: run.counts.intake.damaged().count() as u64,
                loss: run.counts.intake.loss(),
            },
            given: run.inputs.to_vec(),
            files: run.sources.list().len() as u64,
            bytes: run.counts.input_bytes,
            text_bytes: run.counts.text_bytes,
            blank_lines: run.counts.blank_lines,
            other_records: run
                .counts
                .other_records
                .iter()
                .map(|(&kind, &n)| (kind.to_owned(), n))
                .collect(),
            charsets: run
                .sources
                .charsets()
                .into_iter()
                .map(|(name, n)| (name.to_owned(), n))
                .collect(),
            skipped: run.sources.skipped().clone(),
            read_as_text: run.sources.as_text().clone(),
            empty_inputs: run.sources.empty_inputs().to_vec(),
            limit_reached: run.sources.limit_reached().is_some(),
            files_not_begun: run.sources.limit_reached().unwrap_or(0),
            repeated_files: run.sources.repeated(),
        },
        radius: radius(run),
        threshold: run.options.verify.then_some(run.options.threshold),
        recall: run.recall,
        search: search(run),
        clusters: clusters(sizes),
        near_misses: run.near_misses.bands(),
        hot_rows: hot_rows(run),
        ..Report::default()
    };
    removed(run, &mut report);
    report.run.threads = rayon::current_num_threads();
    twinprint_fingerprint::kernel::level()
        .name()
        .clone_into(&mut report.run.kernels);
    report.run.plan.clone_from(&run.candidates.plan);
    report.run.plans = plans(run);
    report.parts = run.parts;
    report.run.spool_bytes = run.spool.map_or(0, Spool::bytes);
    Ok(report)
}

/// Counts the removed documents. Duplicates of documents of the same run are counted by distance and by Jaccard.
fn removed(run: &FinishedRun<'_>, report: &mut Report) {
    let documents = &run.corpus.documents;
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
        if run.options.verify {
            let band = band(verdict.group.similarity.jaccard);
            *report.jaccards.entry(band).or_default() += 1;
        }
    }
    report.records.kept = documents.len() as u64 - report.records.removed;
}

fn radius(run: &FinishedRun<'_>) -> RadiusReport {
    RadiusReport {
        bits: run.radius.bits,
        k: run.radius.k,
        choice: run.radius.choice,
        reason: run.radius.reason.clone(),
        sampled: Some(run.radius.sample.sampled as u64).filter(|&sampled| sampled > 0),
        expected_candidates: run.radius.expected_candidates,
        expected_recall: run.options.verify.then_some(run.radius.expected_recall),
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
    let documents = &run.corpus.documents;
    let classes = &run.corpus.classes;
    let empty = |&class: &ClassId| classes.is_empty_text(class);
    RecordCounts {
        read: documents.records(),
        rejected: documents.rejected(),
        rejected_by: run.counts.intake.rejected_by.clone(),
        equal_texts: if run.options.verify {
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
            .map(|class| u64::from(classes.size[class]))
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
    let candidates = run.candidates.edges.len() as u64 + run.probed;
    SearchCounts {
        texts: run.keep.len() as u64,
        short_texts: run.candidates.short,
        fingerprints: run.candidates.rows,
        matches: run.candidates.row_pairs,
        fingerprint_candidates: run.candidates.edges.len() as u64 - run.candidates.by_shingles,
        shingle_candidates: run.candidates.by_shingles + run.probed,
        candidates_a_document: candidates as f64 / run.corpus.documents.len().max(1) as f64,
        verified: run.outcome.verified,
        duplicates: run.outcome.duplicates,
        pair_rows: run.pair_rows,
    }
}

fn hot_rows(run: &FinishedRun<'_>) -> Vec<HotRowReport> {
    let hot = run.candidates.hot.iter();
    hot.map(|row| HotRowReport {
        fingerprint: fingerprint_hex(row.fingerprint, run.radius.bits),
        texts: row.classes,
        neighbors: row.neighbors,
        example: run.names.id(run.keep.representative[row.item]).into_owned(),
    })
    .collect()
}

fn plans(run: &FinishedRun<'_>) -> Vec<PlanReport> {
    let plans = run.candidates.plans.iter().take(MAX_PLANS);
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
