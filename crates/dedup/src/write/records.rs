//! Copies the records of the input to the output: to `kept/` and `removed/`, or to `annotated/`.

use std::path::Path;

use super::annotate::{Annotate, Annotation, Annotator};
use super::{FinishedRun, similar_order};
use crate::corpus::Documents;
use crate::error::DedupError;
use crate::ids::{DocumentId, Id, IdVec, ItemId};
use crate::options::{Columns, DedupOptions, Mode, Order};
use twinprint_io::progress::Progress;
use twinprint_io::results::OrderReport;
use twinprint_io::sink::{self, CopyOptions, OutputDir, RecordAction};
use twinprint_io::source::Sources;

/// The number of the document at each position among all records, rejects included.
struct DocumentsByRecord(Vec<u32>);

impl DocumentsByRecord {
    /// The entry at the position of a rejected record.
    const REJECT: u32 = u32::MAX;

    fn new(documents: &Documents) -> Self {
        let mut by_record = vec![Self::REJECT; documents.records() as usize];
        for (document, ordinal) in documents.document_ids().zip(documents.record_ordinals()) {
            if let Some(entry) = by_record.get_mut(ordinal as usize) {
                *entry = document.get();
            }
        }
        Self(by_record)
    }

    /// The document at a position among all records; `None` for a reject.
    fn document(&self, ordinal: u64) -> Option<DocumentId> {
        let document = self.0.get(ordinal as usize).copied();
        document
            .filter(|&document| document != Self::REJECT)
            .map(DocumentId::new)
    }
}

/// Copies the input's records to `kept/` and `removed/`, or to `annotated/`, and adds the fields that the options ask
/// for.
pub(crate) fn copy_records(
    run: &FinishedRun<'_>,
    dir: &OutputDir,
    work: &Path,
    progress: &dyn Progress,
) -> Result<Option<OrderReport>, DedupError> {
    let by_record = DocumentsByRecord::new(&run.tables.corpus.documents);
    let document = |ordinal: u64| by_record.document(ordinal);
    let action = |ordinal: u64| match document(ordinal) {
        None => RecordAction::Reject,
        Some(_) if run.input.options.mode == Mode::Annotate => RecordAction::Annotate,
        Some(document) if run.verdict(document).kept() => RecordAction::Keep,
        Some(_) => RecordAction::Remove,
    };
    let Some(columns) = run.input.options.added_columns() else {
        return copy(run, &action, None, dir, work, progress);
    };
    let (sizes, places) = (run.sizes(), places(run));
    let annotation = |ordinal: u64| {
        let document = document(ordinal)?;
        let verdict = run.verdict(document);
        let cluster_size = sizes[verdict.leader_item];
        Some(Annotation {
            document: document.get(),
            cluster_id: verdict.leader.get(),
            cluster_size,
            duplicate_of: verdict.duplicate_of(&run.names),
            hamming: verdict.hamming(),
            jaccard: verdict.jaccard().filter(|_| run.input.options.verify),
            is_leader: verdict.kept(),
            dup_count: verdict.dup_count(cluster_size),
            place: places[document],
        })
    };
    let annotate = Annotate {
        annotator: Annotator::new(columns, &run.input.options.prefix),
        sources: run.input.sources,
        annotation,
    };
    copy(run, &action, Some(&annotate), dir, work, progress)
}

/// Copies the records in the order that the options ask for. `action` decides where a record goes, and `edit` adds
/// fields.
fn copy(
    run: &FinishedRun<'_>,
    action: &dyn Fn(u64) -> RecordAction,
    edit: Option<&dyn sink::Edit>,
    dir: &OutputDir,
    work: &Path,
    progress: &dyn Progress,
) -> Result<Option<OrderReport>, DedupError> {
    let ranks = match run.input.options.order {
        Order::Input => Vec::new(),
        Order::Similar => ranks(run),
    };
    let rank = |ordinal: u64| ranks.get(ordinal as usize).copied().unwrap_or(0);
    let order = sink::RecordOrder { rank: &rank, work };
    let order = (run.input.options.order == Order::Similar).then_some(order);
    let main = match run.input.options.mode {
        Mode::Annotate => RecordAction::Annotate,
        Mode::Remove | Mode::Report => RecordAction::Keep,
    };
    let copy_options = CopyOptions {
        action,
        main,
        edit,
        order,
    };
    let written = sink::copy_all(run.input.sources, copy_options, dir, &|bytes| {
        progress.advance(bytes);
    })?;
    Ok(order.map(|_| OrderReport {
        zstd_before: written.zstd.before,
        zstd_after: written.zstd.after,
        files_left: files_left(run.input.sources),
    }))
}

/// For each record, by its position in the input, the rank in an order that puts similar documents next to one another.
fn ranks(run: &FinishedRun<'_>) -> Vec<u32> {
    let (documents, classes) = (&run.tables.corpus.documents, &run.tables.corpus.classes);
    // Removed texts are not written in this order, so the walk over similar texts must not continue from them.
    let is_kept = |item: ItemId| {
        let known = run.tables.known.of(run.tables.keep.classes.of(item));
        run.groups()[item].leader == item.get() && known.is_none()
    };
    let is_ordered = |item: ItemId| run.input.options.mode == Mode::Annotate || is_kept(item);
    let edges = run.tables.candidates.edges.iter();
    let edges = edges.filter(|edge| is_ordered(edge.item) && is_ordered(edge.earlier));
    let class = |item: ItemId| run.tables.keep.classes.of(item);
    let pairs = || edges.clone().map(|edge| (class(edge.item), class(edge.earlier)));
    let distance = |a, b| (classes.fingerprint[a] ^ classes.fingerprint[b]).count_ones();
    let of_class = similar_order::ranks(classes.len(), pairs, distance);
    let mut ranks = vec![0; documents.records() as usize];
    for (&class, ordinal) in documents.class.iter().zip(documents.record_ordinals()) {
        if let Some(rank) = ranks.get_mut(ordinal as usize) {
            *rank = of_class[class];
        }
    }
    ranks
}

/// The number of files whose records stay in input order with every option, because the files do not have one record
/// per line.
fn files_left(sources: &Sources) -> u64 {
    let left = sources.list().iter().filter(|file| !file.format.is_by_line());
    left.count() as u64
}

/// Warns about files whose records cannot be put in order. Fails if all files are such.
pub(crate) fn check_order(sources: &Sources, progress: &dyn Progress) -> Result<(), DedupError> {
    let (left, all) = (files_left(sources), sources.list().len() as u64);
    if left == all {
        return Err(DedupError::option(
            "order",
            "only files with one record per line (.jsonl, .ndjson, text files read by line) can be put in order, and \
             no input is such a file; leave it out",
        ));
    }
    if left > 0 {
        progress.warn(&format!(
            "order: {left} of {all} files do not have one record per line and stay in the order of the input"
        ));
    }
    Ok(())
}

/// Fails if the records of an input have no fields to which others can be added, or if records at the beginning of some
/// files already have a field with the name of an added one.
pub(crate) fn check_columns(
    sources: &Sources,
    columns: Columns,
    options: &DedupOptions,
) -> Result<(), DedupError> {
    let read = sources.list().iter().filter(|file| file.unreadable.is_none());
    if let Some(file) = read.into_iter().find(|file| !Annotator::accepts(file.format)) {
        let option = match options.mode {
            Mode::Annotate => "mode",
            Mode::Remove | Mode::Report => "columns",
        };
        return Err(DedupError::option(
            option,
            format!(
                "{} has no fields, so none can be added (records of .jsonl, .json, .csv, .tsv, .parquet and .arrow \
                 have \
                 fields); leave the file out, or read the same values from clusters.jsonl",
                file.label
            ),
        ));
    }
    Annotator::new(columns, &options.prefix).check_sources(sources)?;
    Ok(())
}

/// The position of every document in its group: 0 for the leader, then the others in input order.
fn places(run: &FinishedRun<'_>) -> IdVec<DocumentId, u32> {
    let mut followers: IdVec<ItemId, u32> = IdVec::filled(0, run.tables.keep.len());
    let place = |document: DocumentId| {
        let verdict = run.verdict(document);
        if verdict.leader == document {
            return 0;
        }
        let followers = &mut followers[verdict.leader_item];
        *followers += 1;
        *followers
    };
    run.tables.corpus.documents.document_ids().map(place).collect()
}
