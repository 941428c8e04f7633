//! The agreement of clusters with the labels of documents.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use twinprint_cluster::metrics::{Agreement, Score};

/// The labels of the documents of a run, in the order of the documents.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// The numbers that stand for the distinct labels.
    numbers: HashMap<String, u32>,
    /// The number of each document's label; `None` for a document without a label.
    by_document: Vec<Option<u32>>,
}

impl Labels {
    /// Adds the label of the next document; `None` if the document has no label.
    pub(super) fn push(&mut self, label: Option<String>) {
        let next = self.numbers.len() as u32;
        let number = label.map(|label| *self.numbers.entry(label).or_insert(next));
        self.by_document.push(number);
    }

    /// True if no document has a label.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Measures the agreement of clusters with the labels. `clusters` yields the cluster of each document, in order.
    /// Documents without a label are left out.
    pub(super) fn agreement(&self, clusters: impl Iterator<Item = u64>) -> AgreementReport {
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let (mut found, mut truth) = (Vec::new(), Vec::new());
        for (cluster, label) in clusters.zip(&self.by_document) {
            if let Some(label) = label {
                let next = numbers.len() as u32;
                found.push(*numbers.entry(cluster).or_insert(next));
                truth.push(*label);
            }
        }
        AgreementReport::new(&Agreement::of(&found, &truth))
    }
}

/// The agreement of one clustering with labels, by the measures of [`twinprint_cluster::metrics`]. Arrays of three are
/// precision, recall and F1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgreementReport {
    /// The number of documents with a label.
    pub items: usize,
    /// The number of clusters with labelled documents, and the number of labels.
    pub clusters: [usize; 2],
    /// The B-cubed measure.
    pub bcubed: [f64; 3],
    /// The B-cubed measure in which no document counts as its own neighbour.
    pub bcubed_without_self: [f64; 3],
    /// The pairwise measure.
    pub pairwise: [f64; 3],
    /// The adjusted Rand index.
    pub adjusted_rand: f64,
    /// The V-measure.
    pub v_measure: f64,
    /// The mutual information, divided by the geometric mean of the entropies.
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
