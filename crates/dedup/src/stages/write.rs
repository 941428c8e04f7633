//! The last stage: writes the output files from the decisions.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use twinprint_cluster::Similarity;
use twinprint_io::results::{ClusterRow, RecordCounts, Report};
use twinprint_io::rows::Ratio;
use twinprint_io::sink::{CopyOptions, Edit, OutputDir, RecordAction, copy_all};
use twinprint_io::source::IntegerType;

use super::against::KnownItems;
use super::annotate::{AnnotationWriter, Annotations, Decided};
use super::archive::{Archive, ArchiveSlice};
use super::examples::StagedReport;
use super::folder::{Stage, Task};
use super::found_parts;
use super::job::StagedJob;
use super::memo::Memo;
use super::outputs::{CROWD_PAIRS, DECISIONS, REJECTS, VERIFIED};
use super::tables::{DecisionRow, DocumentNumber, VerifiedRow};
use crate::corpus::DocumentNames;
use crate::error::DedupError;
use crate::options::{EmptyTexts, MAX_PAIR_ROWS, Mode, PairRows};
use crate::rows::{RowFile, RowSorter, next_if, row};
use crate::verify::near_misses::band;
use crate::write::annotate::{Annotate, Annotator};
use crate::write::pairs::{FoundPair, PairFile};
use crate::write::{ClusterColumns, ClusterWriter};

/// The decision on each record of the input.
#[derive(Default)]
struct Actions {
    /// Two bits a record.
    bits: Vec<u64>,
    records: u64,
}

impl Actions {
    fn push(&mut self, action: RecordAction) {
        let code = match action {
            RecordAction::Keep => 0,
            RecordAction::Remove => 1,
            _ => 2,
        };
        if self.records.is_multiple_of(32) {
            self.bits.push(0);
        }
        if let Some(last) = self.bits.last_mut() {
            *last |= code << (self.records % 32 * 2);
        }
        self.records += 1;
    }

    fn of(&self, record: u64) -> RecordAction {
        let bits = self.bits.get((record / 32) as usize).copied().unwrap_or(u64::MAX);
        match bits >> (record % 32 * 2) & 3 {
            0 => RecordAction::Keep,
            1 => RecordAction::Remove,
            _ => RecordAction::Reject,
        }
    }
}

/// The number of bytes that are copied at a time.
const COPIED_BYTES: u64 = 256 << 10;

/// The decisions on the records, and the fields that are added to them.
struct Records {
    actions: Actions,
    /// The fields that are added to the records; `None` if there are none.
    annotations: Option<AnnotationWriter>,
}

impl Records {
    fn push_reject(&mut self) -> Result<(), DedupError> {
        self.actions.push(RecordAction::Reject);
        self.annotations
            .as_mut()
            .map_or(Ok(()), AnnotationWriter::push_reject)
    }

    fn push(&mut self, decided: &Decided) -> Result<(), DedupError> {
        self.actions.push(if decided.kept {
            RecordAction::Keep
        } else {
            RecordAction::Remove
        });
        let annotations = self.annotations.as_mut();
        annotations.map_or(Ok(()), |annotations| annotations.push(decided))
    }
}

row! {
    /// A document with features, sorted by the document that stands for its class.
    struct Member {
        representative: u64,
        document: u64,
    }
}

/// Writes records, clusters, pairs and rejects to `dir`. Adds the counts of the documents to `report`.
pub(super) fn write(
    job: &StagedJob<'_>,
    dir: &OutputDir,
    work: &Path,
    report: &mut StagedReport,
) -> Result<(), DedupError> {
    let archive = Archive::open(job)?;
    let known_items = KnownItems::open(job)?;
    if job.options.parts.is_some() {
        report.report.parts = Some(found_parts::write(job, &archive, dir, work)?);
    }
    write_rejects(job, dir)?;
    let mut members = RowSorter::new(work, job.sort_memory());
    let columns = job.options.added_columns();
    let mut records = Records {
        actions: Actions::default(),
        annotations: columns
            .map(|columns| AnnotationWriter::create(job, work, columns))
            .transpose()?,
    };
    write_clusters(
        job,
        (&archive, &known_items),
        dir,
        report,
        (&mut members, &mut records),
    )?;
    if job.options.pairs != PairRows::None {
        let members = RowFile::open(&members.write(&work.join("members"))?, &Arc::default())?;
        report.report.search.pair_rows = Some(write_pairs(job, &archive, dir, work, &members)?);
    }
    if job.options.mode != Mode::Report {
        copy_records(job, (&archive, &known_items), dir, records)?;
    }
    Ok(())
}

/// Copies the records, and adds the fields that the options ask for.
fn copy_records(
    job: &StagedJob<'_>,
    (archive, known): (&Archive<'_>, &KnownItems),
    dir: &OutputDir,
    records: Records,
) -> Result<(), DedupError> {
    let Records { actions, annotations } = records;
    let main = match job.options.mode {
        Mode::Annotate => RecordAction::Annotate,
        Mode::Remove | Mode::Report => RecordAction::Keep,
    };
    let action = |record| match actions.of(record) {
        RecordAction::Reject => RecordAction::Reject,
        _ if main == RecordAction::Annotate => main,
        action => action,
    };
    let copy = |edit: Option<&dyn Edit>| {
        let options = CopyOptions {
            action: &action,
            main,
            edit,
            order: None,
        };
        copy_all(job.sources, options, dir, &|bytes| job.progress.advance(bytes))
    };
    let (Some(rows), Some(columns)) = (annotations, job.options.added_columns()) else {
        copy(None)?;
        return Ok(());
    };
    let annotations = Annotations::new(rows.finish()?, archive, known, job.options.verify);
    let copied = copy(Some(&Annotate {
        annotator: Annotator::new(columns, &job.options.prefix),
        sources: job.sources,
        annotation: |record| annotations.of(record),
    }));
    annotations.check()?;
    copied?;
    Ok(())
}

/// Writes the rejected records of all parts to one file.
fn write_rejects(job: &StagedJob<'_>, dir: &OutputDir) -> Result<(), DedupError> {
    let mut file = dir.file(REJECTS)?;
    for part in job.spec.parts() {
        let rejects = job.folder.blocks(Task::new(Stage::Analyse, part), REJECTS)?;
        let mut from = 0;
        while from < rejects.len() {
            let to = rejects.len().min(from + COPIED_BYTES);
            file.append(&rejects.read(from..to)?)?;
            from = to;
        }
    }
    file.finish()?;
    Ok(())
}

/// The integer type of the ids of all documents; `None` unless all have such ids of one type.
fn id_type(job: &StagedJob<'_>) -> Result<Option<IntegerType>, DedupError> {
    let mut common = None;
    for part in job.spec.parts() {
        for slice in job.part(part)?.slices.iter().filter(|slice| slice.documents > 0) {
            match (common, slice.id_type) {
                (None, Some(first)) => common = Some(first),
                (Some(before), Some(next)) if before == next => {}
                _ => return Ok(None),
            }
        }
    }
    Ok(common)
}

/// The decisions on the classes of a slice, by their numbers in the slice.
fn decisions_of(
    decisions: &RowFile<DecisionRow>,
    slice: &ArchiveSlice,
) -> Result<Vec<DecisionRow>, DedupError> {
    let from = DocumentNumber::new(slice.number, 0).0;
    let to = DocumentNumber::new(slice.number + 1, 0).0;
    let start = decisions.partition_point(|row| row.class < from)?;
    let end = decisions.partition_point(|row| row.class < to)?;
    decisions.range(start..end).collect()
}

fn write_clusters(
    job: &StagedJob<'_>,
    (archive, known_items): (&Archive<'_>, &KnownItems),
    dir: &OutputDir,
    report: &mut StagedReport,
    (members, records): (&mut RowSorter<Member>, &mut Records),
) -> Result<(), DedupError> {
    let mut writer = ClusterWriter::create(
        dir,
        job.options.clusters,
        ClusterColumns {
            bits: job.parameters()?.radius.bits,
            verified: job.options.verify && job.known()?.unverified == 0,
            id_type: id_type(job)?,
            with_known: job.options.against.is_some(),
        },
    )?;
    let decisions = job.folder.rows(Task::only(Stage::Groups), DECISIONS)?;
    let removes_empty = job.options.empty == EmptyTexts::Remove;
    for slice in archive.slices() {
        job.check_cancelled()?;
        let decisions = decisions_of(&decisions, slice)?;
        let mut rejects = slice.rejects.all().peekable();
        for (position, document) in (0u32..).zip(archive.names(slice)) {
            let (row, name) = document?;
            while next_if(&mut rejects, |next| next.value <= u64::from(position))?.is_some() {
                records.push_reject()?;
            }
            let number = DocumentNumber::new(slice.number, position).0;
            let decision = decisions.get(row.class as usize);
            let decision = decision.ok_or_else(|| slice.documents.damaged())?;
            let empty = decision.empty == 1;
            let leader = if empty { number } else { decision.leader };
            let known = match decision.known {
                0 => None,
                known => known_items.get(known - 1)?,
            };
            let kept = leader == number && known.is_none() && !(empty && removes_empty);
            count(job, &mut report.report, decision, kept, empty && removes_empty);
            let cluster_id = archive.in_input_order(leader)?;
            let (hamming, jaccard) = match &known {
                None => (decision.distance, Some(f64::from_bits(decision.jaccard))),
                Some(known) => (known.hamming, known.jaccard),
            };
            if leader != number {
                report.members.add(decision.leader, || name.id.as_ref());
            }
            records.push(&Decided {
                document: archive.in_input_order(number)?,
                leader: cluster_id,
                size: decision.size,
                kept,
                hamming,
                jaccard: jaccard.unwrap_or(f64::NAN),
                known: decision.known,
            })?;
            let is_verified = job.options.verify && jaccard.is_some();
            let duplicate_of = match known {
                Some(known) => Some(Cow::Owned(known.id)),
                None if leader != number => Some(archive.name(cluster_id)?.id),
                None => None,
            };
            writer.push(
                ClusterRow {
                    id: name.id,
                    source: name.source,
                    line: name.line,
                    cluster_id,
                    cluster_size: decision.size,
                    is_leader: kept,
                    duplicate_of,
                    hamming,
                    jaccard: jaccard.filter(|_| job.options.verify).and_then(Ratio::new),
                    fingerprint: Cow::default(),
                    dup_count: if kept { decision.size } else { 0 },
                    verified: (!is_verified).then_some(false),
                },
                decision.fingerprint,
            )?;
            if !empty && job.options.pairs != PairRows::None {
                members.push(Member {
                    representative: decision.representative,
                    document: number,
                })?;
            }
        }
        for reject in rejects {
            reject?;
            records.push_reject()?;
        }
    }
    writer.finish()
}

/// Counts a document.
fn count(job: &StagedJob<'_>, report: &mut Report, decision: &DecisionRow, kept: bool, removed_empty: bool) {
    let RecordCounts {
        kept: kept_documents,
        removed,
        removed_empty: removed_empty_documents,
        removed_known,
        removed_equal,
        ..
    } = &mut report.records;
    if kept {
        *kept_documents += 1;
        return;
    }
    *removed += 1;
    if removed_empty {
        *removed_empty_documents += 1;
        return;
    }
    if decision.known > 0 {
        *removed_known += 1;
        return;
    }
    if decision.representative == decision.leader {
        *removed_equal += 1;
    }
    *report.distances.entry(decision.distance).or_default() += 1;
    if job.options.verify {
        let band = band(f64::from_bits(decision.jaccard));
        *report.jaccards.entry(band).or_default() += 1;
    }
}

/// Writes the pairs of duplicates. Returns their number.
fn write_pairs(
    job: &StagedJob<'_>,
    archive: &Archive<'_>,
    dir: &OutputDir,
    work: &Path,
    members: &RowFile<Member>,
) -> Result<u64, DedupError> {
    let mut pairs = Pairs {
        archive,
        file: PairFile::new(work, job.sort_memory()),
        rows: 0,
    };
    let distinct = job.options.pairs == PairRows::Distinct;
    let mut class: Vec<u64> = Vec::new();
    let mut representative = None;
    let mut of_class = |class: &mut Vec<u64>, representative: Option<u64>| -> Result<(), DedupError> {
        for (i, &a) in class.iter().enumerate() {
            if distinct {
                match representative {
                    Some(b) if a != b => pairs.push(a, b, 0, [1.0; 2])?,
                    _ => {}
                }
            } else {
                class[i + 1..]
                    .iter()
                    .try_for_each(|&b| pairs.push(a, b, 0, [1.0; 2]))?;
            }
        }
        class.clear();
        Ok(())
    };
    for member in members.all() {
        let member = member?;
        if representative != Some(member.representative) {
            of_class(&mut class, representative)?;
            representative = Some(member.representative);
        }
        class.push(member.document);
    }
    of_class(&mut class, representative)?;
    let items = job.items()?;
    // The document that stands for an item, and the place of all of its documents among the members.
    let read_place = |item: u64| -> Result<(u64, Range<u64>), DedupError> {
        let representative = items.get(item)?.representative;
        if distinct {
            return Ok((representative, 0..0));
        }
        let from = members.partition_point(|member| member.representative < representative)?;
        let to = members.partition_point(|member| member.representative <= representative)?;
        Ok((representative, from..to))
    };
    let places = Memo::default();
    let documents = |item: u64| -> Result<Vec<u64>, DedupError> {
        let (representative, place) = places.get(item, || read_place(item))?;
        if distinct {
            return Ok(vec![representative]);
        }
        members.range(place).map(|row| Ok(row?.document)).collect()
    };
    let tasks = job.candidates()?.blocks.len() as u32;
    let files = (0..tasks).map(|number| (Task::new(Stage::Verify, number), VERIFIED));
    for (task, name) in files.chain([(Task::only(Stage::Lead), CROWD_PAIRS)]) {
        for row in job.folder.rows::<VerifiedRow>(task, name)?.all() {
            let row = row?;
            let others = documents(row.earlier)?;
            for a in documents(row.item)? {
                for &b in &others {
                    let similarity = [row.jaccard, row.containment].map(f64::from_bits);
                    pairs.push(a, b, row.distance, similarity)?;
                }
            }
        }
    }
    let rows = pairs.rows;
    pairs.file.write(dir, archive, job.options.verify)?;
    Ok(rows)
}

/// The pairs of documents.
struct Pairs<'p> {
    archive: &'p Archive<'p>,
    file: PairFile,
    rows: u64,
}

impl Pairs<'_> {
    fn push(
        &mut self,
        a: u64,
        b: u64,
        hamming: u32,
        [jaccard, containment]: [f64; 2],
    ) -> Result<(), DedupError> {
        self.rows += 1;
        if self.rows > MAX_PAIR_ROWS {
            return Err(DedupError::TooManyPairs {
                rows: self.rows,
                limit: MAX_PAIR_ROWS,
            });
        }
        let a = self.archive.in_input_order(a)?;
        let b = self.archive.in_input_order(b)?;
        self.file.push(FoundPair {
            a: a.min(b),
            b: a.max(b),
            hamming,
            similarity: Similarity { jaccard, containment },
        })
    }
}
