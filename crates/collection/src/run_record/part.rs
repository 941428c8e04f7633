//! Parts of a stored run. A run is split into parts so that no stored value becomes too large.

use serde::{Deserialize, Serialize};

use twinprint_io::runs::{AddedRecord, KnownAnswer, KnownDocument, PastRun};

use crate::error::CollectionError;
use crate::record::json;

/// The zstd level of stored parts of runs.
const LEVEL: i32 = 3;

/// A part of the entries of a run. It is stored as compressed JSON. A Jaccard is stored as the bits of the number, so
/// that exactly the same number is read back.
#[derive(Serialize, Deserialize)]
pub(crate) enum RunPart {
    /// Answers for duplicates: number of the record, id of the stored duplicate, Hamming distance, bits of the Jaccard.
    #[serde(rename = "Told")]
    Answers(Vec<(u64, String, u32, Option<u64>)>),
    /// The numbers of records whose documents an earlier run over the input had added.
    Recognised(Vec<u64>),
    /// The numbers of records whose documents were added, each with the number of the document.
    Added(Vec<(u64, u64)>),
}

impl RunPart {
    /// Makes a part that contains answers.
    pub(crate) fn answers(answers: &[KnownAnswer]) -> Self {
        let row = |answer: &KnownAnswer| {
            let KnownDocument { id, hamming, jaccard } = &answer.document;
            (answer.record, id.clone(), *hamming, jaccard.map(f64::to_bits))
        };
        Self::Answers(answers.iter().map(row).collect())
    }

    /// Makes a part that contains recognised records.
    pub(crate) fn recognised(records: &[u64]) -> Self {
        Self::Recognised(records.to_vec())
    }

    /// Makes a part that contains added documents.
    pub(crate) fn added(added: &[AddedRecord]) -> Self {
        Self::Added(added.iter().map(|added| (added.record, added.number)).collect())
    }

    /// Encodes the part as JSON and compresses it.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, CollectionError> {
        let failed = |error: std::io::Error| {
            CollectionError::Invalid(format!("the run cannot be compressed: {error}"))
        };
        zstd::encode_all(json(self)?.as_slice(), LEVEL).map_err(failed)
    }

    /// Decompresses and decodes a part; `None` if the bytes are not a part.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(&zstd::decode_all(bytes).ok()?).ok()
    }

    /// Appends the entries of this part to the run that is being read.
    pub(crate) fn append_to(self, run: &mut PastRun) {
        match self {
            Self::Answers(rows) => {
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
    fn parts_round_trip() {
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
            RunPart::answers(&answers),
            RunPart::recognised(&[3, 4]),
            RunPart::added(&added),
        ] {
            RunPart::decode(&part.encode().unwrap())
                .unwrap()
                .append_to(&mut run);
        }
        assert_eq!(
            (run.answers, run.recognised, run.added),
            (answers, vec![3, 4], added)
        );
    }
}
