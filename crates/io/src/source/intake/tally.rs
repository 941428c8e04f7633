//! Counts records while they are parsed, on any thread.

use std::collections::BTreeMap;

use super::{Damage, FileIntake, Intake, MAX_EXAMPLES, RejectExample};
use crate::source::file::SourceFile;
use crate::source::loss::Loss;
use crate::source::record::{Record, RecordKind};
use crate::source::reject::{RejectMessage, RejectReason};

/// The largest number of field names that are listed.
const MAX_FIELDS: usize = 16;

/// Counts of some records of an input. Counts of different records can be [added](Self::add) in any order.
#[derive(Debug, Default)]
pub(in crate::source) struct Tally {
    /// The ordinal of the first record of the chunk whose records are counted.
    chunk: u64,
    documents: u64,
    /// Number of documents that the caller rejected after they were counted as documents.
    refused: u64,
    kinds: BTreeMap<&'static str, RejectCount>,
    /// Number of documents in each file, including those that the caller rejected later.
    taken: BTreeMap<u32, u64>,
    /// Number of records that cannot be documents because of their kind, by kind.
    other: BTreeMap<&'static str, u64>,
    files: BTreeMap<u32, FileCount>,
}

/// The number and the first examples of rejected records with one kind of reason.
#[derive(Debug, Default)]
struct RejectCount {
    count: u64,
    /// The first few rejected records, in input order.
    examples: Vec<Example>,
}

/// A rejected record.
#[derive(Debug, Clone)]
struct Example {
    place: RejectOrder,
    reason: RejectReason,
}

/// The position of a rejected record. It sorts the rejected records of all chunks in input order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RejectOrder {
    file: u32,
    /// The ordinal of the first record of the chunk that contains the record.
    chunk: u64,
    line: u64,
    /// The number of records of the same chunk that were rejected before.
    position: u64,
}

/// Counts of the rejected records of one file.
#[derive(Debug)]
struct FileCount {
    rejected: u64,
    /// The number of these records that were first counted as documents.
    refused: u64,
    first: Example,
    damage: Option<DamageCount>,
}

#[derive(Debug)]
struct DamageCount {
    rejected: u64,
    first: Example,
    loss: Loss,
}

impl Example {
    fn place(&self) -> RejectOrder {
        self.place
    }

    /// Replaces `self` by `other` if `other` comes earlier in the input.
    fn earlier(&mut self, other: Self) {
        if other.place < self.place {
            *self = other;
        }
    }
}

impl Tally {
    /// Creates empty counts for a chunk. `first_ordinal` is the ordinal of its first record.
    pub(in crate::source) fn of_chunk(first_ordinal: u64) -> Self {
        Self {
            chunk: first_ordinal,
            ..Self::default()
        }
    }

    /// Counts a record. The records of a chunk must be counted in their order.
    pub(in crate::source) fn count(&mut self, record: &Record<'_>) {
        let reason = match &record.kind {
            RecordKind::Blank => return,
            RecordKind::Other { kind } => {
                *self.other.entry(kind).or_default() += 1;
                return;
            }
            RecordKind::Document { .. } => {
                self.documents += 1;
                *self.taken.entry(record.source).or_default() += 1;
                return;
            }
            RecordKind::Rejected { reason } => reason,
        };
        let position = self.kinds.values().map(|kind| kind.count).sum();
        let position = RejectOrder {
            file: record.source,
            chunk: self.chunk,
            line: record.line,
            position,
        };
        self.reject(position, record.raw_len, reason);
    }

    /// Counts a document as rejected by the caller. It is also counted as a document, before or after this call.
    pub(in crate::source) fn refuse(&mut self, source: u32, line: u64, reason: &RejectReason) {
        self.refused += 1;
        // The largest position sorts this reject after the other rejects on the same line.
        let position = RejectOrder {
            file: source,
            chunk: self.chunk,
            line,
            position: u64::MAX,
        };
        self.reject(position, 0, reason);
        if let Some(file) = self.files.get_mut(&source) {
            file.refused += 1;
        }
    }

    fn reject(&mut self, place: RejectOrder, raw_len: u64, reason: &RejectReason) {
        let example = || Example {
            place,
            reason: reason.clone(),
        };
        let kind = self.kinds.entry(reason.kind()).or_default();
        kind.count += 1;
        if kind.examples.len() < MAX_EXAMPLES {
            kind.examples.push(example());
        }
        let file = self.files.entry(place.file).or_insert_with(|| FileCount {
            rejected: 0,
            refused: 0,
            first: example(),
            damage: None,
        });
        file.rejected += 1;
        if reason.is_damage() {
            let damage = file.damage.get_or_insert_with(|| DamageCount {
                rejected: 0,
                first: example(),
                loss: Loss::default(),
            });
            damage.rejected += 1;
            damage.loss += match reason {
                RejectReason::Lost { loss, .. } => *loss,
                RejectReason::DamagedTable { .. }
                | RejectReason::NotATable { .. }
                | RejectReason::Unreadable { .. } => Loss {
                    rows: 1,
                    ..Loss::default()
                },
                _ => Loss {
                    bytes: raw_len,
                    ..Loss::default()
                },
            };
        }
    }

    /// Adds the counts of other records of the same input.
    pub(in crate::source) fn add(&mut self, other: Self) {
        self.documents += other.documents;
        self.refused += other.refused;
        for (number, taken) in other.taken {
            *self.taken.entry(number).or_default() += taken;
        }
        for (kind, n) in other.other {
            *self.other.entry(kind).or_default() += n;
        }
        for (name, kind) in other.kinds {
            let all = self.kinds.entry(name).or_default();
            all.count += kind.count;
            all.examples.extend(kind.examples);
            all.examples.sort_by_key(Example::place);
            all.examples.truncate(MAX_EXAMPLES);
        }
        for (number, file) in other.files {
            let Some(all) = self.files.get_mut(&number) else {
                self.files.insert(number, file);
                continue;
            };
            all.rejected += file.rejected;
            all.refused += file.refused;
            all.first.earlier(file.first);
            match (&mut all.damage, file.damage) {
                (Some(all), Some(damage)) => {
                    all.rejected += damage.rejected;
                    all.loss += damage.loss;
                    all.first.earlier(damage.first);
                }
                (none, damage) => *none = none.take().or(damage),
            }
        }
    }

    /// Returns the intake with the names of the files.
    pub(in crate::source) fn intake(&self, files: &[SourceFile]) -> Intake {
        let label = |file: u32| {
            files
                .get(file as usize)
                .map_or_else(String::new, |file| file.label.clone())
        };
        let mut examples: Vec<(&str, &Example)> = self
            .kinds
            .iter()
            .flat_map(|(&kind, of)| of.examples.iter().map(move |example| (kind, example)))
            .collect();
        examples.sort_by_key(|(_, example)| example.place());
        let of_records = |number: &u32| {
            let file = files.get(*number as usize);
            file.is_some_and(|file| !file.format.is_whole_file())
        };
        let mut intake = Intake {
            accepted: self.documents.saturating_sub(self.refused),
            rejected: self.kinds.values().map(|kind| kind.count).sum(),
            rejected_by: self
                .kinds
                .iter()
                .map(|(&kind, of)| (kind.to_owned(), of.count))
                .collect(),
            other: self
                .other
                .iter()
                .map(|(&kind, &n)| (kind.to_owned(), n))
                .collect(),
            taken: self
                .taken
                .iter()
                .filter(|&(number, _)| of_records(number))
                .map(|(&number, &taken)| {
                    let refused = self.files.get(&number).map_or(0, |file| file.refused);
                    (number, taken.saturating_sub(refused))
                })
                .collect(),
            fields: fields(examples.iter().map(|(_, example)| &example.reason)),
            examples: examples
                .into_iter()
                .map(|(kind, example)| RejectExample {
                    kind: kind.to_owned(),
                    file: example.place.file,
                    source: label(example.place.file),
                    line: example.place.line,
                    reason: RejectMessage::from(&example.reason),
                })
                .collect(),
            files: self
                .files
                .iter()
                .map(|(&number, file)| FileIntake {
                    file: number,
                    source: label(number),
                    rejected: file.rejected,
                    line: file.first.place.line,
                    reason: RejectMessage::from(&file.first.reason),
                    of_records: of_records(&number),
                    nothing_taken: file
                        .damage
                        .as_ref()
                        .is_some_and(|damage| lacks_column(&damage.first.reason)),
                    damage: file.damage.as_ref().map(|damage| Damage {
                        line: damage.first.place.line,
                        reason: RejectMessage::from(&damage.first.reason),
                        rejected: damage.rejected,
                        loss: damage.loss,
                    }),
                })
                .collect(),
        };
        intake.find_untaken();
        intake
    }
}

/// Returns true if a whole table was rejected because it has no column with a text.
fn lacks_column(reason: &RejectReason) -> bool {
    matches!(
        reason.cause(),
        RejectReason::ColumnMissing { .. } | RejectReason::ColumnNotText { .. }
    )
}

/// Returns the field names of the records that were rejected because they lack the text field.
fn fields<'r>(reasons: impl Iterator<Item = &'r RejectReason>) -> Vec<String> {
    let mut fields: Vec<String> = Vec::new();
    for reason in reasons {
        let (RejectReason::FieldMissing { present, .. } | RejectReason::ColumnMissing { present, .. }) =
            reason.cause()
        else {
            continue;
        };
        for field in present {
            if fields.len() < MAX_FIELDS && field != "…" && !fields.contains(field) {
                fields.push(field.clone());
            }
        }
    }
    fields
}
