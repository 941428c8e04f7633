//! Writes what a run found: `clusters.jsonl`, `kept/` and `removed/`, `config.toml`, `report.json`.

use std::collections::BTreeMap;

use cluster::{Group, Outcome};
use serde::Serialize;

use crate::annotate::{Annotate, Annotation, Annotator};
use crate::candidates::Candidates;
use crate::compare::hex;
use crate::config::Config;
use crate::corpus::Corpus;
use crate::error::DedupError;
use crate::keep::KeepOrder;
use crate::options::{DedupOptions, Mode};
use crate::progress::{Progress, peak_memory};
use crate::radius::Radius;
use crate::read::Counts;
use crate::report::{
    ClusterCounts, HotRowReport, InputCounts, LargeCluster, RadiusReport, RecordCounts, Report, SearchCounts,
};
use crate::rows::{self, ClusterRow, Names, Ratio};
use crate::sink::{self, Fate, OutputDir};
use crate::source::{Format, SourceOptions, Sources};
use crate::spool::{BlockBuffer, Spool};

/// Groups named in the report.
const LARGEST: usize = 10;
/// Hot rows named in the report.
const HOT_ROWS: usize = 20;
/// Members of a large group named.
const MEMBERS: usize = 5;
/// Characters of text shown.
const EXCERPT: usize = 160;

/// All that a finished search knows.
pub(crate) struct Run<'r> {
    pub(crate) options: &'r DedupOptions,
    pub(crate) source_options: &'r SourceOptions,
    pub(crate) inputs: &'r [String],
    pub(crate) sources: &'r Sources,
    pub(crate) corpus: &'r Corpus,
    pub(crate) keep: &'r KeepOrder,
    pub(crate) counts: &'r Counts,
    pub(crate) radius: &'r Radius,
    pub(crate) candidates: &'r Candidates,
    pub(crate) probed: u64,
    pub(crate) outcome: &'r Outcome,
    pub(crate) names: Names<'r>,
    pub(crate) spool: Option<&'r Spool>,
    pub(crate) pair_rows: Option<u64>,
}

/// What became of one document.
struct Verdict {
    /// The document that leads its group.
    leader: u32,
    /// Items of the document and of the leader.
    items: (u32, u32),
    group: Group,
}

impl Run<'_> {
    fn verdict(&self, document: u32) -> Verdict {
        let item = self.keep.item[self.corpus.documents.class[document as usize] as usize];
        let group = self.outcome.groups[item as usize];
        let leader = self.keep.representative[group.leader as usize];
        Verdict {
            leader,
            items: (item, group.leader),
            group,
        }
    }

    /// Documents of each leader's group, by its item.
    fn sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.keep.classes.len()];
        for (item, group) in self.outcome.groups.iter().enumerate() {
            sizes[group.leader as usize] += self.corpus.classes.size[self.keep.classes[item] as usize];
        }
        sizes
    }

    fn fingerprint(&self, item: u32) -> String {
        let full = self.corpus.classes.fingerprint[self.keep.classes[item as usize] as usize];
        hex(full, self.radius.bits)
    }
}

/// One row a document, singletons included, in input order.
pub(crate) fn write_clusters(run: &Run<'_>, dir: &OutputDir) -> Result<(), DedupError> {
    let sizes = run.sizes();
    let mut file = dir.file("clusters.jsonl")?;
    let mut buffer = Vec::new();
    for document in 0..run.corpus.documents.len() {
        let verdict = run.verdict(document);
        let leads = verdict.leader == document;
        let (source, line) = run.names.place(document);
        let leader_id = run.names.id(verdict.leader);
        let row = ClusterRow {
            id: &run.names.id(document),
            source,
            line,
            cluster_id: verdict.leader,
            cluster_size: sizes[verdict.items.1 as usize],
            is_leader: leads,
            duplicate_of: (!leads).then_some(&*leader_id),
            hamming: verdict.group.distance,
            jaccard: Ratio::of(verdict.group.similarity.jaccard).filter(|_| run.options.verify),
            fingerprint: &run.fingerprint(verdict.items.0),
            verified: (!run.options.verify).then_some(false),
        };
        rows::write(&mut file, &row, &mut buffer)?;
    }
    file.finish()?;
    Ok(())
}

/// About the bytes the last stage reads and writes.
pub(crate) fn bytes_to_write(run: &Run<'_>) -> u64 {
    if run.options.mode == Mode::Report {
        0
    } else {
        run.sources.total_bytes()
    }
}

/// Copies the input's records to `kept/` and `removed/`.
pub(crate) fn copy_records(
    run: &Run<'_>,
    dir: &OutputDir,
    progress: &dyn Progress,
) -> Result<(), DedupError> {
    let documents = &run.corpus.documents;
    let records = u64::from(documents.len()) + documents.rejected();
    let mut fates = vec![Fate::Reject; records as usize];
    for (document, ordinal) in (0u32..).zip(documents.record_ordinals()) {
        let keep = run.verdict(document).leader == document;
        fates[ordinal as usize] = if keep { Fate::Keep } else { Fate::Remove };
    }
    let fate = |ordinal: u64| fates.get(ordinal as usize).copied().unwrap_or(Fate::Reject);
    sink::copy_records_to(run.sources, &fate, dir, &|bytes| progress.advance(bytes))?;
    Ok(())
}

/// Refuses inputs that have no place for fields, and records that have such fields already as far as a short look tells.
pub(crate) fn check_annotation(sources: &Sources, options: &DedupOptions) -> Result<(), DedupError> {
    if let Some(file) = sources.list().iter().find(|file| file.format != Format::Jsonl) {
        return Err(DedupError::Option(format!(
            "--mode annotate: {} has no fields to add to (only .jsonl and .ndjson have); leave it out, or take --mode report, whose \
             clusters.jsonl says the same of every document",
            file.label
        )));
    }
    Annotator::new(options.columns, &options.prefix).look_ahead(sources)?;
    Ok(())
}

/// Copies the input's records to `annotated/` with fields that tell their groups.
pub(crate) fn annotate_records(
    run: &Run<'_>,
    dir: &OutputDir,
    progress: &dyn Progress,
) -> Result<(), DedupError> {
    let documents = &run.corpus.documents;
    let records = u64::from(documents.len()) + documents.rejected();
    let mut document_at = vec![u32::MAX; records as usize];
    for (document, ordinal) in (0u32..).zip(documents.record_ordinals()) {
        document_at[ordinal as usize] = document;
    }
    let (sizes, places) = (run.sizes(), places(run));
    let of = |ordinal: u64| {
        let document = *document_at.get(ordinal as usize).filter(|&&d| d != u32::MAX)?;
        let verdict = run.verdict(document);
        let class = documents.class[document as usize];
        let leads = verdict.leader == document;
        Some(Annotation {
            document,
            cluster_id: verdict.leader,
            cluster_size: sizes[verdict.items.1 as usize],
            duplicate_of: (!leads).then(|| run.names.id(verdict.leader)),
            hamming: verdict.group.distance,
            jaccard: Ratio::of(verdict.group.similarity.jaccard).filter(|_| run.options.verify),
            dup_count: run.corpus.classes.size[class as usize],
            place: places[document as usize],
        })
    };
    let annotate = Annotate {
        annotator: Annotator::new(run.options.columns, &run.options.prefix),
        sources: run.sources,
        of,
    };
    let fate = |ordinal: u64| match document_at.get(ordinal as usize) {
        Some(&document) if document != u32::MAX => Fate::Annotate,
        _ => Fate::Reject,
    };
    sink::annotate_records_to(run.sources, &fate, &annotate, dir, &|bytes| {
        progress.advance(bytes);
    })?;
    Ok(())
}

/// The place of every document in its group: 0 leads, the others follow in input order.
fn places(run: &Run<'_>) -> Vec<u32> {
    let mut followers = vec![0u32; run.keep.classes.len()];
    let place = |document: u32| {
        let verdict = run.verdict(document);
        if verdict.leader == document {
            return 0;
        }
        let followers = &mut followers[verdict.items.1 as usize];
        *followers += 1;
        *followers
    };
    (0..run.corpus.documents.len()).map(place).collect()
}

/// The effective configuration: run again with `--config` it gives the same result.
pub(crate) fn write_config(run: &Run<'_>, dir: &OutputDir) -> Result<(), DedupError> {
    let config = Config::of(run.inputs, run.source_options, run.options, run.radius);
    let mut file = dir.file("config.toml")?;
    file.append(config.to_toml().as_bytes())?;
    file.finish()?;
    Ok(())
}

/// Writes `report.json`.
pub(crate) fn write_report(report: &mut Report, dir: &OutputDir) -> Result<(), DedupError> {
    report.run.written_bytes = dir.written();
    report.run.peak_memory_bytes = peak_memory();
    let mut file = dir.file("report.json")?;
    let mut json = Vec::new();
    // A report is strings, numbers and maps of them, which always serialise.
    let mut serializer = serde_json::Serializer::pretty(&mut json);
    if report.serialize(&mut serializer).is_ok() {
        json.push(b'\n');
    }
    file.append(&json)?;
    file.finish()?;
    Ok(())
}

/// Everything but times.
pub(crate) fn report(run: &Run<'_>) -> Result<Report, DedupError> {
    let profile = run.options.profile_at(run.radius.bits)?;
    let sizes = run.sizes();
    let documents = &run.corpus.documents;
    let mut report = Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        profile: profile.id(),
        profile_checksum: format!("{:016x}", profile.checksum()),
        records: records(run),
        input: InputCounts {
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
            skipped: run.sources.skipped().clone(),
        },
        radius: RadiusReport {
            bits: run.radius.bits,
            k: run.radius.k,
            reason: run.radius.reason.clone(),
            expected_candidates: run.radius.expected_candidates,
            expected_recall: run.options.verify.then_some(run.radius.expected_recall),
        },
        threshold: run.options.verify.then_some(run.options.threshold),
        search: search(run),
        clusters: ClusterCounts::default(),
        largest: largest(run, &sizes)?,
        hot_rows: hot_rows(run),
        ..Report::default()
    };
    for &size in sizes.iter().filter(|&&size| size > 1) {
        report.clusters.count += 1;
        *report.clusters.sizes.entry(size).or_default() += 1;
    }
    for document in 0..documents.len() {
        let verdict = run.verdict(document);
        if verdict.leader == document {
            continue;
        }
        report.records.removed += 1;
        *report.distances.entry(verdict.group.distance).or_default() += 1;
        if run.options.verify {
            let band = (verdict.group.similarity.jaccard * 50.0 + 1e-9).floor() as u32 * 2;
            *report.jaccards.entry(band).or_default() += 1;
        }
    }
    report.records.kept = u64::from(documents.len()) - report.records.removed;
    report.run.threads = rayon::current_num_threads();
    fingerprint::kernel::level()
        .name()
        .clone_into(&mut report.run.kernels);
    report.run.plan.clone_from(&run.candidates.plan);
    report.run.spool_bytes = run.spool.map_or(0, Spool::bytes);
    Ok(report)
}

fn records(run: &Run<'_>) -> RecordCounts {
    let documents = &run.corpus.documents;
    let classes = &run.corpus.classes;
    let empty = |class: usize| u64::from(classes.features[class] == 0) * u64::from(classes.size[class]);
    RecordCounts {
        read: u64::from(documents.len()) + documents.rejected(),
        rejected: documents.rejected(),
        rejected_by: run
            .counts
            .rejects
            .iter()
            .map(|(&kind, &count)| (kind.to_owned(), count))
            .collect(),
        equal_texts: if run.options.verify {
            classes.size.iter().map(|&size| u64::from(size - 1)).sum()
        } else {
            0
        },
        empty: (0..classes.size.len()).map(empty).sum(),
        repeated_ids: documents.repeated_ids(),
        ..RecordCounts::default()
    }
}

fn search(run: &Run<'_>) -> SearchCounts {
    let candidates = run.candidates.edges.len() as u64 + run.probed;
    SearchCounts {
        texts: run.keep.classes.len() as u64,
        short_texts: run.candidates.short,
        fingerprints: run.candidates.rows,
        matches: run.candidates.row_pairs,
        fingerprint_candidates: run.candidates.edges.len() as u64 - run.candidates.by_shingles,
        shingle_candidates: run.candidates.by_shingles + run.probed,
        candidates_a_document: candidates as f64 / f64::from(run.corpus.documents.len().max(1)),
        verified: run.outcome.verified,
        duplicates: run.outcome.duplicates,
        pair_rows: run.pair_rows,
    }
}

fn largest(run: &Run<'_>, sizes: &[u32]) -> Result<Vec<LargeCluster>, DedupError> {
    let mut items: Vec<u32> = (0..sizes.len() as u32)
        .filter(|&item| sizes[item as usize] > 1)
        .collect();
    items.sort_by_key(|&item| (std::cmp::Reverse(sizes[item as usize]), item));
    items.truncate(LARGEST);
    let mut members: BTreeMap<u32, Vec<String>> = items.iter().map(|&item| (item, Vec::new())).collect();
    for document in 0..run.corpus.documents.len() {
        let verdict = run.verdict(document);
        if let Some(named) = members.get_mut(&verdict.items.1)
            && verdict.leader != document
            && named.len() < MEMBERS
        {
            named.push(run.names.id(document).into_owned());
        }
    }
    let mut buffer = BlockBuffer::default();
    let describe = |&item: &u32| {
        let leader = run.keep.representative[item as usize];
        let (source, line) = run.names.place(leader);
        let text = match run.spool {
            Some(spool) => {
                let place = run.corpus.classes.text[run.keep.classes[item as usize] as usize];
                spool.text(place, &mut buffer)?.chars().take(EXCERPT).collect()
            }
            None => String::new(),
        };
        Ok(LargeCluster {
            cluster_id: leader,
            size: sizes[item as usize],
            leader: run.names.id(leader).into_owned(),
            source: source.to_owned(),
            line,
            members: members.remove(&item).unwrap_or_default(),
            text,
        })
    };
    items.iter().map(describe).collect()
}

fn hot_rows(run: &Run<'_>) -> Vec<HotRowReport> {
    let hot = run.candidates.hot.iter().take(HOT_ROWS);
    hot.map(|row| HotRowReport {
        fingerprint: hex(row.fingerprint, run.radius.bits),
        texts: row.classes,
        neighbors: row.neighbors,
        example: run
            .names
            .id(run.keep.representative[row.item as usize])
            .into_owned(),
    })
    .collect()
}
