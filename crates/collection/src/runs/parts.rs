//! The stored pieces of a run.

use serde::{Deserialize, Serialize};

use twinprint_io::runs::{AddedRecord, KnownAnswer, KnownDocument, PastRun};

use crate::error::CollectionError;
use crate::tables::json;

/// Level of compression.
const LEVEL: i32 = 3;

/// A stored piece of what is remembered, in JSON. Of a Jaccard there are the bits, so that it comes back exactly.
#[derive(Serialize, Deserialize)]
pub(super) enum Part {
    Told(Vec<(u64, String, u32, Option<u64>)>),
    Recognised(Vec<u64>),
    Added(Vec<(u64, u64)>),
}

impl Part {
    pub(super) fn answers(answers: &[KnownAnswer]) -> Self {
        let row = |answer: &KnownAnswer| {
            let KnownDocument { id, hamming, jaccard } = &answer.document;
            (answer.record, id.clone(), *hamming, jaccard.map(f64::to_bits))
        };
        Self::Told(answers.iter().map(row).collect())
    }

    pub(super) fn recognised(records: &[u64]) -> Self {
        Self::Recognised(records.to_vec())
    }

    pub(super) fn added(added: &[AddedRecord]) -> Self {
        Self::Added(added.iter().map(|added| (added.record, added.number)).collect())
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, CollectionError> {
        let failed = |error: std::io::Error| CollectionError::Invalid(format!("run: {error}"));
        zstd::encode_all(json(self)?.as_slice(), LEVEL).map_err(failed)
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(&zstd::decode_all(bytes).ok()?).ok()
    }

    pub(super) fn take_back(self, run: &mut PastRun) {
        match self {
            Self::Told(rows) => {
                let answer = |(record, id, hamming, jaccard): (_, _, _, Option<u64>)| KnownAnswer {
                    record,
                    document: KnownDocument {
                        id,
                        hamming,
                        jaccard: jaccard.map(f64::from_bits),
                    },
                };
                run.answers.extend(rows.into_iter().map(answer));
            }
            Self::Recognised(records) => run.recognised.extend(records),
            Self::Added(rows) => {
                let added = |(record, number)| AddedRecord { record, number };
                run.added.extend(rows.into_iter().map(added));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back() {
        let answers: Vec<KnownAnswer> = [None, Some(1.0), Some(0.1 + 0.2), Some(1.0 / 3.0)]
            .into_iter()
            .zip(7u32..)
            .map(|(jaccard, n)| KnownAnswer {
                record: n.into(),
                document: KnownDocument {
                    id: format!("日{n}"),
                    hamming: n,
                    jaccard,
                },
            })
            .collect();
        let added = vec![AddedRecord {
            record: u64::MAX,
            number: u64::MAX,
        }];
        let mut run = PastRun::default();
        for part in [
            Part::answers(&answers),
            Part::recognised(&[3, 4]),
            Part::added(&added),
        ] {
            Part::decode(&part.encode().unwrap()).unwrap().take_back(&mut run);
        }
        assert_eq!(
            (run.answers, run.recognised, run.added),
            (answers, vec![3, 4], added)
        );
    }
}
