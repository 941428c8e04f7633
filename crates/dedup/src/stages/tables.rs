//! The rows that stages pass to one another.
//!
//! Documents have 64-bit numbers: the number of their slice in the upper half, and their position in the slice in the
//! lower half. So they are ordered as in the input.

use twinprint_cluster::JoinRole;
use twinprint_text::Measure;

use crate::rows::row;

/// The number of a document of a staged run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DocumentNumber(pub(crate) u64);

impl DocumentNumber {
    pub(crate) fn new(slice: u32, position: u32) -> Self {
        Self(u64::from(slice) << 32 | u64::from(position))
    }

    pub(crate) fn slice(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn position(self) -> u32 {
        self.0 as u32
    }
}

/// A measure as a field of a row.
pub(crate) fn measure_field(measure: Measure) -> u8 {
    match measure {
        Measure::WordGrams => 0,
        Measure::CharGrams => 1,
    }
}

/// The measure of a field of a row.
pub(crate) fn measure_of(field: u8) -> Measure {
    match field {
        0 => Measure::WordGrams,
        _ => Measure::CharGrams,
    }
}

/// A role in the set join as a field of a row.
pub(crate) fn role_field(role: JoinRole) -> u8 {
    match role {
        JoinRole::None => 0,
        JoinRole::Fringe => 1,
        JoinRole::Core => 2,
    }
}

/// The role of a field of a row.
pub(crate) fn role_of(field: u8) -> JoinRole {
    match field {
        0 => JoinRole::None,
        1 => JoinRole::Fringe,
        _ => JoinRole::Core,
    }
}

row! {
    /// A document of a slice, in input order.
    struct DocumentRow {
        /// The class, by its number in the slice.
        class: u32,
        /// The file, by its position among the files of the input.
        source: u32,
        /// The line or row in the file, from 1.
        line: u64,
        /// The end of the id among the ids of the slice.
        id_end: u64,
    }
}

row! {
    /// A class of a slice, sorted by the hash of its text.
    struct LocalClass<K> {
        /// The hash of the text under the key of the run.
        text_hash: u128,
        /// The class, numbered as a document: its slice, and its number in the slice.
        class: u64,
        /// The key of the first document in keep order.
        keep: K,
        /// The first document in keep order.
        representative: u64,
        /// The first document in input order.
        first: u64,
        /// The number of documents.
        size: u32,
        /// 1 if the following fields are known, 0 if an earlier slice has them.
        analysed: u8,
        fingerprint: u128,
        features: u32,
        shingles: u32,
        measure: u8,
        /// The part of the input, whose spool has the text.
        part: u32,
        block: u32,
        offset: u32,
        len: u32,
    }
}

row! {
    /// A class of equal texts, sorted by keep order.
    struct GlobalClass<K> {
        keep: K,
        /// The first document in keep order, which stands for the class.
        representative: u64,
        /// The first document in input order.
        first: u64,
        size: u32,
        fingerprint: u128,
        features: u32,
        shingles: u32,
        measure: u8,
        part: u32,
        block: u32,
        offset: u32,
        len: u32,
    }
}

row! {
    /// The classes of slices of which each class of equal texts consists.
    struct ClassLink {
        /// The representative of the class of equal texts.
        representative: u64,
        /// The class of a slice, as in [`LocalClass::class`].
        class: u64,
    }
}

row! {
    /// An item: a class of equal texts. The number of the item is its position in the file, which is that in keep order.
    struct ItemRow {
        representative: u64,
        first: u64,
        size: u32,
        fingerprint: u128,
        features: u32,
        shingles: u32,
        measure: u8,
        /// The block of the text in the spools of all parts together.
        block: u32,
        offset: u32,
        len: u32,
    }
}

row! {
    /// An item that duplicates a known document, sorted by item.
    struct KnownRow {
        item: u64,
        hamming: u32,
        /// The bits of the Jaccard; NaN if the texts were not compared.
        jaccard: u64,
        /// The end of the id of the known document among the ids of its block.
        id_end: u64,
    }
}

row! {
    /// A fingerprint with an item.
    struct FingerprintRow {
        fingerprint: u128,
        /// The first document of the item in input order.
        first: u64,
        item: u64,
    }
}

row! {
    /// A fingerprint at the width of the join.
    struct JoinRow {
        fingerprint: u128,
    }
}

row! {
    /// Two rows within the radius, or a row with more neighbours than the limit and itself.
    struct RowPair {
        a: u64,
        b: u64,
    }
}

row! {
    /// A candidate pair, sorted by the blocks of its items.
    struct EdgeRow {
        /// The block of the item.
        item_block: u32,
        /// The block of the earlier item.
        earlier_block: u32,
        item: u64,
        earlier: u64,
    }
}

row! {
    /// A member of a crowd, whose pairs with other members are found among leaders only.
    struct CrowdRow {
        item: u64,
        /// The role, see [`role_field`].
        role: u8,
    }
}

row! {
    /// The duplicate that is drawn for a sampled text among the texts of a block.
    struct DrawnRow {
        /// The item of the sampled text.
        text: u64,
        /// The priority; the duplicate with the smallest one is drawn.
        priority: u64,
        /// The first document with the text of the duplicate. It decides between equal priorities.
        order: u64,
        /// The item of the duplicate.
        item: u64,
    }
}

row! {
    /// A verified pair of duplicates.
    struct VerifiedRow {
        item: u64,
        earlier: u64,
        distance: u32,
        /// The bits of the Jaccard.
        jaccard: u64,
        /// The bits of the containment.
        containment: u64,
    }
}

row! {
    /// A candidate pair that an earlier run has verified, sorted like candidate pairs.
    struct ComparedRow {
        item_block: u32,
        earlier_block: u32,
        item: u64,
        earlier: u64,
        distance: u32,
        /// The bits of the Jaccard; no number if it is below that of a near miss.
        jaccard: u64,
        /// The bits of the containment.
        containment: u64,
    }
}

impl ComparedRow {
    /// The pair `edge`, with its similarity unless that is below a near miss.
    pub(super) fn new(edge: EdgeRow, similar: Option<VerifiedRow>) -> Self {
        let EdgeRow {
            item_block,
            earlier_block,
            item,
            earlier,
        } = edge;
        let none = f64::NAN.to_bits();
        Self {
            item_block,
            earlier_block,
            item,
            earlier,
            distance: similar.map_or(0, |row| row.distance),
            jaccard: similar.map_or(none, |row| row.jaccard),
            containment: similar.map_or(none, |row| row.containment),
        }
    }

    /// The candidate pair.
    pub(super) fn edge(&self) -> EdgeRow {
        EdgeRow {
            item_block: self.item_block,
            earlier_block: self.earlier_block,
            item: self.item,
            earlier: self.earlier,
        }
    }

    /// The pair with its similarity; `None` if that is below a near miss.
    pub(super) fn verified(&self) -> Option<VerifiedRow> {
        let row = VerifiedRow {
            item: self.item,
            earlier: self.earlier,
            distance: self.distance,
            jaccard: self.jaccard,
            containment: self.containment,
        };
        Some(row).filter(|row| !f64::from_bits(row.jaccard).is_nan())
    }
}

row! {
    /// An item that follows a leader.
    struct FollowerRow {
        leader: u64,
        item: u64,
        /// The number of documents of the item.
        copies: u32,
        distance: u32,
        jaccard: u64,
        containment: u64,
    }
}

row! {
    /// The decision on a class of a slice.
    struct DecisionRow {
        /// The class, as in [`LocalClass::class`].
        class: u64,
        /// The document that stands for the class.
        representative: u64,
        /// The document that leads the group.
        leader: u64,
        /// The number of documents of the group.
        size: u32,
        distance: u32,
        jaccard: u64,
        fingerprint: u128,
        /// 1 if the text has no features.
        empty: u8,
        /// The number of the known document that the class duplicates, from 1; 0 if there is none.
        known: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Row, assert_specified};

    #[test]
    fn the_rows_have_the_sizes_of_their_specification() {
        assert_specified(&[
            ("DocumentRow", DocumentRow::BYTES),
            ("LocalClass", LocalClass::<()>::BYTES),
            ("GlobalClass", GlobalClass::<()>::BYTES),
            ("ClassLink", ClassLink::BYTES),
            ("ItemRow", ItemRow::BYTES),
            ("KnownRow", KnownRow::BYTES),
            ("FingerprintRow", FingerprintRow::BYTES),
            ("JoinRow", JoinRow::BYTES),
            ("RowPair", RowPair::BYTES),
            ("EdgeRow", EdgeRow::BYTES),
            ("CrowdRow", CrowdRow::BYTES),
            ("VerifiedRow", VerifiedRow::BYTES),
            ("FollowerRow", FollowerRow::BYTES),
            ("DecisionRow", DecisionRow::BYTES),
            ("DrawnRow", DrawnRow::BYTES),
        ]);
    }
}
