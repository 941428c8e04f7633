//! Where the common passages of two texts stand: greedy tiling (Wise 1993) by rolling fingerprints, longest run first at each place.

use std::collections::HashMap;
use std::ops::Range;

use fingerprint::HashKey;

use super::{Units, rolling};
use crate::script::Measure;

/// Words, and letters, that a run must begin with.
const SEED: [usize; 2] = [4, 8];
/// The shortest passage told, in the same units.
const SHORTEST: [usize; 2] = [8, 16];
/// Units that may differ within a passage.
const GAP: [usize; 2] = [6, 12];
/// Places of the other text tried for one beginning.
const PLACES: usize = 8;

/// A passage of both texts, in characters of their canonical forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Where it stands in the first text.
    pub a: Range<usize>,
    /// Where it stands in the second.
    pub b: Range<usize>,
}

/// A run of equal units, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    a: Range<usize>,
    b: Range<usize>,
}

/// The common passages of two canonical texts in the order of the first; runs with small differences between them are one. None are
/// shorter than eight words or sixteen letters. Expected linear for texts that repeat themselves little.
pub fn passages(a: &str, b: &str, measure: Measure) -> Vec<Passage> {
    let kind = usize::from(measure == Measure::CharGrams);
    let key = HashKey::PUBLIC;
    let (mut left, mut right) = (Units::default(), Units::default());
    left.cut(&key, a, measure);
    right.cut(&key, b, measure);
    let runs = join(tile(&left.hashes, &right.hashes, SEED[kind]), GAP[kind]);
    let place = |units: &Units, text: &str, run: &Range<usize>| {
        let start = units.spans[run.start].start as usize;
        let end = units.spans[run.end - 1].end as usize;
        let before = text[..start].chars().count();
        before..before + text[start..end].chars().count()
    };
    runs.iter()
        .filter(|run| run.a.len().max(run.b.len()) >= SHORTEST[kind])
        .map(|run| Passage {
            a: place(&left, a, &run.a),
            b: place(&right, b, &run.b),
        })
        .collect()
}

/// Runs of at least `seed` equal hashes that do not overlap in `a`.
fn tile(a: &[u64], b: &[u64], seed: usize) -> Vec<Run> {
    let mut grams = Vec::new();
    rolling(b, seed, &mut grams);
    let mut places: HashMap<u64, Vec<u32>> = HashMap::new();
    for (at, &gram) in (0u32..).zip(&grams) {
        let list = places.entry(gram).or_default();
        if list.len() < PLACES {
            list.push(at);
        }
    }
    rolling(a, seed, &mut grams);
    let mut runs = Vec::new();
    let mut i = 0;
    while let Some(gram) = grams.get(i) {
        let length = |&j: &u32| {
            let equal = |(x, y): &(&u64, &u64)| x == y;
            a[i..].iter().zip(&b[j as usize..]).take_while(equal).count()
        };
        let here = places.get(gram).into_iter().flatten();
        // The first of equally long runs: texts in the same order stay in it.
        let best = here.map(|j| (length(j), std::cmp::Reverse(*j))).max();
        match best {
            Some((length, std::cmp::Reverse(j))) if length >= seed => {
                let j = j as usize;
                runs.push(Run {
                    a: i..i + length,
                    b: j..j + length,
                });
                i += length;
            }
            _ => i += 1,
        }
    }
    runs
}

/// Joins runs that follow one another in both texts with at most `gap` units between.
fn join(runs: Vec<Run>, gap: usize) -> Vec<Run> {
    let mut joined: Vec<Run> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last)
                if run.a.start - last.a.end <= gap
                    && (last.b.end..=last.b.end + gap).contains(&run.b.start) =>
            {
                last.a.end = run.a.end;
                last.b.end = run.b.end;
            }
            _ => joined.push(run),
        }
    }
    joined
}
