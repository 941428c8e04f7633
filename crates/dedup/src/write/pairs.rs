//! `pairs.jsonl`: every verified duplicate pair once, a before b in input order.

use twinprint_cluster::{Candidate, Similarity};

use crate::corpus::Names;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::{Classes, Corpus};
use crate::error::DedupError;
use crate::ids::{ClassId, DocumentId, Id, ItemId, Lists};
use crate::options::{DedupOptions, MAX_PAIR_ROWS, PairRows};
use twinprint_io::results::PairRow;
use twinprint_io::rows::{self, Ratio};
use twinprint_io::sink::{OutputDir, OutputFile};

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

/// The place of the pairs.
enum PairSink {
    /// No pairs are wanted.
    Nowhere,
    /// The file `pairs.jsonl`.
    File(OutputFile),
    /// A list in memory.
    Memory(Vec<FoundPair>),
}

/// The writer of the pairs. It expands each pair of classes to the rows of their documents.
pub(crate) struct PairWriter<'r> {
    sink: PairSink,
    mode: PairRows,
    keep: &'r KeepOrder,
    names: Names<'r>,
    /// The documents of each class in input order; empty if no file is written.
    members: Lists<ClassId, DocumentId, u32>,
    verified: bool,
    rows: u64,
    buffer: Vec<u8>,
}

impl<'r> PairWriter<'r> {
    /// Creates the file `pairs.jsonl` in `dir`, or a list in memory without it, and writes the pairs of equal texts.
    /// Their number is known in advance, so the limit is checked first.
    pub(crate) fn new(
        dir: Option<&OutputDir>,
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
            buffer: Vec::new(),
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
            Some(dir) => PairSink::File(dir.file("pairs.jsonl")?),
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
            let (a, b) = (self.keep.representative[item], self.keep.representative[other]);
            return self.row(a, b, candidate.distance, similarity);
        }
        let members = |item: ItemId| self.members.range(self.keep.classes[item]);
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
            PairSink::File(file) => {
                let row = pair_row(&pair, &self.names, self.verified);
                rows::write(file, &row, &mut self.buffer)?;
            }
            PairSink::Memory(pairs) => pairs.push(pair),
        }
        self.rows += 1;
        Ok(())
    }

    /// Finishes the file, or returns the list.
    pub(crate) fn finish(self) -> Result<WrittenPairs, DedupError> {
        let rows = Some(self.rows);
        match self.sink {
            PairSink::Nowhere => Ok(WrittenPairs::default()),
            PairSink::File(file) => {
                file.finish()?;
                Ok(WrittenPairs { rows, pairs: None })
            }
            PairSink::Memory(pairs) => Ok(WrittenPairs {
                rows,
                pairs: Some(pairs),
            }),
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
        rows::write(&mut file, &pair_row(pair, names, verified), &mut buffer)?;
    }
    file.finish()?;
    Ok(())
}

/// The row of a pair.
fn pair_row<'n>(pair: &FoundPair, names: &'n Names<'_>, verified: bool) -> PairRow<'n> {
    let (a, b) = (DocumentId::new(pair.a), DocumentId::new(pair.b));
    let ratio = |value| Ratio::new(value).filter(|_| verified);
    let ((a_source, a_line), (b_source, b_line)) = (names.place(a), names.place(b));
    PairRow {
        a: names.id(a),
        b: names.id(b),
        hamming: pair.hamming,
        jaccard: ratio(pair.similarity.jaccard),
        containment: ratio(pair.similarity.containment),
        a_source: a_source.into(),
        a_line,
        b_source: b_source.into(),
        b_line,
    }
}
