//! Writes what a run found: `clusters.jsonl` and `clusters.parquet`, `kept/` and `removed/`, `config.toml`. For the report see [`crate::report`].

pub(crate) mod annotate;
#[cfg(feature = "tables")]
mod cluster_table;
pub(crate) mod pairs;
mod similar_order;

use std::borrow::Cow;
use std::path::Path;

use twinprint_cluster::{Group, Outcome};

use crate::candidates::Candidates;
use crate::candidates::radius::Radius;
use crate::config::Config;
use crate::corpus::Corpus;
use crate::corpus::Names;
use crate::corpus::keep_order::KeepOrder;
use crate::error::DedupError;
use crate::known::{Known, KnownClasses};
use crate::options::Columns;
use crate::options::{ClusterFiles, DedupOptions, EmptyTexts, Mode, Order};
use crate::read::Counts;
use crate::verify::near_misses::NearMisses;
use annotate::{Annotate, Annotation, Annotator};
#[cfg(feature = "tables")]
use cluster_table::{ClusterTable, IdTypes};
use twinprint_io::progress::Progress;
use twinprint_io::results::ClusterRow;
use twinprint_io::results::OrderReport;
use twinprint_io::results::PartsReport;
use twinprint_io::rows::{self, Ratio};
use twinprint_io::sink::{self, CopyOptions, OutputDir, OutputFile, RecordAction};
use twinprint_io::source::{SourceOptions, Sources};
use twinprint_io::work::Spool;
use twinprint_text::fingerprint_hex;

/// The tables and results of a run whose search has finished: the input of the files and of the report.
pub(crate) struct FinishedRun<'r> {
    pub(crate) options: &'r DedupOptions,
    pub(crate) source_options: &'r SourceOptions,
    pub(crate) inputs: &'r [String],
    pub(crate) sources: &'r Sources,
    pub(crate) corpus: &'r Corpus,
    pub(crate) keep: &'r KeepOrder,
    pub(crate) known: &'r KnownClasses,
    pub(crate) counts: &'r Counts,
    pub(crate) radius: &'r Radius,
    pub(crate) candidates: &'r Candidates,
    pub(crate) probed: u64,
    pub(crate) outcome: &'r Outcome,
    pub(crate) near_misses: &'r NearMisses,
    pub(crate) names: Names<'r>,
    pub(crate) spool: Option<&'r Spool>,
    pub(crate) pair_rows: Option<u64>,
    pub(crate) parts: Option<PartsReport>,
}

/// What became of one document.
pub(crate) struct Verdict<'r> {
    /// Its number.
    document: u32,
    /// The document that leads its group.
    pub(crate) leader: u32,
    /// Items of the document and of the leader.
    pub(crate) items: (u32, u32),
    pub(crate) group: Group,
    /// What it duplicates among what was known from before; then its group is of equal texts, and all of it is removed.
    pub(crate) known: Option<&'r Known>,
    /// The text has no features and such texts are removed.
    pub(crate) empty: bool,
}

impl<'r> Verdict<'r> {
    /// Whether the document is kept.
    pub(crate) fn kept(&self) -> bool {
        self.leader == self.document && self.known.is_none() && !self.empty
    }

    /// The id of the document that it duplicates.
    fn duplicate_of<'n>(&self, names: &'n Names<'_>) -> Option<Cow<'n, str>>
    where
        'r: 'n,
    {
        match self.known {
            Some(known) => Some(Cow::Borrowed(&known.id)),
            None => (self.leader != self.document).then(|| names.id(self.leader)),
        }
    }

    /// The number of documents that this one stands for in a group of `cluster_size`: all of them, itself included, if it is kept, and none
    /// if it is removed. Over all documents these counts add up to those that were kept or have a duplicate that was.
    pub(crate) fn dup_count(&self, cluster_size: u32) -> u32 {
        if self.kept() { cluster_size } else { 0 }
    }

    fn hamming(&self) -> u32 {
        self.known.map_or(self.group.distance, |known| known.hamming)
    }

    /// Of a verified run.
    fn jaccard(&self) -> Option<Ratio> {
        match self.known {
            Some(known) => known.jaccard.and_then(Ratio::new),
            None => Ratio::new(self.group.similarity.jaccard),
        }
    }
}

impl FinishedRun<'_> {
    pub(crate) fn verdict(&self, document: u32) -> Verdict<'_> {
        let class = self.corpus.documents.class[document as usize];
        let item = self.keep.item[class as usize];
        let group = self.outcome.groups[item as usize];
        let is_empty_text = self.corpus.classes.is_empty_text(class);
        Verdict {
            document,
            leader: if is_empty_text {
                document
            } else {
                self.keep.representative[group.leader as usize]
            },
            items: (item, group.leader),
            group,
            known: self.known.of(class),
            empty: is_empty_text && self.options.empty == EmptyTexts::Remove,
        }
    }

    /// Documents of each leader's group, by its item.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.keep.classes.len()];
        for (item, group) in self.outcome.groups.iter().enumerate() {
            sizes[group.leader as usize] += self.corpus.classes.copies(self.keep.classes[item]);
        }
        sizes
    }

    /// The types of ids in tables. What is duplicated has that of the documents where it is one of them.
    #[cfg(feature = "tables")]
    fn id_types(&self) -> IdTypes {
        let own = self.corpus.documents.id_type();
        IdTypes {
            own,
            duplicate_of: own.filter(|_| self.options.against.is_none()),
        }
    }

    fn full_fingerprint(&self, item: u32) -> u128 {
        self.corpus.classes.fingerprint[self.keep.classes[item as usize] as usize]
    }

    fn fingerprint(&self, item: u32) -> String {
        fingerprint_hex(self.full_fingerprint(item), self.radius.bits)
    }
}

/// One row a document, singletons included, in input order.
pub(crate) fn write_clusters(run: &FinishedRun<'_>, dir: &OutputDir) -> Result<(), DedupError> {
    let sizes = run.sizes();
    let wanted = run.options.clusters;
    let mut file = matches!(wanted, ClusterFiles::Jsonl | ClusterFiles::Both)
        .then(|| dir.file("clusters.jsonl"))
        .transpose()?;
    #[cfg(feature = "tables")]
    let mut table = matches!(wanted, ClusterFiles::Parquet | ClusterFiles::Both)
        .then(|| {
            let verified = run.options.verify && run.known.verified();
            ClusterTable::create(dir, run.radius.bits, verified, run.id_types())
        })
        .transpose()?;
    let mut buffer = Vec::new();
    for document in 0..run.corpus.documents.len() {
        let verdict = run.verdict(document);
        let (source, line) = run.names.place(document);
        let duplicate_of = verdict.duplicate_of(&run.names);
        let verified = run.options.verify && verdict.known.is_none_or(|known| known.jaccard.is_some());
        let cluster_size = sizes[verdict.items.1 as usize];
        let row = ClusterRow {
            id: run.names.id(document),
            source: source.into(),
            line,
            cluster_id: verdict.leader,
            cluster_size,
            is_leader: verdict.kept(),
            duplicate_of: duplicate_of.as_deref().map(Cow::Borrowed),
            hamming: verdict.hamming(),
            jaccard: verdict.jaccard().filter(|_| run.options.verify),
            fingerprint: run.fingerprint(verdict.items.0).into(),
            dup_count: verdict.dup_count(cluster_size),
            verified: (!verified).then_some(false),
        };
        if let Some(file) = &mut file {
            rows::write(file, &row, &mut buffer)?;
        }
        #[cfg(feature = "tables")]
        if let Some(table) = &mut table {
            table.push(&row, run.full_fingerprint(verdict.items.0))?;
        }
    }
    file.map_or(Ok(0), OutputFile::finish)?;
    #[cfg(feature = "tables")]
    table.map_or(Ok(()), ClusterTable::finish)?;
    Ok(())
}

/// About the bytes the last stage reads and writes.
pub(crate) fn bytes_to_write(run: &FinishedRun<'_>) -> u64 {
    if run.options.mode == Mode::Report {
        0
    } else {
        run.sources.total_bytes()
    }
}

/// No document: the record was rejected.
const REJECTED: u32 = u32::MAX;

/// Copies the input's records to `kept/` and `removed/`, or to `annotated/`, with the fields asked for.
pub(crate) fn copy_records(
    run: &FinishedRun<'_>,
    dir: &OutputDir,
    work: &Path,
    progress: &dyn Progress,
) -> Result<Option<OrderReport>, DedupError> {
    let documents = &run.corpus.documents;
    let records = u64::from(documents.len()) + documents.rejected();
    let mut document_at = vec![REJECTED; records as usize];
    for (document, ordinal) in (0u32..).zip(documents.record_ordinals()) {
        document_at[ordinal as usize] = document;
    }
    let document = |ordinal: u64| {
        let document = document_at.get(ordinal as usize).copied();
        document.filter(|&document| document != REJECTED)
    };
    let fate = |ordinal: u64| match document(ordinal) {
        None => RecordAction::Reject,
        Some(_) if run.options.mode == Mode::Annotate => RecordAction::Annotate,
        Some(document) if run.verdict(document).kept() => RecordAction::Keep,
        Some(_) => RecordAction::Remove,
    };
    let Some(columns) = run.options.added_columns() else {
        return copy(run, &fate, None, dir, work, progress);
    };
    let (sizes, places) = (run.sizes(), places(run));
    let of = |ordinal: u64| {
        let document = document(ordinal)?;
        let verdict = run.verdict(document);
        let cluster_size = sizes[verdict.items.1 as usize];
        Some(Annotation {
            document,
            cluster_id: verdict.leader,
            cluster_size,
            duplicate_of: verdict.duplicate_of(&run.names),
            hamming: verdict.hamming(),
            jaccard: verdict.jaccard().filter(|_| run.options.verify),
            is_leader: verdict.kept(),
            dup_count: verdict.dup_count(cluster_size),
            place: places[document as usize],
        })
    };
    let annotate = Annotate {
        annotator: Annotator::new(columns, &run.options.prefix),
        sources: run.sources,
        of,
    };
    copy(run, &fate, Some(&annotate), dir, work, progress)
}

/// Copies records, in the order asked for.
fn copy(
    run: &FinishedRun<'_>,
    fate: &dyn Fn(u64) -> RecordAction,
    edit: Option<&dyn sink::Edit>,
    dir: &OutputDir,
    work: &Path,
    progress: &dyn Progress,
) -> Result<Option<OrderReport>, DedupError> {
    let ranks = match run.options.order {
        Order::Input => Vec::new(),
        Order::Similar => ranks(run),
    };
    let rank = |ordinal: u64| ranks.get(ordinal as usize).copied().unwrap_or(0);
    let order = sink::RecordOrder { rank: &rank, work };
    let order = (run.options.order == Order::Similar).then_some(order);
    let main = match run.options.mode {
        Mode::Annotate => RecordAction::Annotate,
        Mode::Remove | Mode::Report => RecordAction::Keep,
    };
    let how = CopyOptions {
        action: fate,
        main,
        edit,
        order,
    };
    let written = sink::copy_all(run.sources, how, dir, &|bytes| progress.advance(bytes))?;
    Ok(order.map(|_| OrderReport {
        zstd_before: written.zstd.before,
        zstd_after: written.zstd.after,
        files_left: files_left(run.sources),
    }))
}

/// The rank of each record, by its ordinal, where relatives stand next to one another.
fn ranks(run: &FinishedRun<'_>) -> Vec<u32> {
    let (documents, classes) = (&run.corpus.documents, &run.corpus.classes);
    // What was removed does not stand between others, and through it the walk would lose its way.
    let kept = |item: u32| {
        let known = run.known.of(run.keep.classes[item as usize]);
        run.outcome.groups[item as usize].leader == item && known.is_none()
    };
    let stands = |item: u32| run.options.mode == Mode::Annotate || kept(item);
    let edges = run.candidates.edges.iter();
    let edges = edges.filter(|edge| stands(edge.item) && stands(edge.earlier));
    let class = |item: u32| run.keep.classes[item as usize];
    let pairs = || edges.clone().map(|edge| (class(edge.item), class(edge.earlier)));
    let fingerprint = |class: u32| classes.fingerprint[class as usize];
    let distance = |a, b| (fingerprint(a) ^ fingerprint(b)).count_ones();
    let of_class = similar_order::ranks(classes.len(), pairs, distance);
    let mut ranks = vec![0; documents.len() as usize + documents.rejected() as usize];
    for (&class, ordinal) in documents.class.iter().zip(documents.record_ordinals()) {
        ranks[ordinal as usize] = of_class[class as usize];
    }
    ranks
}

/// Files that keep the order of the input whatever is asked for.
fn files_left(sources: &Sources) -> u64 {
    let left = sources.list().iter().filter(|file| !file.format.is_by_line());
    left.count() as u64
}

/// Says which files cannot be put in order, and refuses where that is all of them.
pub(crate) fn check_order(sources: &Sources, progress: &dyn Progress) -> Result<(), DedupError> {
    let (left, all) = (files_left(sources), sources.list().len() as u64);
    if left == all {
        return Err(DedupError::option(
            "order",
            "only files with a record a line (.jsonl, .ndjson, text files read by line) can be put in order, and none of the inputs is one",
        ));
    }
    if left > 0 {
        progress.warn(&format!(
            "order: {left} of {all} files are not of a record a line and stay in the order of the input"
        ));
    }
    Ok(())
}

/// Refuses inputs that have no place for fields, and records that have such fields already as far as a short look tells.
pub(crate) fn check_columns(
    sources: &Sources,
    columns: Columns,
    options: &DedupOptions,
) -> Result<(), DedupError> {
    let read = sources.list().iter().filter(|file| file.unreadable.is_none());
    if let Some(file) = read.into_iter().find(|file| !Annotator::takes(file.format)) {
        let option = match options.mode {
            Mode::Annotate => "mode",
            Mode::Remove | Mode::Report => "columns",
        };
        return Err(DedupError::option(
            option,
            format!(
                "{} has no fields to add to (records of .jsonl, .json, .csv, .tsv, .parquet and .arrow have); leave the file out, or \
                 read the same from clusters.jsonl, which every mode writes",
                file.label
            ),
        ));
    }
    Annotator::new(columns, &options.prefix).look_ahead(sources)?;
    Ok(())
}

/// The place of every document in its group: 0 leads, the others follow in input order.
fn places(run: &FinishedRun<'_>) -> Vec<u32> {
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
pub(crate) fn write_config(run: &FinishedRun<'_>, dir: &OutputDir) -> Result<(), DedupError> {
    let config = Config::of(run.inputs, run.source_options, run.options, run.radius);
    let mut file = dir.file("config.toml")?;
    file.append(config.to_toml().as_bytes())?;
    file.finish()?;
    Ok(())
}
