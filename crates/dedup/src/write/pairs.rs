//! `pairs.jsonl`: every verified duplicate pair once, a before b in input order. Rows are sorted by a, then by b.

use std::path::Path;

use twinprint_cluster::{Candidate, Similarity};

use crate::corpus::keep_order::KeepOrder;
use crate::corpus::{Classes, Corpus};
use crate::corpus::{DocumentNames, Names};
use crate::error::DedupError;
use crate::ids::{ClassId, DocumentId, Id, ItemId, Lists};
use crate::options::{DedupOptions, MAX_PAIR_ROWS, PairRows};
use crate::rows::{RowSorter, row};
use twinprint_io::results::PairRow;
use twinprint_io::rows::{self, Ratio};
use twinprint_io::sink::OutputDir;

/// A pair of duplicates, by the numbers of the documents in input order. Rejected records have no number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundPair {
    /// The first document.
    pub a: u32,
    /// The second document, which comes later in the input.
    pub b: u32,
    /// The Hamming distance of the fingerprints.
    pub hamming: u32,
    /// The Jaccard and the containment of the texts; NaN without verification.
    pub similarity: Similarity,
}

row! {
    /// A pair as a row.
    struct SortedPair {
        a: u32,
        b: u32,
        hamming: u32,
        /// The bits of the Jaccard.
        jaccard: u64,
        /// The bits of the containment.
        containment: u64,
    }
}

/// The pairs of `pairs.jsonl`, which are sorted before they are written.
pub(crate) struct PairFile(RowSorter<SortedPair>);

impl PairFile {
    /// Collects pairs with about `memory` bytes and temporary files in `work`.
    pub(crate) fn new(work: &Path, memory: u64) -> Self {
        Self(RowSorter::new(work, memory))
    }

    /// Adds a pair.
    pub(crate) fn push(&mut self, pair: FoundPair) -> Result<(), DedupError> {
        self.0.push(SortedPair {
            a: pair.a,
            b: pair.b,
            hamming: pair.hamming,
            jaccard: pair.similarity.jaccard.to_bits(),
            containment: pair.similarity.containment.to_bits(),
        })
    }

    /// Writes the file to `dir`.
    pub(crate) fn write(
        self,
        dir: &OutputDir,
        names: &dyn DocumentNames,
        verified: bool,
    ) -> Result<(), DedupError> {
        let (mut file, mut buffer) = (dir.file("pairs.jsonl")?, Vec::new());
        self.0.finish(|row| {
            let pair = FoundPair {
                a: row.a,
                b: row.b,
                hamming: row.hamming,
                similarity: Similarity {
                    jaccard: f64::from_bits(row.jaccard),
                    containment: f64::from_bits(row.containment),
                },
            };
            Ok(rows::write(
                &mut file,
                &pair_row(&pair, names, verified)?,
                &mut buffer,
            )?)
        })?;
        file.finish()?;
        Ok(())
    }
}

/// The memory in which the pairs of the file are sorted, in bytes.
const SORT_BYTES: u64 = 32 << 20;

/// The place of the pairs.
enum PairSink<'r> {
    /// No pairs are wanted.
    Nowhere,
    /// The file `pairs.jsonl` of a directory.
    File(PairFile, &'r OutputDir),
    /// A list in memory.
    Memory(Vec<FoundPair>),
}

/// The writer of the pairs. It expands each pair of classes to the rows of their documents.
pub(crate) struct PairWriter<'r> {
    sink: PairSink<'r>,
    mode: PairRows,
    keep: &'r KeepOrder,
    names: Names<'r>,
    /// The documents of each class in input order; empty if no file is written.
    members: Lists<ClassId, DocumentId, u32>,
    verified: bool,
    rows: u64,
}

impl<'r> PairWriter<'r> {
    /// Begins the file `pairs.jsonl` in `dir`, with temporary files in `work`, or a list in memory without a directory.
    /// Writes the pairs of equal texts. Their number is known in advance, so the limit is checked first.
    pub(crate) fn new(
        dir: Option<&'r OutputDir>,
        work: &Path,
        options: &DedupOptions,
        corpus: &'r Corpus,
        keep: &'r KeepOrder,
        names: Names<'r>,
    ) -> Result<Self, DedupError> {
        let mut writer = Self {
            sink: PairSink::Nowhere,
            mode: options.pairs,
            keep,
            names,
            members: Lists::default(),
            verified: options.verify,
            rows: 0,
        };
        if options.pairs == PairRows::None {
            return Ok(writer);
        }
        let documents = &corpus.documents.class;
        writer.members = Lists::group(corpus.classes.len(), || {
            documents.entries().map(|(document, &class)| (class, document))
        });
        if options.pairs == PairRows::All {
            let rows = corpus
                .classes
                .class_ids()
                .map(|class| u64::from(corpus.classes.copies(class)))
                .map(|copies| copies * (copies - 1) / 2)
                .sum();
            writer.check(rows)?;
        }
        writer.sink = match dir {
            Some(dir) => PairSink::File(PairFile::new(work, SORT_BYTES), dir),
            None => PairSink::Memory(Vec::new()),
        };
        writer.equal_texts(&corpus.classes)?;
        Ok(writer)
    }

    /// Fails if `further` more rows would exceed the limit.
    fn check(&self, further: u64) -> Result<(), DedupError> {
        let rows = self.rows + further;
        if rows > MAX_PAIR_ROWS {
            Err(DedupError::TooManyPairs {
                rows,
                limit: MAX_PAIR_ROWS,
            })
        } else {
            Ok(())
        }
    }

    fn equal_texts(&mut self, classes: &Classes) -> Result<(), DedupError> {
        let similarity = Similarity {
            jaccard: 1.0,
            containment: 1.0,
        };
        for class in classes.class_ids().filter(|&class| classes.copies(class) > 1) {
            let members = self.members.range(class);
            if self.mode == PairRows::Distinct {
                let representative = self.keep.representative_of(class);
                for i in members {
                    if self.members.values()[i] != representative {
                        self.row(self.members.values()[i], representative, 0, similarity)?;
                    }
                }
            } else {
                for i in members.clone() {
                    for j in i + 1..members.end {
                        self.row(self.members.values()[i], self.members.values()[j], 0, similarity)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the rows of one verified pair of items: one for each pair of their documents, or one row with
    /// [`PairRows::Distinct`].
    pub(crate) fn write(
        &mut self,
        item: ItemId,
        candidate: Candidate,
        similarity: Similarity,
    ) -> Result<(), DedupError> {
        let other = ItemId::new(candidate.id);
        if self.mode == PairRows::Distinct {
            let (a, b) = (self.keep.representative(item), self.keep.representative(other));
            return self.row(a, b, candidate.distance, similarity);
        }
        let members = |item: ItemId| self.members.range(self.keep.classes.of(item));
        let (left, right) = (members(item), members(other));
        self.check(left.len() as u64 * right.len() as u64)?;
        for i in left {
            for j in right.clone() {
                self.row(
                    self.members.values()[i],
                    self.members.values()[j],
                    candidate.distance,
                    similarity,
                )?;
            }
        }
        Ok(())
    }

    fn row(
        &mut self,
        a: DocumentId,
        b: DocumentId,
        hamming: u32,
        similarity: Similarity,
    ) -> Result<(), DedupError> {
        self.check(1)?;
        let pair = FoundPair {
            a: a.min(b).get(),
            b: a.max(b).get(),
            hamming,
            similarity,
        };
        match &mut self.sink {
            PairSink::Nowhere => return Ok(()),
            PairSink::File(file, _) => file.push(pair)?,
            PairSink::Memory(pairs) => pairs.push(pair),
        }
        self.rows += 1;
        Ok(())
    }

    /// Writes the file, or returns the list.
    pub(crate) fn finish(self) -> Result<WrittenPairs, DedupError> {
        let rows = Some(self.rows);
        match self.sink {
            PairSink::Nowhere => Ok(WrittenPairs::default()),
            PairSink::File(file, dir) => {
                file.write(dir, &self.names, self.verified)?;
                Ok(WrittenPairs { rows, pairs: None })
            }
            PairSink::Memory(mut pairs) => {
                pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
                Ok(WrittenPairs {
                    rows,
                    pairs: Some(pairs),
                })
            }
        }
    }
}

/// The pairs of a run.
#[derive(Default)]
pub(crate) struct WrittenPairs {
    /// The number of rows; `None` if no pairs were asked for.
    pub(crate) rows: Option<u64>,
    /// The pairs, if they are in memory.
    pub(crate) pairs: Option<Vec<FoundPair>>,
}

/// Writes `pairs.jsonl` from a list in memory.
pub(crate) fn write_all(
    dir: &OutputDir,
    pairs: &[FoundPair],
    names: &Names<'_>,
    verified: bool,
) -> Result<(), DedupError> {
    let (mut file, mut buffer) = (dir.file("pairs.jsonl")?, Vec::new());
    for pair in pairs {
        rows::write(&mut file, &pair_row(pair, names, verified)?, &mut buffer)?;
    }
    file.finish()?;
    Ok(())
}

/// The row of a pair.
fn pair_row<'n>(
    pair: &FoundPair,
    names: &'n dyn DocumentNames,
    verified: bool,
) -> Result<PairRow<'n>, DedupError> {
    let ratio = |value| Ratio::new(value).filter(|_| verified);
    let (a, b) = (names.name(pair.a)?, names.name(pair.b)?);
    Ok(PairRow {
        a: a.id,
        b: b.id,
        hamming: pair.hamming,
        jaccard: ratio(pair.similarity.jaccard),
        containment: ratio(pair.similarity.containment),
        a_source: a.source,
        a_line: a.line,
        b_source: b.source,
        b_line: b.line,
    })
}
