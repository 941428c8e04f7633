//! What a candidate pair really shares.

use fingerprint::HashKey;
use text::Measure;
use text::overlap::{Shingler, overlap};
use text::passages::{Passage, passages};

use super::Part;
use crate::corpus::Classes;
use crate::error::DedupError;
use crate::spool::{BlockBuffer, Spool};

/// Passages told of a pair, the longest ones.
const TOLD: usize = 8;

/// Buffers of one thread.
pub(super) struct Measuring {
    shingler: Shingler,
    own: BlockBuffer,
    other: BlockBuffer,
}

impl Measuring {
    pub(super) fn new(key: HashKey) -> Self {
        Self {
            shingler: Shingler::new(key),
            own: BlockBuffer::default(),
            other: BlockBuffer::default(),
        }
    }

    /// Of the `others`, those with which class `b` has a containment of at least `least`.
    pub(super) fn parts(
        &mut self,
        (classes, spool): (&Classes, &Spool),
        b: u32,
        others: &[u32],
        least: f64,
    ) -> Result<Vec<Part>, DedupError> {
        let Self { shingler, own, other } = self;
        let measure = |class: u32| classes.measure[class as usize];
        let text = spool.text(classes.text[b as usize], own)?;
        // By the measure of a pair, which is its own with nearly all.
        let mut sets: [Option<Vec<u64>>; 2] = [None, None];
        let mut parts = Vec::new();
        for &a in others {
            let by = measure(a).with(measure(b));
            let set =
                sets[usize::from(by == Measure::CharGrams)].get_or_insert_with(|| shingler.shingle(text, by));
            let its = spool.text(classes.text[a as usize], other)?;
            let shingles = shingler.shingle(its, by);
            let shared = overlap(&shingles, set);
            if shared.containment() < least {
                continue;
            }
            let share = |of: usize| f64::from(shared.common) / of.max(1) as f64;
            parts.push(Part {
                a,
                b,
                jaccard: shared.jaccard(),
                containment: shared.containment(),
                shares: [share(shingles.len()), share(set.len())],
                passages: longest(passages(its, text, by)),
            });
        }
        Ok(parts)
    }
}

/// The longest few, in the order of the text.
fn longest(mut passages: Vec<Passage>) -> Vec<Passage> {
    passages.sort_by_key(|passage| std::cmp::Reverse(passage.a.len()));
    passages.truncate(TOLD);
    passages.sort_by_key(|passage| passage.a.start);
    passages
}
