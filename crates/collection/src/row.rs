//! The row of a document: the data about it that is kept in memory, and the encoding of that data on disk.
//!
//! A row contains everything that decides the group of a document, except the text. All rows are read when a collection
//! is opened, and the indexes for fingerprints, ids and equal texts are built from them. These indexes are not stored,
//! so they cannot disagree with the documents.

use twinprint_text::Measure;

use super::document::Verdict;

/// The data about a document that is kept in memory: about 100 bytes, and 8 bytes per token of the prefix of a short
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The number of the document: that of the change that added it. It identifies the document within the collection.
    pub(crate) ordinal: u64,
    /// The fingerprint, in the low bits. The profile states its width.
    pub(crate) fingerprint: u128,
    /// The hash of the document's id, under a secret key of the collection.
    pub(crate) id: u128,
    /// The hash of the canonical text, under a secret key of the collection. If the document has no text, the
    /// fingerprint is hashed.
    pub(crate) text: u128,
    /// The number of the group that the document belongs to.
    pub(crate) group: u64,
    /// The Unix time in seconds when the document expires; [`i64::MAX`] if it never expires.
    pub(crate) expires: i64,
    /// The number of distinct features of the text.
    pub(crate) features: u32,
    /// The unit of the text's shingles: words or characters.
    pub(crate) measure: Measure,
    /// The story that the document joined, which may have been merged into another since; 0 if the collection keeps no
    /// stories.
    pub(crate) story: u64,
    /// True if the document is the leader of its group.
    pub(crate) leads: bool,
    /// True if the document is searched and found by its fingerprint, because the text is long enough for a reliable
    /// one.
    pub(crate) by_fingerprint: bool,
    /// The size of the shingle set of a short text; 0 for other texts.
    pub(crate) set_size: u32,
    /// The prefix of the shingle set, by which a short text is found; empty for other texts.
    pub(crate) prefix: Box<[u64]>,
}

/// The size of an encoded row in bytes, without the story and the prefix.
const FIXED_BYTES: usize = 16 * 3 + 8 + 8 + 4 + 1 + 4;
const CHAR_GRAMS: u8 = 1;
const LEADS: u8 = 2;
const BY_FINGERPRINT: u8 = 4;
const IN_STORY: u8 = 8;

impl Row {
    /// Encodes the row in little-endian order: fingerprint, id, text, group, expires, features, flags, size of the
    /// shingle set, story (only if it is not 0), prefix. The number is the key of the table and is not encoded.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED_BYTES + 8 + self.prefix.len() * 8 + super::seal::SEAL_BYTES);
        for hash in [self.fingerprint, self.id, self.text] {
            out.extend_from_slice(&hash.to_le_bytes());
        }
        out.extend_from_slice(&self.group.to_le_bytes());
        out.extend_from_slice(&self.expires.to_le_bytes());
        out.extend_from_slice(&self.features.to_le_bytes());
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        out.push(
            flag(self.measure == Measure::CharGrams, CHAR_GRAMS)
                | flag(self.leads, LEADS)
                | flag(self.by_fingerprint, BY_FINGERPRINT)
                | flag(self.story != 0, IN_STORY),
        );
        out.extend_from_slice(&self.set_size.to_le_bytes());
        if self.story != 0 {
            out.extend_from_slice(&self.story.to_le_bytes());
        }
        for token in &self.prefix {
            out.extend_from_slice(&token.to_le_bytes());
        }
        out
    }

    /// Decodes the row of the document with the number `ordinal`; `None` if the bytes are not a row.
    pub(crate) fn decode(ordinal: u64, bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let fingerprint = u128::from_le_bytes(take(&mut rest)?);
        let id = u128::from_le_bytes(take(&mut rest)?);
        let text = u128::from_le_bytes(take(&mut rest)?);
        let group = u64::from_le_bytes(take(&mut rest)?);
        let expires = i64::from_le_bytes(take(&mut rest)?);
        let features = u32::from_le_bytes(take(&mut rest)?);
        let [flags] = take(&mut rest)?;
        let set_size = u32::from_le_bytes(take(&mut rest)?);
        let story = if flags & IN_STORY == 0 {
            0
        } else {
            u64::from_le_bytes(take(&mut rest)?)
        };
        let (tokens, left) = rest.as_chunks::<8>();
        if !left.is_empty() {
            return None;
        }
        Some(Self {
            ordinal,
            fingerprint,
            id,
            text,
            group,
            expires,
            features,
            measure: if flags & CHAR_GRAMS == 0 {
                Measure::WordGrams
            } else {
                Measure::CharGrams
            },
            story,
            leads: flags & LEADS != 0,
            by_fingerprint: flags & BY_FINGERPRINT != 0,
            set_size,
            prefix: tokens.iter().map(|&token| u64::from_le_bytes(token)).collect(),
        })
    }

    /// The verdict that describes the row's document now: new if it leads a group, exact if another document has the
    /// same text, otherwise near. `copies` are all documents with that text.
    pub(crate) fn relation<'r>(&self, mut copies: impl Iterator<Item = &'r Self>) -> Verdict {
        if self.leads {
            Verdict::New
        } else if copies.any(|copy| copy.ordinal != self.ordinal) {
            Verdict::Exact
        } else {
            Verdict::Near
        }
    }

    /// True if the document has expired at the Unix time `now`, in seconds.
    pub(crate) fn is_expired(&self, now: i64) -> bool {
        self.expires <= now
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_round_trip(a: (u128, u128, u128, u64, i64), b: (u32, bool, bool, bool, u32), story: u64, prefix: Vec<u64>) {
            let row = Row {
                ordinal: 7, fingerprint: a.0, id: a.1, text: a.2, group: a.3, expires: a.4, features: b.0,
                measure: if b.1 { Measure::CharGrams } else { Measure::WordGrams },
                story, leads: b.2, by_fingerprint: b.3, set_size: b.4, prefix: prefix.into(),
            };
            let bytes = row.encode();
            prop_assert_eq!(Row::decode(7, &bytes), Some(row));
            prop_assert_eq!(Row::decode(7, &bytes[..bytes.len() - 1]), None);
        }
    }
}
