//! The tables of a finished search, from which records, clusters, pairs and the report are written.

use super::pairs::WrittenPairs;
use crate::candidates::Candidates;
use crate::candidates::radius::Radius;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::{Corpus, Names};
use crate::ids::{ClassId, IdVec, ItemId};
use crate::known::KnownClasses;
use crate::memory;
use crate::options::DedupOptions;
use crate::read::{ReadCounts, RejectedRecord};
use crate::verify::near_misses::NearMisses;
use twinprint_cluster::Outcome;
use twinprint_io::results::{PartsReport, RecallReport};
use twinprint_io::source::{SourceOptions, Sources};

/// The tables of a finished search.
pub(crate) struct Tables {
    pub(crate) corpus: Corpus,
    pub(crate) keep: KeepOrder,
    pub(crate) known: KnownClasses,
    pub(crate) counts: ReadCounts,
    pub(crate) radius: Radius,
    /// The measured recall; `None` in a run without verification.
    pub(crate) recall: Option<RecallReport>,
    pub(crate) candidates: Candidates,
    /// The number of candidates of the set join that were verified.
    pub(crate) probed: u64,
    pub(crate) outcome: Outcome,
    pub(crate) near_misses: NearMisses,
    pub(crate) pairs: WrittenPairs,
    /// The rejected records, if they are in memory.
    pub(crate) rejected: Vec<RejectedRecord>,
}

/// The input of the search whose tables are written.
#[derive(Clone, Copy)]
pub(crate) struct RunInput<'r> {
    /// The inputs as the user named them.
    pub(crate) inputs: &'r [String],
    pub(crate) sources: &'r Sources,
    pub(crate) source_options: &'r SourceOptions,
    pub(crate) options: &'r DedupOptions,
}

/// A run whose search has finished: the input of the files and of the report.
pub(crate) struct FinishedRun<'r> {
    pub(crate) input: RunInput<'r>,
    pub(crate) tables: &'r Tables,
    pub(crate) names: Names<'r>,
    /// The item of each class.
    pub(crate) items: IdVec<ClassId, ItemId>,
    /// The counts of the partial copies, if they were searched.
    pub(crate) parts: Option<PartsReport>,
}

impl Tables {
    /// The names of the documents.
    pub(crate) fn names<'r>(&'r self, sources: &'r Sources) -> Names<'r> {
        let documents = &self.corpus.documents;
        Names { documents, sources }
    }

    /// The memory that the tables and the longest record take, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let edges = self.candidates.edges.len() as u64 * memory::EDGE_BYTES;
        memory::tables_and_record(&self.corpus, self.counts.longest) + edges
    }

    /// The tables with their input, as the writers need them.
    pub(crate) fn finished<'r>(&'r self, input: RunInput<'r>) -> FinishedRun<'r> {
        FinishedRun {
            names: self.names(input.sources),
            input,
            tables: self,
            items: self.keep.items(),
            parts: None,
        }
    }
}
