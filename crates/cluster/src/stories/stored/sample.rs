//! The binary form of the sample of items and of the estimate of the thresholds.

use super::super::estimate::{COSINE_INTERVALS, CosineHistogram, Estimate};
use super::super::thresholds::Sample;
use super::{Decoder, Encoder};

impl Sample {
    pub(super) fn write(&self, out: &mut Encoder) {
        out.u64(self.estimated_at);
        out.length(self.items.len());
        for item in &self.items {
            out.length(item.len());
            for &(term, occurrences) in item {
                out.u32(term);
                out.u32(occurrences);
            }
        }
        out.put([u8::from(self.estimate.is_some())]);
        if let Some(estimate) = &self.estimate {
            out.u64(estimate.items);
            out.u64(estimate.distinct);
            out.put(estimate.threshold.to_le_bytes());
            out.put(estimate.merge.to_le_bytes());
            out.put([u8::from(estimate.two_kinds)]);
            for histogram in [&estimate.nearest, &estimate.background] {
                for &count in histogram.counts() {
                    out.u64(count);
                }
            }
        }
    }

    pub(super) fn read(input: &mut Decoder<'_>) -> Option<Self> {
        let estimated_at = input.u64()?;
        let items = input.list(|input| input.list(|input| Some((input.u32()?, input.u32()?))))?;
        let estimate = match input.take()? {
            [0] => None,
            [1] => {
                let (items, distinct) = (input.u64()?, input.u64()?);
                let (threshold, merge) = (
                    f64::from_le_bytes(input.take()?),
                    f64::from_le_bytes(input.take()?),
                );
                let two_kinds = input.take()? == [1];
                let mut histogram = || {
                    let counts: Option<Vec<u64>> = (0..COSINE_INTERVALS).map(|_| input.u64()).collect();
                    counts.map(CosineHistogram)
                };
                Some(Estimate {
                    items,
                    distinct,
                    threshold,
                    merge,
                    two_kinds,
                    nearest: histogram()?,
                    background: histogram()?,
                })
            }
            _ => return None,
        };
        Some(Self {
            items,
            estimated_at,
            estimate,
        })
    }
}
