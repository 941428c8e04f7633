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

/// The writer of the pairs. It expands each pair of classes to the rows of their documents.
pub(crate) struct PairWriter<'r> {
    file: Option<OutputFile>,
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
    /// Creates `pairs.jsonl` and writes the pairs of equal texts. Their number is known in advance, so the limit is
    /// checked first.
    pub(crate) fn new(
        dir: &OutputDir,
        options: &DedupOptions,
        corpus: &'r Corpus,
        keep: &'r KeepOrder,
        names: Names<'r>,
    ) -> Result<Self, DedupError> {
        let mut writer = Self {
            file: None,
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
        writer.file = Some(dir.file("pairs.jsonl")?);
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
        let Some(file) = &mut self.file else { return Ok(()) };
        let (a, b) = (a.min(b), a.max(b));
        let ratio = |value| Ratio::new(value).filter(|_| self.verified);
        let ((a_source, a_line), (b_source, b_line)) = (self.names.place(a), self.names.place(b));
        let row = PairRow {
            a: self.names.id(a),
            b: self.names.id(b),
            hamming,
            jaccard: ratio(similarity.jaccard),
            containment: ratio(similarity.containment),
            a_source: a_source.into(),
            a_line,
            b_source: b_source.into(),
            b_line,
        };
        rows::write(file, &row, &mut self.buffer)?;
        self.rows += 1;
        Ok(())
    }

    /// Finishes the file and returns its number of rows; `None` if no file was asked for.
    pub(crate) fn finish(self) -> Result<Option<u64>, DedupError> {
        match self.file {
            Some(file) => {
                file.finish()?;
                Ok(Some(self.rows))
            }
            None => Ok(None),
        }
    }
}
