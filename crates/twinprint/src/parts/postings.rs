//! Which texts have which fingerprint, and which pairs of texts have many in common.

use fingerprint::HashKey;
use rayon::prelude::*;
use text::passages::Winnower;

use super::{CLASSES_A_TASK, GoOn};
use crate::corpus::Classes;
use crate::error::DedupError;
use crate::memory::Budget;
use crate::spool::{BlockBuffer, Spool};

/// Texts with one fingerprint beyond which it is passed over.
const COMMON: usize = 64;
/// Candidates have at least so many fingerprints in common.
const LEAST_SHARED: u32 = 2;
/// The share of its fingerprints that the smaller text of a candidate has in the other, of the containment asked for: what is picked
/// errs by a few.
const SLACK: f64 = 0.5;
/// Bytes held for a fingerprint at most, while they are sorted.
const A_FINGERPRINT: u64 = 32;

/// Fingerprints that two texts or more have, by text and by fingerprint.
pub(super) struct Postings {
    /// Classes of each fingerprint, ascending, one fingerprint after another.
    classes: Vec<u32>,
    /// Where each fingerprint's classes begin, and the end.
    starts: Vec<u32>,
    /// Numbers of fingerprints, class after class.
    of_class: Vec<u32>,
    /// Where each class's fingerprints begin, and the end.
    class_starts: Vec<u64>,
    /// Fingerprints of each class, those that no other has included.
    sizes: Vec<u32>,
    /// All that were picked.
    pub(super) picked: u64,
    /// Those passed over because very many texts have them.
    pub(super) common: u64,
}

impl Postings {
    /// Reads all texts once. Expected O(text + fingerprints · log).
    ///
    /// # Errors
    /// [`DedupError::Memory`] where the fingerprints do not fit beside the tables of `held` bytes; a spool that cannot be read; what `go_on` says.
    pub(super) fn of(
        (classes, spool): (&Classes, &Spool),
        key: HashKey,
        (budget, held): (Budget, u64),
        go_on: GoOn<'_>,
    ) -> Result<Self, DedupError> {
        let pick = |(winnower, buffer): &mut (Winnower, BlockBuffer), class: u32| {
            go_on()?;
            let text = spool.text(classes.text[class as usize], buffer)?;
            Ok(winnower.fingerprints(text, classes.measure[class as usize]))
        };
        let picked: Vec<Vec<u64>> = (0..classes.len())
            .into_par_iter()
            .with_min_len(CLASSES_A_TASK)
            .map_init(|| (Winnower::new(key), BlockBuffer::default()), pick)
            .collect::<Result<_, DedupError>>()?;
        let sizes: Vec<u32> = picked.iter().map(|of| of.len() as u32).collect();
        let all: u64 = sizes.iter().map(|&n| u64::from(n)).sum();
        budget.check(held + all * A_FINGERPRINT)?;
        let mut pairs: Vec<(u64, u32)> = Vec::with_capacity(all as usize);
        for (class, of) in (0u32..).zip(picked) {
            pairs.extend(of.into_iter().map(|fingerprint| (fingerprint, class)));
        }
        pairs.par_sort_unstable();
        let mut postings = Self {
            classes: Vec::new(),
            starts: vec![0],
            of_class: Vec::new(),
            class_starts: Vec::new(),
            sizes,
            picked: all,
            common: 0,
        };
        let mut counts = vec![0u64; postings.sizes.len() + 1];
        for run in pairs.chunk_by(|a, b| a.0 == b.0) {
            match run.len() {
                1 => {}
                2..=COMMON => {
                    for &(_, class) in run {
                        counts[class as usize + 1] += 1;
                        postings.classes.push(class);
                    }
                    postings.starts.push(postings.classes.len() as u32);
                }
                _ => postings.common += 1,
            }
        }
        drop(pairs);
        postings.turn(counts);
        Ok(postings)
    }

    /// Lists the fingerprints of each class, of which `counts` has so many, one place further.
    fn turn(&mut self, mut counts: Vec<u64>) {
        for i in 1..counts.len() {
            counts[i] += counts[i - 1];
        }
        self.class_starts.clone_from(&counts);
        self.of_class = vec![0; self.classes.len()];
        for (fingerprint, bounds) in (0u32..).zip(self.starts.windows(2)) {
            for &class in &self.classes[bounds[0] as usize..bounds[1] as usize] {
                let next = &mut counts[class as usize];
                self.of_class[*next as usize] = fingerprint;
                *next += 1;
            }
        }
    }

    /// For each class the earlier ones with which it may have a containment of `least`, ascending.
    ///
    /// # Errors
    /// What `go_on` says.
    pub(super) fn candidates(&self, least: f64, go_on: GoOn<'_>) -> Result<Vec<Vec<u32>>, DedupError> {
        let earlier = |class: usize| {
            go_on()?;
            let mut met: Vec<u32> = Vec::new();
            let own = self.class_starts[class] as usize..self.class_starts[class + 1] as usize;
            for &fingerprint in &self.of_class[own] {
                let at = fingerprint as usize;
                let list = &self.classes[self.starts[at] as usize..self.starts[at + 1] as usize];
                met.extend(list.iter().take_while(|&&other| (other as usize) < class));
            }
            met.sort_unstable();
            let enough = |run: &&[u32]| {
                let smaller = self.sizes[class].min(self.sizes[run[0] as usize]);
                let shared = run.len() as u32;
                shared >= LEAST_SHARED && f64::from(shared) >= SLACK * least * f64::from(smaller)
            };
            let runs = met.chunk_by(|a, b| a == b).filter(enough);
            Ok(runs.map(|run| run[0]).collect())
        };
        (0..self.sizes.len()).into_par_iter().map(earlier).collect()
    }
}
