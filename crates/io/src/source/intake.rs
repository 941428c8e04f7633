//! The intake of an input: documents, rejects and losses by file.
//!
//! [`Chunk::documents`](super::Chunk::documents) counts, so that no reader of documents can omit it. Chunks are
//! counted on all threads in any order; the result does not depend on it.

mod tally;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::loss::Loss;
use super::reject::RejectMessage;
use crate::number;
pub(super) use tally::Tally;

/// The maximum number of examples of each kind of reason.
const MAX_EXAMPLES: usize = 3;

/// The documents, rejects and losses of an input, by file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intake {
    /// Records that are documents.
    pub accepted: u64,
    /// Rejected records. A part of a file in which records cannot be separated counts as one.
    pub rejected: u64,
    /// Rejected records by kind of reason.
    pub rejected_by: BTreeMap<String, u64>,
    /// The first few rejected records of each kind, in input order.
    pub examples: Vec<RejectExample>,
    /// Records that cannot be documents by their kind, such as requests in a web archive, by kind. They are not rejected.
    #[serde(default)]
    pub other: BTreeMap<String, u64>,
    /// Documents of each file of records, by its number.
    #[serde(skip)]
    taken: BTreeMap<u32, u64>,
    /// The fields of those examples that lack the field with the text.
    pub fields: Vec<String>,
    /// The files with rejected records, in input order.
    pub files: Vec<FileIntake>,
}

/// A rejected record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectExample {
    /// The kind of reason, as in [`Intake::rejected_by`].
    pub kind: String,
    /// The number of the file in [`Sources::list`](super::Sources::list).
    #[serde(skip)]
    pub file: u32,
    /// The file, as named in all output.
    pub source: String,
    /// The record's line, from 1.
    pub line: u64,
    /// The reason, and how to fix it.
    pub reason: RejectMessage,
}

/// The rejected records of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIntake {
    /// The number of the file in [`Sources::list`](super::Sources::list).
    #[serde(skip)]
    pub file: u32,
    /// Its name in all output.
    pub source: String,
    /// The number of rejected records.
    pub rejected: u64,
    /// The line of the first.
    pub line: u64,
    /// The reason of the first.
    pub reason: RejectMessage,
    /// True if the file holds records, false if it is one document.
    #[serde(skip)]
    of_records: bool,
    /// True if the file can be read, but none of its records is a document. It counts as a damaged file, and `damage`
    /// is its unused part.
    #[serde(default)]
    pub nothing_taken: bool,
    /// Damage of the file itself.
    pub damage: Option<Damage>,
}

/// Damage of a file: it cannot be read, is cut off, or has a part in which records cannot be separated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// The line on which it begins.
    pub line: u64,
    /// The fault there, and how to fix it.
    pub reason: RejectMessage,
    /// Rejected records that stand for it.
    pub rejected: u64,
    /// The size of the part that was not taken.
    #[serde(flatten)]
    pub loss: Loss,
}

impl Damage {
    /// Adds other damage of the same file.
    fn add(&mut self, other: Self) {
        self.rejected += other.rejected;
        self.loss += other.loss;
        if other.line < self.line {
            (self.line, self.reason) = (other.line, other.reason);
        }
    }
}

/// The position of a record: its file and line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPosition {
    /// The number of its file in [`Sources::list`](super::Sources::list).
    pub file: u32,
    /// The file's name in all output.
    pub source: String,
    /// The record's line, from 1.
    pub line: u64,
}

impl std::fmt::Display for RecordPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.source, self.line)
    }
}

impl Intake {
    /// Documents and rejected records.
    pub fn records(&self) -> u64 {
        self.accepted + self.rejected
    }

    /// The files that are unreadable, cut off or damaged, and those of which no record is a document.
    pub fn damaged(&self) -> impl Iterator<Item = (&FileIntake, &Damage)> {
        self.files
            .iter()
            .filter_map(|file| Some((file, file.damage.as_ref()?)))
    }

    /// The size of the parts of damaged files that were not taken.
    pub fn loss(&self) -> Loss {
        let mut all = Loss::default();
        self.damaged().for_each(|(_, damage)| all += damage.loss);
        all
    }

    /// The number of rejected records of each kind, in words.
    pub fn rejected_kinds(&self) -> String {
        let kinds = self.rejected_by.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, n)| format!("{} {kind}", number::count(*n)))
            .collect();
        kinds.join(", ")
    }

    /// The first rejected record.
    pub fn first_reject(&self) -> Option<&FileIntake> {
        self.files.first()
    }

    /// Counts a document that was read, but could not be used, as rejected.
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

    /// Adds an intake that counts only [refused](Self::refuse) documents of this one.
    pub fn add_refused(&mut self, refused: Self) {
        self.accepted = self.accepted.saturating_sub(refused.rejected);
        for file in &refused.files {
            // The map contains only files of records.
            if let Some(taken) = self.taken.get_mut(&file.file) {
                *taken = taken.saturating_sub(file.rejected);
            }
        }
        self.add(refused);
        self.find_untaken();
    }

    /// True if there are records that cannot be documents, except the `warcinfo` records with which archives begin.
    pub(super) fn skips_records(&self) -> bool {
        self.other.keys().any(|kind| kind != "warcinfo")
    }

    /// A sentence with the number of records that cannot be documents by their kind, and their kinds. `None` if there are none.
    pub fn skipped_records(&self) -> Option<String> {
        let all: u64 = self.other.values().sum();
        let kinds: Vec<String> = self
            .other
            .iter()
            .map(|(kind, n)| format!("{} {kind}", number::count(*n)))
            .collect();
        (all > 0).then(|| format!("{} skipped: {}", number::count(all), kinds.join(", ")))
    }

    /// True if responses were skipped because of their status. [`SourceOptions::any_status`](super::SourceOptions::any_status) accepts
    /// them.
    pub fn skips_by_status(&self) -> bool {
        self.other.keys().any(|kind| kind.contains("status"))
    }

    /// Marks the files with many records of which no record is a document.
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

    /// Adds the intake of other records.
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

    /// Inserts a rejected record in input order, after those of the same line.
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

    /// Adds rejected records of a file to those counted before.
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

    fn place(file: u32, line: u64) -> RecordPosition {
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
            intake.refuse(&place(file, line), "odd", &"why".to_owned().into());
        }
        intake.refuse(&place(0, 2), "other", &"why".to_owned().into());
        let places: Vec<_> = intake.examples.iter().map(|e| (e.file, e.line)).collect();
        assert_eq!(places, [(0, 1), (0, 2), (0, 3), (0, 9)]);
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
