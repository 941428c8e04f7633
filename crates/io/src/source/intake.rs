//! The intake of an input: the counts of documents, rejects and losses, by file.
//!
//! [`Chunk::documents`](super::Chunk::documents) counts the records that it yields, so that no reader of documents can
//! omit it. Chunks are counted on all threads in any order. The order does not change the result.

mod tally;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::loss::Loss;
use super::reject::RejectMessage;
use crate::number;
pub(super) use tally::Tally;

/// The largest number of rejected records that are listed as examples of each kind of reason.
const MAX_EXAMPLES: usize = 3;

/// The counts of documents, rejects and losses of an input, by file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intake {
    /// Number of records that are documents.
    pub accepted: u64,
    /// Number of rejected records. A part of a file in which records cannot be separated counts as one.
    pub rejected: u64,
    /// Number of rejected records, by kind of reason.
    pub rejected_by: BTreeMap<String, u64>,
    /// The first few rejected records for each kind of reason, in input order.
    pub examples: Vec<RejectExample>,
    /// Number of records that cannot be documents because of their kind, such as requests in a web archive, by kind.
    /// They are not rejected.
    #[serde(default)]
    pub other: BTreeMap<String, u64>,
    /// Number of documents in each file of records, by the index of the file.
    #[serde(skip)]
    taken: BTreeMap<u32, u64>,
    /// The field names of those `examples` that lack the text field.
    pub fields: Vec<String>,
    /// The files that have rejected records, in input order.
    pub files: Vec<FileIntake>,
}

/// A rejected record, as an example of its kind of reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectExample {
    /// The kind of reason, which is a key of [`Intake::rejected_by`].
    pub kind: String,
    /// The index of the file in [`Sources::list`](super::Sources::list).
    #[serde(skip)]
    pub file: u32,
    /// The name of the file, as in all output.
    pub source: String,
    /// The line on which the record begins, from 1.
    pub line: u64,
    /// Why the record was rejected, and how to fix it.
    pub reason: RejectMessage,
}

/// The rejected records and the damage of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIntake {
    /// The index of the file in [`Sources::list`](super::Sources::list).
    #[serde(skip)]
    pub file: u32,
    /// The name of the file, as in all output.
    pub source: String,
    /// Number of rejected records in the file.
    pub rejected: u64,
    /// The line of the first rejected record.
    pub line: u64,
    /// Why the first rejected record was rejected, and how to fix it.
    pub reason: RejectMessage,
    /// True if the file contains records, false if the file is one document.
    #[serde(skip)]
    of_records: bool,
    /// True if the file can be read, but none of its records is a document. Such a file counts as damaged, and `damage`
    /// describes its records.
    #[serde(default)]
    pub nothing_taken: bool,
    /// The damage of the file itself, as opposed to single bad records.
    pub damage: Option<Damage>,
}

/// The damage of a file: it cannot be read, is truncated, or has a part in which records cannot be separated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// The line on which the damage begins.
    pub line: u64,
    /// The damage there, and how to fix it.
    pub reason: RejectMessage,
    /// Number of rejects that stand for the damaged parts.
    pub rejected: u64,
    /// The size of the damaged parts, which were not read as records.
    #[serde(flatten)]
    pub loss: Loss,
}

impl Damage {
    /// Adds further damage of the same file.
    fn add(&mut self, other: Self) {
        self.rejected += other.rejected;
        self.loss += other.loss;
        if other.line < self.line {
            (self.line, self.reason) = (other.line, other.reason);
        }
    }
}

/// The position of a record in the input: its file and line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPosition {
    /// The index of the file in [`Sources::list`](super::Sources::list).
    pub file: u32,
    /// The name of the file, as in all output.
    pub source: String,
    /// The line on which the record begins, from 1.
    pub line: u64,
}

impl std::fmt::Display for RecordPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.source, self.line)
    }
}

impl Intake {
    /// The number of documents and rejected records.
    pub fn records(&self) -> u64 {
        self.accepted + self.rejected
    }

    /// Iterates over the damaged files with their damage. A file counts as damaged if it is unreadable or truncated, if
    /// records in it cannot be separated, or if none of its records is a document.
    pub fn damaged(&self) -> impl Iterator<Item = (&FileIntake, &Damage)> {
        self.files
            .iter()
            .filter_map(|file| Some((file, file.damage.as_ref()?)))
    }

    /// The total size of the parts of damaged files that were not read as records.
    pub fn loss(&self) -> Loss {
        let mut all = Loss::default();
        self.damaged().for_each(|(_, damage)| all += damage.loss);
        all
    }

    /// Describes the number of rejected records of each kind, for a message.
    pub fn rejected_kinds(&self) -> String {
        let kinds = self.rejected_by.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, n)| format!("{} {kind}", number::count(*n)))
            .collect();
        kinds.join(", ")
    }

    /// The file with the first rejected record, or `None` if no record was rejected.
    pub fn first_reject(&self) -> Option<&FileIntake> {
        self.files.first()
    }

    /// Counts a document that was read, but that the caller could not use, as rejected. `kind` and `reason` say why.
    pub fn refuse(&mut self, place: &RecordPosition, kind: &str, reason: &RejectMessage) {
        self.accepted = self.accepted.saturating_sub(1);
        self.add_example(RejectExample {
            kind: kind.to_owned(),
            file: place.file,
            source: place.source.clone(),
            line: place.line,
            reason: reason.clone(),
        });
        self.rejected += 1;
        *self.rejected_by.entry(kind.to_owned()).or_default() += 1;
        self.add_file(FileIntake {
            file: place.file,
            source: place.source.clone(),
            rejected: 1,
            line: place.line,
            reason: reason.clone(),
            of_records: false,
            nothing_taken: false,
            damage: None,
        });
    }

    /// Adds an intake that counts only documents which were counted here and then [refused](Self::refuse).
    pub fn add_refused(&mut self, refused: Self) {
        self.accepted = self.accepted.saturating_sub(refused.rejected);
        for file in &refused.files {
            // `taken` contains only files of records, so a file that is one document has no entry.
            if let Some(taken) = self.taken.get_mut(&file.file) {
                *taken = taken.saturating_sub(file.rejected);
            }
        }
        self.add(refused);
        self.find_untaken();
    }

    /// Returns true if records were skipped because their kind cannot be a document. The `warcinfo` record at the start
    /// of an archive does not count.
    pub(super) fn skips_records(&self) -> bool {
        self.other.keys().any(|kind| kind != "warcinfo")
    }

    /// Describes how many records were skipped because their kind cannot be a document, and of which kinds. `None` if
    /// there are no such records.
    pub fn skipped_records(&self) -> Option<String> {
        let all: u64 = self.other.values().sum();
        let kinds: Vec<String> = self
            .other
            .iter()
            .map(|(kind, n)| format!("{} {kind}", number::count(*n)))
            .collect();
        (all > 0).then(|| format!("{} skipped: {}", number::count(all), kinds.join(", ")))
    }

    /// Returns true if responses in web archives were skipped because of their HTTP status.
    /// [`SourceOptions::any_status`](super::SourceOptions::any_status) accepts them.
    pub fn skips_by_status(&self) -> bool {
        self.other.keys().any(|kind| kind.contains("status"))
    }

    /// Marks every file of records in which no record is a document as damaged.
    fn find_untaken(&mut self) {
        for file in &mut self.files {
            let taken = self.taken.get(&file.file).copied().unwrap_or(0);
            let is_new = file.of_records && taken == 0 && file.damage.is_none();
            if is_new
                || (file.nothing_taken
                    && file
                        .damage
                        .as_ref()
                        .is_some_and(|damage| damage.rejected < file.rejected))
            {
                file.nothing_taken = true;
                file.damage = Some(Damage {
                    line: file.line,
                    reason: file.reason.clone(),
                    rejected: file.rejected,
                    loss: Loss {
                        rows: file.rejected,
                        ..Loss::default()
                    },
                });
            }
        }
    }

    /// Adds the counts of other records of the same input.
    pub fn add(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.rejected += other.rejected;
        for example in other.examples {
            self.add_example(example);
        }
        for (kind, count) in other.rejected_by {
            *self.rejected_by.entry(kind).or_default() += count;
        }
        for (kind, n) in other.other {
            *self.other.entry(kind).or_default() += n;
        }
        for (file, taken) in other.taken {
            *self.taken.entry(file).or_default() += taken;
        }
        for field in other.fields {
            if !self.fields.contains(&field) {
                self.fields.push(field);
            }
        }
        for file in other.files {
            self.add_file(file);
        }
    }

    /// Inserts a rejected record in input order, after those on the same line.
    fn add_example(&mut self, example: RejectExample) {
        let place = |example: &RejectExample| (example.file, example.line);
        let at = self
            .examples
            .partition_point(|other| place(other) <= place(&example));
        let kind = example.kind.clone();
        self.examples.insert(at, example);
        let mut of_kind = (0..self.examples.len()).filter(|&i| self.examples[i].kind == kind);
        if let Some(surplus) = of_kind.nth(MAX_EXAMPLES) {
            self.examples.remove(surplus);
        }
    }

    /// Adds the counts of rejected records in a file to those counted before.
    fn add_file(&mut self, other: FileIntake) {
        match self.files.binary_search_by_key(&other.file, |file| file.file) {
            Err(at) => self.files.insert(at, other),
            Ok(at) => {
                let file = &mut self.files[at];
                file.rejected += other.rejected;
                file.of_records |= other.of_records;
                if other.line < file.line {
                    (file.line, file.reason) = (other.line, other.reason);
                }
                match (&mut file.damage, other.damage) {
                    (Some(damage), Some(other)) => damage.add(other),
                    (damage, other) => *damage = damage.take().or(other),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(file: u32, line: u64) -> RecordPosition {
        RecordPosition {
            file,
            source: format!("{file}"),
            line,
        }
    }

    #[test]
    fn examples_are_the_first_in_input_order() {
        let mut intake = Intake {
            accepted: 9,
            ..Intake::default()
        };
        for (file, line) in [(1, 5), (0, 9), (1, 2), (0, 3), (2, 1), (0, 1)] {
            intake.refuse(&position(file, line), "odd", &"why".to_owned().into());
        }
        intake.refuse(&position(0, 2), "other", &"why".to_owned().into());
        let positions: Vec<_> = intake.examples.iter().map(|e| (e.file, e.line)).collect();
        assert_eq!(positions, [(0, 1), (0, 2), (0, 3), (0, 9)]);
        assert_eq!((intake.accepted, intake.rejected), (2, 7));
        assert_eq!(intake.rejected_kinds(), "6 odd, 1 other");
    }

    #[test]
    fn damage_of_one_file_adds_up() {
        let damaged = |line, bytes| Intake {
            rejected: 1,
            files: vec![FileIntake {
                file: 3,
                source: "a".to_owned(),
                rejected: 1,
                line,
                reason: format!("at {line}").into(),
                of_records: true,
                nothing_taken: false,
                damage: Some(Damage {
                    line,
                    reason: format!("at {line}").into(),
                    rejected: 1,
                    loss: Loss {
                        bytes,
                        ..Loss::default()
                    },
                }),
            }],
            ..Intake::default()
        };
        let mut intake = damaged(7, 10);
        intake.add(damaged(4, 5));
        let (file, damage) = intake.damaged().next().expect("one");
        assert_eq!((file.rejected, damage.rejected, damage.loss.bytes), (2, 2, 15));
        assert_eq!((damage.line, damage.reason.as_str()), (4, "at 4"));
    }
}
