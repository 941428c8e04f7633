//! Measures of the agreement of two clusterings: B-cubed, pairs, adjusted Rand index, V-measure, mutual information.
//!
//! A clustering assigns each item to one cluster. All measures are computed from the sizes of the clusters and of their
//! intersections, so the work is linear in the items. B-cubed is the only family of measures that satisfies all
//! constraints of Amigó, Gonzalo, Artiles and Verdejo (2009): homogeneity, completeness, rag bag (noise in one cluster
//! is better than noise in all), and cluster size versus quantity. It counts every item as its own neighbour, which
//! overrates clusterings of singletons. Therefore it is also computed without the item itself (van Heusden, Kamps and
//! Marx 2024).

use std::collections::HashMap;

/// Precision and recall, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Precision: of what the clustering puts together, the share that belongs together.
    pub precision: f64,
    /// Recall: of what belongs together, the share that the clustering puts together.
    pub recall: f64,
}

impl Score {
    /// The harmonic mean of precision and recall; 0 if both are 0.
    pub fn f1(self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 {
            2.0 * self.precision * self.recall / sum
        } else {
            0.0
        }
    }
}

/// The agreement of two clusterings of the same items.
///
/// ```
/// use twinprint_cluster::metrics::Agreement;
///
/// // The truth has the clusters {0, 1, 2} and {3, 4}; item 2 was put into the wrong one.
/// let agreement = Agreement::of(&[0, 0, 1, 1, 1], &[7, 7, 7, 8, 8]);
/// assert_eq!(agreement.items, 5);
/// assert!((agreement.pairwise.precision - 0.5).abs() < 1e-9);
/// assert!((agreement.pairwise.recall - 0.5).abs() < 1e-9);
/// assert!(agreement.bcubed.f1() > agreement.bcubed_without_self.f1());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// The number of items.
    pub items: usize,
    /// The number of clusters in the clustering found, and in the truth.
    pub clusters: [usize; 2],
    /// B-cubed, in which each item also counts as its own neighbour (Bagga and Baldwin 1998).
    pub bcubed: Score,
    /// B-cubed in which an item does not count as its own neighbour. An item that is alone in its found cluster has
    /// precision 1 if it is alone in the truth too, and 0 otherwise; recall likewise.
    pub bcubed_without_self: Score,
    /// Precision and recall over pairs of items. Precision is 1 if no pair was put together; recall is 1 if no pair
    /// belongs together.
    pub pairwise: Score,
    /// Adjusted Rand index (Hubert and Arabie 1985): 1 for equal clusterings, about 0 for unrelated ones.
    pub adjusted_rand: f64,
    /// Homogeneity: the share of the truth's entropy that the found clusters explain. It is 1 if the truth has no
    /// entropy.
    pub homogeneity: f64,
    /// Completeness: the share of the found clusters' entropy that the truth explains. It is 1 if the found clusters
    /// have no entropy.
    pub completeness: f64,
    /// Mutual information divided by the geometric mean of both entropies (Strehl and Ghosh 2002).
    /// [`v_measure`](Self::v_measure) divides by the arithmetic mean instead.
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

    /// Compares the clusters found with the truth. `found[i]` and `truth[i]` are the labels of item i; the longer slice
    /// is cut to the length of the shorter. Labels are only names of clusters: their values do not matter. Expected
    /// linear time.
    pub fn of(found: &[u32], truth: &[u32]) -> Self {
        let table = ContingencyTable::new(found, truth);
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

/// The sizes of the clusters of both clusterings, and of their non-empty intersections. They are sorted, so that
/// floating-point sums are always taken in the same order.
struct ContingencyTable {
    items: usize,
    found: Vec<u64>,
    truth: Vec<u64>,
    /// For each non-empty intersection: its size, the size of its found cluster, and the size of its true cluster.
    cells: Vec<[u64; 3]>,
}

impl ContingencyTable {
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

    /// Precision and recall as means over all items of `share(intersection, cluster, other)`. For precision, `cluster`
    /// is the size of the item's found cluster and `other` that of its true cluster; for recall, the other way round.
    /// Both are 1 without items.
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

    /// Precision and recall over pairs of items.
    fn pairwise(&self) -> Score {
        let both: f64 = self.cells.iter().map(|cell| pairs(cell[0])).sum();
        let [found, truth] = [&self.found, &self.truth].map(|sizes| sizes.iter().map(|&n| pairs(n)).sum());
        let ratio = |all: f64| if all > 0.0 { both / all } else { 1.0 };
        Score {
            precision: ratio(found),
            recall: ratio(truth),
        }
    }

    /// The adjusted Rand index.
    fn adjusted_rand(&self) -> f64 {
        let both: f64 = self.cells.iter().map(|cell| pairs(cell[0])).sum();
        let [found, truth]: [f64; 2] =
            [&self.found, &self.truth].map(|sizes| sizes.iter().map(|&n| pairs(n)).sum());
        let all = pairs(self.items as u64);
        let expected = if all > 0.0 { found * truth / all } else { 0.0 };
        let maximum = f64::midpoint(found, truth);
        if (maximum - expected).abs() < f64::EPSILON {
            // Both clusterings are a single cluster, or both consist of singletons, so they are equal.
            1.0
        } else {
            (both - expected) / (maximum - expected)
        }
    }

    /// Returns homogeneity, completeness, and the mutual information divided by the geometric mean of the entropies.
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

/// The number of pairs of n items.
fn pairs(n: u64) -> f64 {
    let n = n as f64;
    n * (n - 1.0) / 2.0
}

/// The share of the cluster's items that are also in the other cluster.
fn share(both: u64, cluster: u64, _: u64) -> f64 {
    both as f64 / cluster as f64
}

/// The share of the cluster's items that are also in the other cluster, not counting one item that is in both.
fn share_of_others(both: u64, cluster: u64, other: u64) -> f64 {
    match (cluster, other) {
        (1, 1) => 1.0,
        (1, _) => 0.0,
        _ => (both - 1) as f64 / (cluster - 1) as f64,
    }
}

#[cfg(test)]
mod tests;
