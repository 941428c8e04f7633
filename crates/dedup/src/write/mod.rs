//! The output files of a run: `clusters.jsonl` and `clusters.parquet`, `kept/` and `removed/` or `annotated/`, and
//! `config.toml`. The report has a [module](crate::report) of its own.

pub(crate) mod annotate;
#[cfg(feature = "tables")]
mod cluster_table;
mod finished;
pub(crate) mod pairs;
mod records;
mod similar_order;

use std::borrow::Cow;

use twinprint_cluster::Group;

use crate::config::Config;
use crate::corpus::Names;
use crate::error::DedupError;
use crate::ids::{DocumentId, Id, IdSlice, IdVec, ItemId};
use crate::known::KnownDuplicate;
use crate::options::{ClusterFiles, EmptyTexts, Mode};
#[cfg(feature = "tables")]
use cluster_table::{ClusterTable, IdTypes};
pub(crate) use finished::{FinishedRun, RunInput, Tables};
pub(crate) use records::{check_columns, check_order, copy_records};
use twinprint_io::results::ClusterRow;
use twinprint_io::rows::{self, Ratio};
use twinprint_io::sink::{OutputDir, OutputFile};
use twinprint_io::source::IntegerType;
use twinprint_text::fingerprint_hex;

/// The decision on one document: the group that it is in, and whether it is kept.
pub(crate) struct DocumentVerdict<'r> {
    document: DocumentId,
    /// The document that leads the group.
    pub(crate) leader: DocumentId,
    /// The item of the document.
    pub(crate) item: ItemId,
    /// The item of the group's leader.
    pub(crate) leader_item: ItemId,
    pub(crate) group: Group,
    /// The known document that this document duplicates, if any. All documents of its group then have equal texts, and
    /// all are removed.
    pub(crate) known: Option<&'r KnownDuplicate>,
    /// True if the text has no features and the options remove such texts.
    pub(crate) empty: bool,
}

impl<'r> DocumentVerdict<'r> {
    /// True if the document is kept.
    pub(crate) fn kept(&self) -> bool {
        self.leader == self.document && self.known.is_none() && !self.empty
    }

    /// The id of the document that this document duplicates; `None` if this document is kept, or removed for another
    /// reason.
    fn duplicate_of<'n>(&self, names: &'n Names<'_>) -> Option<Cow<'n, str>>
    where
        'r: 'n,
    {
        match self.known {
            Some(known) => Some(Cow::Borrowed(&known.id)),
            None => (self.leader != self.document).then(|| names.id(self.leader)),
        }
    }

    /// The number of documents that this document stands for, in a group of `cluster_size`: all of them, itself
    /// included, if it is kept, and 0 if it is removed. The sum over all documents is the number of documents that are
    /// kept or have a kept duplicate.
    pub(crate) fn dup_count(&self, cluster_size: u32) -> u32 {
        if self.kept() { cluster_size } else { 0 }
    }

    /// The Hamming distance between this document and the document that it duplicates.
    pub(crate) fn hamming(&self) -> u32 {
        self.known.map_or(self.group.distance, |known| known.hamming)
    }

    /// The Jaccard of this document and the document that it duplicates; NaN if it was not verified.
    pub(crate) fn similarity(&self) -> f64 {
        match self.known {
            Some(known) => known.jaccard.unwrap_or(f64::NAN),
            None => self.group.similarity.jaccard,
        }
    }

    /// The Jaccard of this document and the document that it duplicates; `None` if it was not verified.
    fn jaccard(&self) -> Option<Ratio> {
        Ratio::new(self.similarity())
    }
}

impl FinishedRun<'_> {
    /// The group of each item.
    pub(crate) fn groups(&self) -> IdSlice<'_, ItemId, Group> {
        IdSlice::new(&self.tables.outcome.groups)
    }

    /// The decision on a document.
    pub(crate) fn verdict(&self, document: DocumentId) -> DocumentVerdict<'_> {
        let class = self.tables.corpus.documents.class[document];
        let item = self.items[class];
        let group = self.groups()[item];
        let leader_item = ItemId::new(group.leader);
        let is_empty_text = self.tables.corpus.classes.is_empty_text(class);
        DocumentVerdict {
            document,
            leader: if is_empty_text {
                document
            } else {
                self.tables.keep.representative(leader_item)
            },
            item,
            leader_item,
            group,
            known: self.tables.known.of(class),
            empty: is_empty_text && self.input.options.empty == EmptyTexts::Remove,
        }
    }

    /// For each item that leads a group, the number of documents of the group; 0 for other items.
    pub(crate) fn sizes(&self) -> IdVec<ItemId, u32> {
        let mut sizes = IdVec::filled(0, self.tables.keep.len());
        for (item, group) in self.groups().entries() {
            sizes[ItemId::new(group.leader)] += self
                .tables
                .corpus
                .classes
                .copies(self.tables.keep.classes.of(item));
        }
        sizes
    }

    fn full_fingerprint(&self, item: ItemId) -> u128 {
        self.tables.corpus.classes.fingerprint[self.tables.keep.classes.of(item)]
    }
}

/// Writes `clusters.jsonl` and `clusters.parquet`, as far as the options ask for them.
pub(crate) struct ClusterWriter {
    file: Option<OutputFile>,
    #[cfg(feature = "tables")]
    table: Option<ClusterTable>,
    bits: u32,
    buffer: Vec<u8>,
}

/// The columns of the files of clusters that depend on the run.
#[derive(Clone, Copy)]
pub(crate) struct ClusterColumns {
    /// The width of the fingerprints.
    pub(crate) bits: u32,
    /// True if every row is verified.
    pub(crate) verified: bool,
    /// The integer type of the ids of the documents; `None` for strings.
    pub(crate) id_type: Option<IntegerType>,
    /// True if rows may name documents outside the input.
    pub(crate) with_known: bool,
}

impl ClusterWriter {
    pub(crate) fn create(
        dir: &OutputDir,
        wanted: ClusterFiles,
        columns: ClusterColumns,
    ) -> Result<Self, DedupError> {
        let ClusterColumns {
            bits,
            verified,
            id_type,
            with_known,
        } = columns;
        #[cfg(not(feature = "tables"))]
        let _ = (verified, id_type, with_known);
        Ok(Self {
            file: matches!(wanted, ClusterFiles::Jsonl | ClusterFiles::Both)
                .then(|| dir.file("clusters.jsonl"))
                .transpose()?,
            #[cfg(feature = "tables")]
            table: matches!(wanted, ClusterFiles::Parquet | ClusterFiles::Both)
                .then(|| {
                    let id_types = IdTypes {
                        own: id_type,
                        duplicate_of: id_type.filter(|_| !with_known),
                    };
                    ClusterTable::create(dir, bits, verified, id_types)
                })
                .transpose()?,
            bits,
            buffer: Vec::new(),
        })
    }

    /// Writes a row. Its fingerprint is given at full width.
    pub(crate) fn push(&mut self, row: ClusterRow<'_>, fingerprint: u128) -> Result<(), DedupError> {
        let row = ClusterRow {
            fingerprint: fingerprint_hex(fingerprint, self.bits).into(),
            ..row
        };
        if let Some(file) = &mut self.file {
            rows::write(file, &row, &mut self.buffer)?;
        }
        #[cfg(feature = "tables")]
        if let Some(table) = &mut self.table {
            table.push(&row, fingerprint)?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(), DedupError> {
        self.file.map_or(Ok(0), OutputFile::finish)?;
        #[cfg(feature = "tables")]
        self.table.map_or(Ok(()), ClusterTable::finish)?;
        Ok(())
    }
}

/// Writes the files of clusters: one row for each document, singletons included, in input order.
pub(crate) fn write_clusters(run: &FinishedRun<'_>, dir: &OutputDir) -> Result<(), DedupError> {
    let sizes = run.sizes();
    let options = run.input.options;
    let mut writer = ClusterWriter::create(
        dir,
        options.clusters,
        ClusterColumns {
            bits: run.tables.radius.bits,
            verified: options.verify && run.tables.known.verified(),
            id_type: run.tables.corpus.documents.id_type(),
            with_known: options.against.is_some(),
        },
    )?;
    for document in run.tables.corpus.documents.document_ids() {
        let verdict = run.verdict(document);
        let (source, line) = run.names.place(document);
        let duplicate_of = verdict.duplicate_of(&run.names);
        let verified = options.verify && verdict.known.is_none_or(|known| known.jaccard.is_some());
        let cluster_size = sizes[verdict.leader_item];
        let row = ClusterRow {
            id: run.names.id(document),
            source: source.into(),
            line,
            cluster_id: verdict.leader.get(),
            cluster_size,
            is_leader: verdict.kept(),
            duplicate_of: duplicate_of.as_deref().map(Cow::Borrowed),
            hamming: verdict.hamming(),
            jaccard: verdict.jaccard().filter(|_| options.verify),
            fingerprint: Cow::default(),
            dup_count: verdict.dup_count(cluster_size),
            verified: (!verified).then_some(false),
        };
        writer.push(row, run.full_fingerprint(verdict.item))?;
    }
    writer.finish()
}

/// The approximate number of bytes that the stage `write` reads and writes.
pub(crate) fn bytes_to_write(run: &FinishedRun<'_>) -> u64 {
    if run.input.options.mode == Mode::Report {
        0
    } else {
        run.input.sources.total_bytes()
    }
}

/// Writes `config.toml`, the effective configuration. A run with the options in this file gives the same result.
pub(crate) fn write_config(run: &FinishedRun<'_>, dir: &OutputDir) -> Result<(), DedupError> {
    let config = Config::of(
        run.input.inputs,
        run.input.source_options,
        run.input.options,
        &run.tables.radius,
    );
    let mut file = dir.file("config.toml")?;
    file.append(config.to_toml().as_bytes())?;
    file.finish()?;
    Ok(())
}
