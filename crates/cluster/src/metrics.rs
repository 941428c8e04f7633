//! How well one clustering agrees with another: B-cubed, pairs, adjusted Rand index, V-measure, mutual information.
//!
//! Both clusterings give every item a cluster. All measures are computed from the sizes of the clusters and of their intersections, so
//! the work is linear in the items. Of the families of measures, B-cubed alone meets all of the constraints that Amigó, Gonzalo,
//! Artiles and Verdejo (2009) put up: homogeneity, completeness, one bad cluster rather than noise in all, small clusters kept small.
//! It counts every item as its own neighbour, which flatters clusterings of singletons; so it is given without that as well
//! (van Heusden, Kamps and Marx 2024).

use std::collections::HashMap;

/// Precision, recall, and their harmonic mean; each 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The share of what was put together that belongs together.
    pub precision: f64,
    /// The share of what belongs together that was put together.
    pub recall: f64,
}

impl Score {
    /// The harmonic mean; 0 where both are 0.
    pub fn f1(self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 {
            2.0 * self.precision * self.recall / sum
        } else {
            0.0
        }
    }
}

/// What two clusterings of the same items have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Items.
    pub items: usize,
    /// Clusters found, and clusters of the truth.
    pub clusters: [usize; 2],
    /// B-cubed, every item being its own neighbour (Bagga and Baldwin 1998).
    pub bcubed: Score,
    /// B-cubed over the other items. An item alone in its cluster has precision 1 if it is alone in the truth as well, else 0; recall likewise.
    pub bcubed_without_self: Score,
    /// Over pairs of items. Where no pair was put together precision is 1, where none belongs together recall is 1.
    pub pairwise: Score,
    /// Adjusted Rand index (Hubert and Arabie 1985): 1 for equal clusterings, about 0 for unrelated ones.
    pub adjusted_rand: f64,
    /// The share of the truth's entropy that the clusters found tell; 1 where it has none.
    pub homogeneity: f64,
    /// The share of the found clusters' entropy that the truth tells; 1 where they have none.
    pub completeness: f64,
    /// Mutual information over the geometric mean of both entropies (Strehl and Ghosh 2002). Over the arithmetic mean it is
    /// [`v_measure`](Self::v_measure).
    pub mutual_information: f64,
}

impl Agreement {
    /// The harmonic mean of homogeneity and completeness (Rosenberg and Hirschberg 2007).
    pub fn v_measure(&self) -> f64 {
        let score = Score {
            precision: self.homogeneity,
            recall: self.completeness,
        };
        score.f1()
    }

    /// Compares the clusters found with the truth, in pairs up to the shorter slice. Labels are names only. Expected linear time.
    pub fn of(found: &[u32], truth: &[u32]) -> Self {
        let table = Table::new(found, truth);
        let (homogeneity, completeness, mutual_information) = table.information();
        Self {
            items: table.items,
            clusters: [table.found.len(), table.truth.len()],
            bcubed: table.bcubed(share),
            bcubed_without_self: table.bcubed(share_of_others),
            pairwise: table.pairwise(),
            adjusted_rand: table.adjusted_rand(),
            homogeneity,
            completeness,
            mutual_information,
        }
    }
}

/// Sizes of clusters and of their intersections that are not empty. Sorted by label, so that sums are taken in one order.
struct Table {
    items: usize,
    found: Vec<u64>,
    truth: Vec<u64>,
    /// Size of an intersection, and of the two clusters that meet in it.
    cells: Vec<[u64; 3]>,
}

impl Table {
    fn new(found: &[u32], truth: &[u32]) -> Self {
        let mut cells: HashMap<(u32, u32), u64> = HashMap::new();
        let mut sizes: [HashMap<u32, u64>; 2] = Default::default();
        for (&a, &b) in found.iter().zip(truth) {
            *cells.entry((a, b)).or_default() += 1;
            *sizes[0].entry(a).or_default() += 1;
            *sizes[1].entry(b).or_default() += 1;
        }
        let mut cells: Vec<_> = cells.into_iter().collect();
        cells.sort_unstable();
        let size = |side: usize, label: u32| sizes[side].get(&label).copied().unwrap_or_default();
        let cells = cells
            .into_iter()
            .map(|((a, b), both)| [both, size(0, a), size(1, b)])
            .collect();
        let sorted = |sizes: &HashMap<u32, u64>| {
            let mut sizes: Vec<u64> = sizes.values().copied().collect();
            sizes.sort_unstable();
            sizes
        };
        Self {
            items: found.len().min(truth.len()),
            found: sorted(&sizes[0]),
            truth: sorted(&sizes[1]),
            cells,
        }
    }

    /// The mean over items of `share(intersection, cluster, other cluster)`; 1 without items.
    fn bcubed(&self, share: impl Fn(u64, u64, u64) -> f64) -> Score {
        if self.items == 0 {
            return Score {
                precision: 1.0,
                recall: 1.0,
            };
        }
        let [mut precision, mut recall] = [0.0; 2];
        for &[both, found, truth] in &self.cells {
            precision += both as f64 * share(both, found, truth);
            recall += both as f64 * share(both, truth, found);
        }
        let items = self.items as f64;
        Score {
            precision: precision / items,
            recall: recall / items,
        }
    }

    fn pairwise(&self) -> Score {
        let both: f64 = self.cells.iter().map(|cell| pairs(cell[0])).sum();
        let [found, truth] = [&self.found, &self.truth].map(|sizes| sizes.iter().map(|&n| pairs(n)).sum());
        let ratio = |all: f64| if all > 0.0 { both / all } else { 1.0 };
        Score {
            precision: ratio(found),
            recall: ratio(truth),
        }
    }

    fn adjusted_rand(&self) -> f64 {
        let both: f64 = self.cells.iter().map(|cell| pairs(cell[0])).sum();
        let [found, truth]: [f64; 2] =
            [&self.found, &self.truth].map(|sizes| sizes.iter().map(|&n| pairs(n)).sum());
        let all = pairs(self.items as u64);
        let expected = if all > 0.0 { found * truth / all } else { 0.0 };
        let most = f64::midpoint(found, truth);
        if (most - expected).abs() < f64::EPSILON {
            // Both are one cluster, or both are all singletons.
            1.0
        } else {
            (both - expected) / (most - expected)
        }
    }

    /// Homogeneity, completeness, and mutual information over the geometric mean of the entropies.
    fn information(&self) -> (f64, f64, f64) {
        let items = self.items as f64;
        let entropy = |sizes: &[u64]| {
            let share = |&n: &u64| n as f64 / items;
            -sizes.iter().map(share).map(|p| p * p.ln()).sum::<f64>()
        };
        let [found, truth] = [entropy(&self.found), entropy(&self.truth)];
        let mutual: f64 = self
            .cells
            .iter()
            .map(|&[both, a, b]| {
                let both = both as f64;
                both / items * (both * items / (a as f64 * b as f64)).ln()
            })
            .sum();
        let single = [self.found.len() <= 1, self.truth.len() <= 1];
        let share = |entropy: f64, single: bool| if single { 1.0 } else { mutual / entropy };
        let shared = match single {
            [true, true] => 1.0,
            [false, false] => mutual / (found * truth).sqrt(),
            _ => 0.0,
        };
        (share(truth, single[1]), share(found, single[0]), shared)
    }
}

fn pairs(n: u64) -> f64 {
    let n = n as f64;
    n * (n - 1.0) / 2.0
}

/// The share of a cluster that lies in the other.
fn share(both: u64, cluster: u64, _: u64) -> f64 {
    both as f64 / cluster as f64
}

/// The same without the item itself.
fn share_of_others(both: u64, cluster: u64, other: u64) -> f64 {
    match (cluster, other) {
        (1, 1) => 1.0,
        (1, _) => 0.0,
        _ => (both - 1) as f64 / (cluster - 1) as f64,
    }
}

#[cfg(test)]
mod tests;
