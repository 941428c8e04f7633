//! The binary form of the sample of items and of the estimate of the thresholds.

use super::super::estimate::{Basis, COSINE_INTERVALS, CosineHistogram, Estimate, Trial};
use super::super::thresholds::Sample;
use super::{Decoder, Encoder};

/// The reason for a threshold, as it is stored. Versions that formed no trials wrote [`HALFWAY`] and [`TWO_KINDS`] only. A
/// list of trials follows the other two.
const HALFWAY: u8 = 0;
const TWO_KINDS: u8 = 1;
const SEPARATED: u8 = 2;
const HALFWAY_AFTER_TRIALS: u8 = 3;

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
            out.f64(estimate.threshold);
            out.f64(estimate.merge);
            out.put([match estimate.basis {
                Basis::Halfway if estimate.trials.is_empty() => HALFWAY,
                Basis::TwoKinds => TWO_KINDS,
                Basis::Separated => SEPARATED,
                Basis::Halfway => HALFWAY_AFTER_TRIALS,
            }]);
            if !estimate.trials.is_empty() {
                out.length(estimate.trials.len());
            }
            for trial in &estimate.trials {
                out.f64(trial.threshold);
                out.f64(trial.silhouette);
                out.u64(trial.stories);
            }
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
                let (threshold, merge) = (input.f64()?, input.f64()?);
                let [tag] = input.take()?;
                let basis = match tag {
                    HALFWAY | HALFWAY_AFTER_TRIALS => Basis::Halfway,
                    TWO_KINDS => Basis::TwoKinds,
                    SEPARATED => Basis::Separated,
                    _ => return None,
                };
                let trials = match tag {
                    SEPARATED | HALFWAY_AFTER_TRIALS => input.list(|input| {
                        Some(Trial {
                            threshold: input.f64()?,
                            silhouette: input.f64()?,
                            stories: input.u64()?,
                        })
                    })?,
                    _ => Vec::new(),
                };
                let mut histogram = || {
                    let counts: Option<Vec<u64>> = (0..COSINE_INTERVALS).map(|_| input.u64()).collect();
                    counts.map(CosineHistogram)
                };
                Some(Estimate {
                    items,
                    distinct,
                    threshold,
                    merge,
                    basis,
                    trials,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample with an estimate of the given reason, as bytes. A list of trials follows the reason, if it is not `None`.
    fn stored(reason: u8, trials: Option<&[Trial]>) -> Vec<u8> {
        let mut out = Encoder::default();
        out.u64(64);
        out.length(0);
        out.put([1]);
        out.u64(64);
        out.u64(60);
        out.f64(0.16);
        out.f64(0.2);
        out.put([reason]);
        if let Some(trials) = trials {
            out.length(trials.len());
        }
        for trial in trials.unwrap_or_default() {
            out.f64(trial.threshold);
            out.f64(trial.silhouette);
            out.u64(trial.stories);
        }
        for count in 0..2 * COSINE_INTERVALS as u64 {
            out.u64(count);
        }
        out.0
    }

    fn read(bytes: &[u8]) -> Option<Sample> {
        let mut input = Decoder(bytes);
        Sample::read(&mut input).filter(|_| input.0.is_empty())
    }

    #[test]
    fn an_estimate_with_and_without_trials_is_read_and_written_unchanged() {
        let trials = [0.16, 0.2].map(|threshold| Trial {
            threshold,
            silhouette: 0.5,
            stories: 7,
        });
        let cases = [
            (HALFWAY, None, Basis::Halfway),
            (TWO_KINDS, None, Basis::TwoKinds),
            (SEPARATED, Some(&trials[..]), Basis::Separated),
            (HALFWAY_AFTER_TRIALS, Some(&trials[..]), Basis::Halfway),
        ];
        for (reason, trials, basis) in cases {
            let bytes = stored(reason, trials);
            let sample = read(&bytes).unwrap();
            let estimate = sample.estimate.as_ref().unwrap();
            assert_eq!((estimate.basis, estimate.threshold), (basis, 0.16));
            assert_eq!(estimate.trials, trials.unwrap_or_default());
            let mut out = Encoder::default();
            sample.write(&mut out);
            assert_eq!(out.0, bytes);
        }
    }

    #[test]
    fn an_unknown_reason_is_refused() {
        assert!(read(&stored(4, None)).is_none());
    }
}
