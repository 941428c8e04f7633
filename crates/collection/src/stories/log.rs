//! What happened to the stories since their state was saved, one entry a step.

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A document was placed, by the item that stands behind the entry, and went to a story.
    Place {
        document: u64,
        story: u64,
        time: i64,
        now: i64,
    },
    /// A duplicate came to a story.
    Grow { story: u64, time: i64, now: i64 },
    /// A document of a story went.
    Shrink { story: u64, document: u64 },
}

/// A byte for the kind, and four numbers.
const LENGTH: usize = 1 + 4 * 8;

impl Entry {
    /// The bytes, little-endian: kind, document, story, time, now; behind them the packed item of what was placed.
    pub(super) fn encode(self, packed: &[u8]) -> Vec<u8> {
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
        let mut bytes = Vec::with_capacity(LENGTH + packed.len());
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

    /// An entry and its packed item; none where the bytes are something else.
    pub(super) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, packed) = bytes.split_first_chunk::<LENGTH>()?;
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
    fn entries_come_back() {
        let [document, story, time, now] = [u64::MAX, 2, 3, 4];
        let (time, now) = (-(time as i64), now as i64);
        for entry in [
            Entry::Place {
                document,
                story,
                time,
                now,
            },
            Entry::Grow { story, time, now },
            Entry::Shrink { story, document },
        ] {
            let bytes = entry.encode(b"item");
            let packed: &[u8] = if matches!(entry, Entry::Place { .. }) {
                b"item"
            } else {
                b""
            };
            assert_eq!(Entry::decode(&bytes), Some((entry, packed)));
            assert_eq!(Entry::decode(&bytes[..LENGTH - 1]), None);
        }
        assert_eq!(Entry::decode(&[9; LENGTH]), None);
    }
}
