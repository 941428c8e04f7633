//! The rows of the stages that search partial copies.
//!
//! The distinct texts are numbered in the input order of the documents that stand for them. A fingerprint is one of the
//! winnowed fingerprints of a text, not the one by which duplicates are found.

use crate::rows::row;

row! {
    /// A distinct text. The number of the text is its position in the file.
    struct TextRow {
        /// The document that stands for the text.
        representative: u64,
        /// The number of documents with this text.
        documents: u32,
        measure: u8,
        /// The block of the text in the spools of all parts together.
        block: u32,
        offset: u32,
        len: u32,
    }
}

row! {
    /// A fingerprint of a text.
    struct WinnowedRow {
        fingerprint: u64,
        text: u32,
    }
}

row! {
    /// The number of fingerprints of a text, in the order of the texts.
    struct TextSizeRow {
        fingerprints: u32,
    }
}

row! {
    /// A fingerprint of a text that at least one other text has, sorted by text.
    struct SharedRow {
        text: u32,
        fingerprint: u64,
        /// The number of the fingerprint among the common ones, from 1; 0 if it is not common.
        common: u32,
    }
}

row! {
    /// The fingerprints of a text, in the order of the texts.
    struct SharedTextRow {
        /// The end of those that another text has too among the rows of all texts.
        end: u64,
        /// The number of all fingerprints of the text.
        fingerprints: u32,
    }
}

row! {
    /// A text that has a common fingerprint, one fingerprint after another.
    struct CommonTextRow {
        text: u32,
    }
}

row! {
    /// A text with which others are compared to find the passages of many texts, in the order of these comparisons.
    struct ReferenceRow {
        /// 2³² - 1 minus the number of common fingerprints of the text.
        rank: u32,
        /// The number of all fingerprints of the text.
        fingerprints: u32,
        text: u32,
    }
}

row! {
    /// A text that has a passage of many texts, one passage after another.
    struct HolderRow {
        text: u32,
        /// The number of texts that have the passage.
        holders: u32,
        /// 1 for the text with which the others were compared.
        is_reference: u8,
        /// The bits of the share of the text that is in the passage.
        share: u64,
        /// The end of the places of the passage in this text among those of all holders.
        end: u64,
    }
}

row! {
    /// A place of a passage in its holder, in characters of the canonical text.
    struct HolderPlaceRow {
        start: u64,
        end: u64,
    }
}

row! {
    /// Two texts of which one contains a share of the other, sorted by both.
    struct PartRow {
        a: u32,
        b: u32,
        /// The bits of the Jaccard, of the containment, and of the common share of each text.
        jaccard: u64,
        containment: u64,
        share_of_a: u64,
        share_of_b: u64,
    }
}

row! {
    /// A common passage of two texts, in characters of the canonical texts.
    struct PartPlaceRow {
        a: u32,
        b: u32,
        /// The number of the passage in the row of the pair, from 0.
        number: u32,
        start_in_a: u64,
        end_in_a: u64,
        start_in_b: u64,
        end_in_b: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Row, assert_specified};

    #[test]
    fn the_rows_have_the_sizes_of_their_specification() {
        assert_specified(&[
            ("TextRow", TextRow::BYTES),
            ("WinnowedRow", WinnowedRow::BYTES),
            ("TextSizeRow", TextSizeRow::BYTES),
            ("SharedRow", SharedRow::BYTES),
            ("SharedTextRow", SharedTextRow::BYTES),
            ("CommonTextRow", CommonTextRow::BYTES),
            ("ReferenceRow", ReferenceRow::BYTES),
            ("HolderRow", HolderRow::BYTES),
            ("HolderPlaceRow", HolderPlaceRow::BYTES),
            ("PartRow", PartRow::BYTES),
            ("PartPlaceRow", PartPlaceRow::BYTES),
        ]);
    }
}
