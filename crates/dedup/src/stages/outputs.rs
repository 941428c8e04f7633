//! The outputs of the stages: the names of their files, and their summaries.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twinprint_io::source::{Intake, IntegerType};

use super::row_blocks::RowBlocks;
use crate::candidates::FeatureLimits;
use crate::candidates::radius::Radius;
use crate::corpus::shingle_sets::CorpusKey;
use crate::verify::near_misses::NearMisses;

/// The number of slices that a part can have.
pub(super) const MAX_SLICES: u32 = 1 << 12;

/// The name of the spool of texts of a part.
pub(super) const TEXTS: &str = "texts";

/// The name of the rejected records of a part.
pub(super) const REJECTS: &str = "rejects.jsonl";

/// The name of a file of a slice.
pub(super) fn slice_file(name: &str, slice: u32) -> String {
    format!("{name}-{:05}", slice % MAX_SLICES)
}

/// The summary of an analysed part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PartSummary {
    pub(super) slices: Vec<SliceSummary>,
    /// The number of records of each file of the part.
    pub(super) records: Vec<u64>,
    pub(super) input_bytes: u64,
    pub(super) text_bytes: u64,
    pub(super) blank_lines: u64,
    pub(super) other_records: BTreeMap<String, u64>,
    pub(super) charsets: BTreeMap<String, u64>,
    pub(super) intake: Intake,
}

/// The counts of a slice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SliceSummary {
    pub(super) number: u32,
    pub(super) documents: u32,
    pub(super) rejected: u64,
    pub(super) undated: u64,
    /// True if every document has an id, and all are from columns of integers of `id_type`.
    pub(super) integer_ids: bool,
    /// The type of the column of ids; `None` if there are no documents or not all ids are such integers.
    pub(super) id_type: Option<IntegerType>,
}

/// The name of the file of classes.
pub(super) const CLASSES: &str = "classes";

/// The name of the file of links between classes and the classes of slices.
pub(super) const LINKS: &str = "links";

/// The summary of a range of classes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ClassesSummary {
    pub(super) classes: u64,
}

/// The name of the file of items.
pub(super) const ITEMS: &str = "items";

/// The name of the file of the fingerprints that are joined.
pub(super) const FINGERPRINTS: &str = "fingerprints";

/// The name of the file of the distinct texts in input order.
pub(super) const TEXT_ROWS: &str = "texts";

/// The counts of the items.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ItemsSummary {
    /// The number of texts with few features.
    pub(super) short: u64,
    /// The number of documents without features.
    pub(super) empty: u64,
    /// The number of documents whose text an earlier document of the same class has.
    pub(super) equal_texts: u64,
    /// The key of the shingle hash.
    pub(super) key: CorpusKey,
    /// The blocks of items. The texts of a block fit into memory.
    pub(super) blocks: RowBlocks,
    /// The blocks of the texts in input order; none unless partial copies are searched.
    pub(super) texts: RowBlocks,
}

/// The name of the file of items that duplicate known documents.
pub(super) const KNOWN: &str = "known";

/// The name of the file of the ids of known documents, one after another.
pub(super) const KNOWN_IDS: &str = "known-ids";

/// The counts of the texts of a block that are known.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct AgainstSummary {
    pub(crate) known: u64,
    /// Those of them that were not compared on the text.
    pub(super) unverified: u64,
}

/// The name of the file of rows: distinct fingerprints, ascending.
pub(super) const ROWS: &str = "rows";

/// The name of the file of the items of the rows, one row after another.
pub(super) const ROW_ITEMS: &str = "row-items";

/// The name of the file with the end of each row among the items.
pub(super) const ROW_ENDS: &str = "row-ends";

/// The parameters that later stages take from the whole corpus.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Parameters {
    pub(super) radius: Radius,
    pub(super) limits: FeatureLimits,
    /// The number of distinct fingerprints.
    pub(super) fingerprints: u64,
    /// The number of rows of the join; 0 if the set join finds all pairs.
    pub(super) rows: u64,
}

/// The name of the file of pairs. A closed row is listed as a pair with itself.
pub(super) const PAIRS: &str = "pairs";

/// The counts of a join of two blocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JoinSummary {
    /// The plan, as text.
    pub(super) plan: String,
}

/// The name of the file of candidate pairs.
pub(super) const EDGES: &str = "edges";

/// The name of the file of the candidates that an earlier run has verified.
pub(super) const COMPARED: &str = "compared";

/// The name of the file of members of crowds.
pub(super) const CROWD: &str = "crowd";

/// The name of the file of the items that the recall is measured on.
pub(super) const SAMPLE: &str = "sample";

/// The counts of the candidates.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct CandidatesSummary {
    /// The number of candidate pairs that are within the radius.
    pub(super) by_fingerprints: u64,
    /// The number of candidate pairs that the set join found.
    pub(super) by_shingles: u64,
    /// The number of pairs of rows within the radius of which one is not hot.
    pub(super) row_pairs: u64,
    /// The hot rows that the report lists.
    pub(super) hot: Vec<HotRowSummary>,
    /// The pairs of blocks of items that have candidates, one for each task of the verification.
    pub(super) blocks: Vec<EdgeBlocks>,
    /// The width in which the distances of verified candidates are measured.
    pub(super) bits: u32,
    /// True if an earlier run has verified candidates.
    pub(super) has_compared: bool,
}

/// A hot row that the report lists.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HotRowSummary {
    /// The fingerprint in hexadecimal.
    pub(super) fingerprint: String,
    /// The number of items with this fingerprint.
    pub(super) texts: u64,
    /// The number of items with other fingerprints within the radius.
    pub(super) neighbors: u64,
    /// The first item with this fingerprint.
    pub(super) item: u64,
}

/// The candidates of two blocks of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EdgeBlocks {
    pub(super) item_block: u32,
    pub(super) earlier_block: u32,
    /// The position of the first pair in the file of candidates.
    pub(super) from: u64,
    /// The position after the last pair.
    pub(super) to: u64,
}

/// The name of the file of verified pairs, sorted by item, then by the earlier item.
pub(super) const VERIFIED: &str = "verified";

/// The name of the file of candidates just below the threshold, in the order of the verified pairs.
pub(super) const BELOW: &str = "below";

/// The counts of verified candidates.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct VerifySummary {
    pub(super) verified: u64,
    pub(super) duplicates: u64,
}

/// The name of the file of followers, sorted by leader, then by item.
pub(super) const FOLLOWERS: &str = "followers";

/// The name of the file of the verified pairs of two members of crowds.
pub(super) const CROWD_PAIRS: &str = "crowd-pairs";

/// The counts of the decisions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LeadSummary {
    pub(super) followers: u64,
    /// The pairs of two members of crowds that were verified.
    pub(super) probed: u64,
    /// Those of them that are duplicates.
    pub(super) crowd_duplicates: u64,
    pub(super) near_misses: NearMisses,
}

/// The name of the file of the duplicates drawn for sampled texts, sorted by the text.
pub(super) const DRAWN: &str = "drawn";

/// The counts of the recall's sample.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct RecallSummary {
    /// The number of sampled texts, the same for all blocks.
    pub(super) sampled: u64,
}

/// The name of the file of decisions, sorted by the class of a slice.
pub(super) const DECISIONS: &str = "decisions";

/// The counts of the groups.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct GroupsSummary {
    /// The number of groups of each size above 1.
    pub(super) sizes: BTreeMap<u32, u64>,
}

/// The name of the file of the fingerprints of parts, sorted.
pub(super) const WINNOWED: &str = "winnowed";

/// The name of the file of the numbers of these fingerprints, in the order of the texts.
pub(super) const SIZES: &str = "sizes";

/// The counts of a block of texts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct WinnowSummary {
    pub(super) fingerprints: u64,
}

/// The name of the file of the fingerprints of parts that several texts have, sorted by text.
pub(super) const SHARED: &str = "shared";

/// The name of the file of the ends of the texts among these fingerprints.
pub(super) const SHARED_TEXTS: &str = "shared-texts";

/// The name of the file of the texts of common fingerprints, one fingerprint after another.
pub(super) const COMMON_TEXTS: &str = "common-texts";

/// The name of the file with the end of each common fingerprint among these texts.
pub(super) const COMMON_ENDS: &str = "common-ends";

/// The name of the file of the texts that others are compared with.
pub(super) const REFERENCES: &str = "references";

/// The counts of the fingerprints that several texts have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SharedSummary {
    /// The number of fingerprints of all texts.
    pub(super) fingerprints: u64,
    /// The number of common fingerprints.
    pub(super) common: u64,
    /// The blocks of texts whose tables fit into memory in twos.
    pub(super) blocks: RowBlocks,
}

/// The name of the file of the fingerprints in passages of many texts, one bit for each row of [`SHARED`].
pub(super) const COVERED: &str = "covered";

/// The name of the file of the texts that have passages, one passage after another.
pub(super) const HOLDERS: &str = "holders";

/// The name of the file of the places of the passages in these texts.
pub(super) const HOLDER_PLACES: &str = "holder-places";

/// The counts of the passages of many texts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct PassagesSummary {
    /// The number of passages that are not listed.
    pub(super) small: u64,
    pub(super) phrases: u64,
    pub(super) limited: u64,
}

/// The name of the file of the pairs of texts of which one contains a share of the other.
pub(super) const PARTS: &str = "parts";

/// The name of the file of the common passages of these pairs.
pub(super) const PART_PLACES: &str = "part-places";

/// The counts of the pairs of two blocks of texts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct PartsSummary {
    /// The number of pairs that were measured.
    pub(super) candidates: u64,
}
