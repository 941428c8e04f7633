//! How well the clusters of a run agree with labels that its documents carry.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use twinprint_cluster::metrics::{Agreement, Score};

/// The labels of a run's documents.
#[derive(Debug, Default)]
pub(super) struct Labels {
    numbers: HashMap<String, u32>,
    /// The number of each document's label, where it has one.
    of: Vec<Option<u32>>,
}

impl Labels {
    /// The next document's.
    pub(super) fn push(&mut self, label: Option<String>) {
        let next = self.numbers.len() as u32;
        let number = label.map(|label| *self.numbers.entry(label).or_insert(next));
        self.of.push(number);
    }

    /// Whether no document has one.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Against the cluster of each document; documents without a label are left out.
    pub(super) fn agreement(&self, clusters: impl Iterator<Item = u64>) -> AgreementReport {
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let (mut found, mut truth) = (Vec::new(), Vec::new());
        for (cluster, label) in clusters.zip(&self.of) {
            if let Some(label) = label {
                let next = numbers.len() as u32;
                found.push(*numbers.entry(cluster).or_insert(next));
                truth.push(*label);
            }
        }
        AgreementReport::new(&Agreement::of(&found, &truth))
    }
}

/// The measures of [`twinprint_cluster::metrics`], for people and programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgreementReport {
    /// Documents with a label.
    pub items: usize,
    /// Clusters found among them, and labels.
    pub clusters: [usize; 2],
    /// B-cubed precision, recall and F1.
    pub bcubed: [f64; 3],
    /// The same, no document being its own neighbour.
    pub bcubed_without_self: [f64; 3],
    /// Of pairs.
    pub pairwise: [f64; 3],
    /// Adjusted Rand index.
    pub adjusted_rand: f64,
    /// V-measure.
    pub v_measure: f64,
    /// Mutual information over the geometric mean of entropies.
    pub mutual_information: f64,
}

impl AgreementReport {
    fn new(agreement: &Agreement) -> Self {
        let score = |score: Score| [score.precision, score.recall, score.f1()];
        Self {
            items: agreement.items,
            clusters: agreement.clusters,
            bcubed: score(agreement.bcubed),
            bcubed_without_self: score(agreement.bcubed_without_self),
            pairwise: score(agreement.pairwise),
            adjusted_rand: agreement.adjusted_rand,
            v_measure: agreement.v_measure(),
            mutual_information: agreement.mutual_information,
        }
    }
}
