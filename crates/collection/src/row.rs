//! The row of a document: the part that is in memory, and its encoding on disk.
//!
//! A row contains everything that decides the group of a document, except the text. All rows are read when a collection is opened. The
//! indexes for fingerprints, ids and equal texts are built from them, so no index on disk can disagree with the documents.

use twinprint_text::Measure;

use super::document::Verdict;

/// The row of a document: about 100 bytes, and 8 for each token of its prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The number of the change that added the document. It identifies the document inside the collection.
    pub(crate) ordinal: u64,
    /// The fingerprint, in the low bits; the profile states how many.
    pub(crate) fingerprint: u128,
    /// The keyed hash of the id.
    pub(crate) id: u128,
    /// The keyed hash of the canonical text, or of the fingerprint of a document without a text.
    pub(crate) text: u128,
    /// The group that it belongs to.
    pub(crate) group: u64,
    /// Unix time in seconds at which it expires; [`i64::MAX`] for never.
    pub(crate) expires: i64,
    /// The number of distinct features.
    pub(crate) features: u32,
    /// The unit of its shingles.
    pub(crate) measure: Measure,
    /// The story that it joined, which may have been merged since; 0 if the collection keeps no stories.
    pub(crate) story: u64,
    /// True if it leads its group.
    pub(crate) leads: bool,
    /// True if the fingerprint is searched: it is based on enough features.
    pub(crate) by_fingerprint: bool,
    /// The size of the shingle set of a short text; 0 for other texts.
    pub(crate) set_size: u32,
    /// The prefix by which a short text is found; empty for other texts.
    pub(crate) prefix: Box<[u64]>,
}

/// The size of a row without story and prefix, in bytes.
const FIXED_BYTES: usize = 16 * 3 + 8 + 8 + 4 + 1 + 4;
const CHAR_GRAMS: u8 = 1;
const LEADS: u8 = 2;
const BY_FINGERPRINT: u8 = 4;
const IN_STORY: u8 = 8;

impl Row {
    /// Encodes the row, little-endian: fingerprint, id, text, group, expires, features, flags, size of the set, story (where it
    /// has one), prefix.
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

    /// Decodes the row of a number; `None` if the bytes are not a row.
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

    /// The relation of its document to the others: new, exact or near. `copies` are the documents of its text.
    pub(crate) fn relation<'r>(&self, mut copies: impl Iterator<Item = &'r Self>) -> Verdict {
        if self.leads {
            Verdict::New
        } else if copies.any(|copy| copy.ordinal != self.ordinal) {
            Verdict::Exact
        } else {
            Verdict::Near
        }
    }

    /// True if the document has expired at a time, in Unix seconds.
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
