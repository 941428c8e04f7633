//! The entries of the story log. They record the changes of the stories since the state of the stories was last saved.

/// One change of the stories, as the story log records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoryLogEntry {
    /// A document was placed by its words and joined the story `story`. Its item, which contains the words, follows the
    /// entry.
    Place {
        document: u64,
        story: u64,
        time: i64,
        now: i64,
    },
    /// A duplicate joined the story of its group, without a comparison of words.
    Grow { story: u64, time: i64, now: i64 },
    /// A document was removed from its story.
    Shrink { story: u64, document: u64 },
}

/// The size of an encoded entry in bytes without the item that may follow: one byte for the kind, and four numbers.
const ENTRY_BYTES: usize = 1 + 4 * 8;

impl StoryLogEntry {
    /// Encodes the entry in little-endian order: kind, document, story, time, now. The compressed item `packed` follows
    /// if a document was placed by its words.
    pub(crate) fn encode(self, packed: &[u8]) -> Vec<u8> {
        let (kind, document, story, time, now) = match self {
            Self::Place {
                document,
                story,
                time,
                now,
            } => (0, document, story, time, now),
            Self::Grow { story, time, now } => (1, 0, story, time, now),
            Self::Shrink { story, document } => (2, document, story, 0, 0),
        };
        let mut bytes = Vec::with_capacity(ENTRY_BYTES + packed.len());
        bytes.push(kind);
        bytes.extend_from_slice(&document.to_le_bytes());
        bytes.extend_from_slice(&story.to_le_bytes());
        bytes.extend_from_slice(&time.to_le_bytes());
        bytes.extend_from_slice(&now.to_le_bytes());
        if kind == 0 {
            bytes.extend_from_slice(packed);
        }
        bytes
    }

    /// Decodes an entry and returns it with the compressed item that follows; `None` if the bytes are not an entry.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, packed) = bytes.split_first_chunk::<ENTRY_BYTES>()?;
        let (kind, numbers) = head.split_first()?;
        let (numbers, _) = numbers.as_chunks::<8>();
        let &[document, story, time, now] = numbers.first_chunk::<4>()?;
        let [document, story] = [document, story].map(u64::from_le_bytes);
        let [time, now] = [time, now].map(i64::from_le_bytes);
        let entry = match kind {
            0 => Self::Place {
                document,
                story,
                time,
                now,
            },
            1 => Self::Grow { story, time, now },
            2 => Self::Shrink { story, document },
            _ => return None,
        };
        Some((entry, packed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_round_trip() {
        let [document, story, time, now] = [u64::MAX, 2, 3, 4];
        let (time, now) = (-(time as i64), now as i64);
        for entry in [
            StoryLogEntry::Place {
                document,
                story,
                time,
                now,
            },
            StoryLogEntry::Grow { story, time, now },
            StoryLogEntry::Shrink { story, document },
        ] {
            let bytes = entry.encode(b"item");
            let packed: &[u8] = if matches!(entry, StoryLogEntry::Place { .. }) {
                b"item"
            } else {
                b""
            };
            assert_eq!(StoryLogEntry::decode(&bytes), Some((entry, packed)));
            assert_eq!(StoryLogEntry::decode(&bytes[..ENTRY_BYTES - 1]), None);
        }
        assert_eq!(StoryLogEntry::decode(&[9; ENTRY_BYTES]), None);
    }
}
