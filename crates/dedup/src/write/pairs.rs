//! Writes `pairs.jsonl`: every verified duplicate pair, each once, a before b in input order.

use twinprint_cluster::{Candidate, Similarity};

use crate::corpus::Names;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::{Classes, Corpus};
use crate::error::DedupError;
use crate::options::{DedupOptions, MAX_PAIR_ROWS, PairRows};
use twinprint_io::results::PairRow;
use twinprint_io::rows::{self, Ratio};
use twinprint_io::sink::{OutputDir, OutputFile};

/// Expands pairs of classes to rows of documents.
pub(crate) struct PairWriter<'r> {
    file: Option<OutputFile>,
    mode: PairRows,
    keep: &'r KeepOrder,
    names: Names<'r>,
    /// Documents sorted by class, then input order.
    documents: Vec<u32>,
    /// Where each class's documents begin, and the end.
    starts: Vec<u32>,
    verified: bool,
    rows: u64,
    buffer: Vec<u8>,
}

impl<'r> PairWriter<'r> {
    /// Opens the file and writes the pairs of equal texts, whose number is known first.
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
            documents: Vec::new(),
            starts: Vec::new(),
            verified: options.verify,
            rows: 0,
            buffer: Vec::new(),
        };
        if options.pairs == PairRows::None {
            return Ok(writer);
        }
        writer.sort_documents(corpus);
        if options.pairs == PairRows::All {
            let rows = (0..corpus.classes.len())
                .map(|class| u64::from(corpus.classes.copies(class)))
                .map(|copies| copies * (copies - 1) / 2)
                .sum();
            writer.check(rows)?;
        }
        writer.file = Some(dir.file("pairs.jsonl")?);
        writer.equal_texts(&corpus.classes)?;
        Ok(writer)
    }

    fn sort_documents(&mut self, corpus: &Corpus) {
        let mut ends = Vec::with_capacity(corpus.classes.size.len() + 1);
        let mut sum = 0;
        for &size in &corpus.classes.size {
            ends.push(sum);
            sum += size;
        }
        ends.push(sum);
        self.starts.clone_from(&ends);
        self.documents = vec![0; sum as usize];
        for (document, &class) in (0u32..).zip(&corpus.documents.class) {
            let next = &mut ends[class as usize];
            self.documents[*next as usize] = document;
            *next += 1;
        }
    }

    fn check(&self, coming: u64) -> Result<(), DedupError> {
        let rows = self.rows + coming;
        if rows > MAX_PAIR_ROWS {
            Err(DedupError::TooManyPairs {
                rows,
                limit: MAX_PAIR_ROWS,
            })
        } else {
            Ok(())
        }
    }

    fn members(&self, class: u32) -> std::ops::Range<usize> {
        self.starts[class as usize] as usize..self.starts[class as usize + 1] as usize
    }

    fn equal_texts(&mut self, classes: &Classes) -> Result<(), DedupError> {
        let similarity = Similarity {
            jaccard: 1.0,
            containment: 1.0,
        };
        for class in (0..classes.len()).filter(|&class| classes.copies(class) > 1) {
            let members = self.members(class);
            if self.mode == PairRows::Distinct {
                let representative = self.keep.representative[self.keep.item[class as usize] as usize];
                for i in members {
                    if self.documents[i] != representative {
                        self.row(self.documents[i], representative, 0, similarity)?;
                    }
                }
            } else {
                for i in members.clone() {
                    for j in i + 1..members.end {
                        self.row(self.documents[i], self.documents[j], 0, similarity)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the rows of one verified pair of items.
    pub(crate) fn write(
        &mut self,
        item: u32,
        candidate: Candidate,
        similarity: Similarity,
    ) -> Result<(), DedupError> {
        if self.mode == PairRows::Distinct {
            let representative = |item: u32| self.keep.representative[item as usize];
            let (a, b) = (representative(item), representative(candidate.id));
            return self.row(a, b, candidate.distance, similarity);
        }
        let class = |item: u32| self.keep.classes[item as usize];
        let (left, right) = (self.members(class(item)), self.members(class(candidate.id)));
        self.check(left.len() as u64 * right.len() as u64)?;
        for i in left {
            for j in right.clone() {
                self.row(
                    self.documents[i],
                    self.documents[j],
                    candidate.distance,
                    similarity,
                )?;
            }
        }
        Ok(())
    }

    fn row(&mut self, a: u32, b: u32, hamming: u32, similarity: Similarity) -> Result<(), DedupError> {
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

    /// The number of rows, if a file was asked for.
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
