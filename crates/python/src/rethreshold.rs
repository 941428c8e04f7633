//! Decisions from the pairs of an earlier result, at a higher threshold.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};
use twinprint::{Similarity, VerifiedPair, groups_of_pairs};

use crate::columns::{column, numbers};
use crate::errors::argument;

/// The columns of an earlier result, as bytes of numbers.
#[derive(FromPyObject)]
pub(crate) struct Decided<'py> {
    /// For each record, the place of its text in keep order, from 0; -1 for a record that has no duplicates.
    rank: Bound<'py, PyBytes>,
    /// For each record, the position of the record that stands for those of equal text.
    first: Bound<'py, PyBytes>,
    a: Bound<'py, PyBytes>,
    b: Bound<'py, PyBytes>,
    hamming: Bound<'py, PyBytes>,
    jaccard: Bound<'py, PyBytes>,
    containment: Bound<'py, PyBytes>,
}

/// For each record: the position of its leader, -1 if it had none before; the distance; and the Jaccard.
type Columns<'py> = (
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
);

/// Decides the leaders of all records again, with the pairs whose Jaccard is at least `threshold`.
#[pyfunction]
pub(crate) fn rethreshold<'py>(
    py: Python<'py>,
    decided: Decided<'_>,
    threshold: f64,
) -> PyResult<Columns<'py>> {
    let rank: Vec<i64> = numbers(decided.rank.as_bytes());
    let first: Vec<i64> = numbers(decided.first.as_bytes());
    let mut representative = Vec::new();
    for (&rank, &first) in rank.iter().zip(&first) {
        let Ok(rank) = usize::try_from(rank) else { continue };
        representative.resize(representative.len().max(rank + 1), -1);
        representative[rank] = first;
    }
    let mut pairs = Vec::new();
    let (a, b): (Vec<u64>, Vec<u64>) = (numbers(decided.a.as_bytes()), numbers(decided.b.as_bytes()));
    let hamming: Vec<u32> = numbers(decided.hamming.as_bytes());
    let (jaccard, containment): (Vec<f64>, Vec<f64>) = (
        numbers(decided.jaccard.as_bytes()),
        numbers(decided.containment.as_bytes()),
    );
    let item = |record: u64| {
        let rank = rank.get(record as usize).copied().unwrap_or(-1);
        u32::try_from(rank).map_err(|_| argument("pairs", format_args!("record {record} has no pairs")))
    };
    for i in (0..a.len()).filter(|&i| jaccard[i] >= threshold) {
        let (x, y) = (item(a[i])?, item(b[i])?);
        if x != y {
            pairs.push(VerifiedPair {
                item: x.max(y),
                earlier: x.min(y),
                distance: hamming[i],
                similarity: Similarity {
                    jaccard: jaccard[i],
                    containment: containment[i],
                },
            });
        }
    }
    let groups = py.detach(|| groups_of_pairs(representative.len() as u32, &mut pairs));
    let group = |record: usize| usize::try_from(rank[record]).ok().map(|rank| groups[rank]);
    let leader = (0..rank.len()).map(|record| {
        let leader = group(record).map(|group| representative[group.leader as usize]);
        leader.unwrap_or(first[record])
    });
    let hamming = (0..rank.len()).map(|record| group(record).map_or(0, |group| group.distance));
    let jaccard = (0..rank.len()).map(|record| group(record).map_or(1.0, |group| group.similarity.jaccard));
    Ok((column(py, leader), column(py, hamming), column(py, jaccard)))
}
