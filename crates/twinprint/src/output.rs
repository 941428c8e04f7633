//! Writes what a run found: `clusters.jsonl` and `clusters.parquet`, `kept/` and `removed/`, `config.toml`. For the report see [`crate::report`].

use cluster::{Group, Outcome};

use crate::annotate::{Annotate, Annotation, Annotator};
use crate::candidates::Candidates;
#[cfg(feature = "tables")]
use crate::cluster_table::ClusterTable;
use crate::compare::hex;
use crate::config::Config;
use crate::corpus::Corpus;
use crate::error::DedupError;
use crate::keep::KeepOrder;
use crate::near_misses::NearMisses;
use crate::options::{DedupOptions, Mode};
use crate::progress::Progress;
use crate::radius::Radius;
use crate::read::Counts;
use crate::rows::{self, ClusterRow, Names, Ratio};
use crate::sink::{self, Fate, OutputDir};
use crate::source::{Format, SourceOptions, Sources};
use crate::spool::Spool;

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
    pub(crate) near_misses: &'r NearMisses,
    pub(crate) names: Names<'r>,
    pub(crate) spool: Option<&'r Spool>,
    pub(crate) pair_rows: Option<u64>,
}

/// What became of one document.
pub(crate) struct Verdict {
    /// The document that leads its group.
    pub(crate) leader: u32,
    /// Items of the document and of the leader.
    pub(crate) items: (u32, u32),
    pub(crate) group: Group,
}

impl Run<'_> {
    pub(crate) fn verdict(&self, document: u32) -> Verdict {
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
    pub(crate) fn sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.keep.classes.len()];
        for (item, group) in self.outcome.groups.iter().enumerate() {
            sizes[group.leader as usize] += self.corpus.classes.size[self.keep.classes[item] as usize];
        }
        sizes
    }

    fn full_fingerprint(&self, item: u32) -> u128 {
        self.corpus.classes.fingerprint[self.keep.classes[item as usize] as usize]
    }

    fn fingerprint(&self, item: u32) -> String {
        hex(self.full_fingerprint(item), self.radius.bits)
    }
}

/// One row a document, singletons included, in input order.
pub(crate) fn write_clusters(run: &Run<'_>, dir: &OutputDir) -> Result<(), DedupError> {
    let sizes = run.sizes();
    let mut file = dir.file("clusters.jsonl")?;
    #[cfg(feature = "tables")]
    let mut table = ClusterTable::create(dir, run.radius.bits, run.options.verify)?;
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
        #[cfg(feature = "tables")]
        table.push(&row, run.full_fingerprint(verdict.items.0))?;
    }
    file.finish()?;
    #[cfg(feature = "tables")]
    table.finish()?;
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
