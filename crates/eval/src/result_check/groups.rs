//! The file of groups: which documents are kept, and the leaders of the others.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use twinprint_fingerprint::{HashKey, hash_one};
use twinprint_text::Measure;
use twinprint_text::overlap::Shingler;

use super::CheckJob;
use super::problem::ResultProblem;
use super::records::TextSample;
use crate::error::{EvalError, check_cancelled};

/// The largest number of problems of one kind that are listed.
const MOST_PROBLEMS: usize = 20;
/// A unit of the last decimal with which a Jaccard is written, and a margin. Further decimals are cut off.
const ROUNDING: f64 = 1.1e-6;

/// The counts of a file of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GroupCounts {
    /// Rows of kept documents.
    pub kept: u64,
    /// Rows of removed documents.
    pub removed: u64,
    /// Removed documents that duplicate a known document, which is not part of the result.
    pub known: u64,
}

/// A row of the file of groups.
#[derive(Deserialize)]
struct GroupRow {
    id: String,
    source: String,
    line: u64,
    duplicate_of: Option<String>,
    jaccard: Option<f64>,
    dup_count: u64,
}

/// A removed document and its leader.
struct Follower {
    id: String,
    leader: String,
    jaccard: f64,
}

/// The groups of a result.
pub(super) struct Groups {
    pub(super) counts: GroupCounts,
    /// A sample of the removed documents, whose texts are compared with those of their leaders.
    sample: Vec<Follower>,
}

impl Groups {
    /// Reads the groups twice: the kept documents first, and then the others.
    pub(super) fn read(
        job: &CheckJob<'_>,
        problems: &mut Vec<ResultProblem>,
        cancel: &AtomicBool,
    ) -> Result<Self, EvalError> {
        let path = job.out.join("clusters.jsonl");
        let mut kept = FxHashSet::default();
        let mut counts = GroupCounts::default();
        each_row(&path, cancel, |row| {
            if row.dup_count == 0 {
                counts.removed += 1;
            } else {
                counts.kept += 1;
                kept.insert(hash_of(&row.id));
            }
        })?;
        let has_known = job.options.against.is_some();
        let (mut not_kept, mut below) = (0, 0);
        let mut sample = BTreeMap::new();
        let key = HashKey::new(job.options.seed, 0);
        each_row(&path, cancel, |row| {
            let Some(leader) = row.duplicate_of else { return };
            if !kept.contains(&hash_of(&leader)) {
                if has_known {
                    counts.known += 1;
                } else if not_kept < MOST_PROBLEMS {
                    not_kept += 1;
                    problems.push(ResultProblem::LeaderNotKept { id: row.id, leader });
                }
                return;
            }
            let Some(jaccard) = row.jaccard else { return };
            if jaccard + ROUNDING < job.options.threshold && below < MOST_PROBLEMS {
                below += 1;
                problems.push(ResultProblem::BelowThreshold {
                    id: row.id.clone(),
                    leader: leader.clone(),
                    jaccard,
                });
            }
            // A document without an id is named by its place in the input, which is not that in the result.
            if row.id == format!("{}:{}", row.source, row.line) {
                return;
            }
            let follower = Follower {
                id: row.id,
                leader,
                jaccard,
            };
            sample.insert(hash_one(&key, follower.id.as_bytes()), follower);
            if sample.len() > job.sample {
                sample.pop_last();
            }
        })?;
        Ok(Self {
            counts,
            sample: sample.into_values().collect(),
        })
    }

    /// The ids of the leaders of the sample.
    pub(super) fn wanted_texts(&self) -> FxHashSet<String> {
        self.sample.iter().map(|row| row.leader.clone()).collect()
    }

    /// The ids of the sample.
    pub(super) fn wanted_removed(&self) -> FxHashSet<String> {
        self.sample.iter().map(|row| row.id.clone()).collect()
    }

    /// Compares the texts of the sample with those of their leaders. Returns their number. Documents whose ids are not unique
    /// are left out.
    pub(super) fn compare(
        &self,
        kept: &TextSample,
        removed: &TextSample,
        threshold: f64,
        problems: &mut Vec<ResultProblem>,
    ) -> usize {
        let mut shingler = Shingler::new(HashKey::PUBLIC);
        let (mut compared, mut different) = (0, 0);
        for follower in &self.sample {
            let (Some(text), Some(leader)) = (removed.text(&follower.id), kept.text(&follower.leader)) else {
                continue;
            };
            // Texts of two measures are compared by characters.
            let measure = if text.measure == leader.measure {
                text.measure
            } else {
                Measure::CharGrams
            };
            let mut set = |text: &str| shingler.shingle(text, measure);
            let (a, b) = (set(&text.canonical), set(&leader.canonical));
            let exact = jaccard_of(&a, &b);
            compared += 1;
            let differs = (exact - follower.jaccard).abs() > ROUNDING || exact + ROUNDING < threshold;
            if differs && different < MOST_PROBLEMS {
                different += 1;
                problems.push(ResultProblem::OtherJaccard {
                    id: follower.id.clone(),
                    leader: follower.leader.clone(),
                    written: follower.jaccard,
                    exact,
                });
            }
        }
        compared
    }
}

/// The Jaccard of two sorted sets. Two empty sets are equal.
fn jaccard_of(a: &[u64], b: &[u64]) -> f64 {
    let mut counts: HashMap<u64, u8> = a.iter().map(|&shingle| (shingle, 1)).collect();
    for &shingle in b {
        *counts.entry(shingle).or_default() |= 2;
    }
    let common = counts.values().filter(|&&sides| sides == 3).count();
    if counts.is_empty() {
        1.0
    } else {
        common as f64 / counts.len() as f64
    }
}

fn hash_of(id: &str) -> u64 {
    hash_one(&HashKey::PUBLIC, id.as_bytes()) as u64
}

/// Calls `each` for every row of a file of groups.
fn each_row(path: &Path, cancel: &AtomicBool, mut each: impl FnMut(GroupRow)) -> Result<(), EvalError> {
    let read = |source| EvalError::Read {
        path: PathBuf::from(path),
        source,
    };
    let file = BufReader::new(File::open(path).map_err(read)?);
    for (line, row) in (1..).zip(file.lines()) {
        if line % 4096 == 0 {
            check_cancelled(cancel)?;
        }
        let row = row.map_err(read)?;
        each(serde_json::from_str(&row).map_err(|error| EvalError::row(path, line, &error))?);
    }
    Ok(())
}
