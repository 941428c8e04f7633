//! Atoms of a plan: bits that the same masks contain, so that differences in them count alike.

use std::collections::BTreeMap;

use super::Plan;

/// Bits that are in the masks of the same tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Atom {
    /// The positions of these tables in the plan, ascending; empty for bits that no mask contains.
    pub(super) tables: Vec<u32>,
    /// The bits.
    pub(super) bits: u128,
}

/// Returns the atoms of a plan, ordered by their tables. Together they have all bits of a fingerprint, each once.
pub(super) fn atoms(plan: &Plan) -> Vec<Atom> {
    let mut atoms: BTreeMap<Vec<u32>, u128> = BTreeMap::new();
    for bit in 0..plan.bits.min(128) {
        let tables: Vec<u32> = (0u32..)
            .zip(&plan.tables)
            .filter(|(_, t)| t.mask >> bit & 1 == 1)
            .map(|(j, _)| j)
            .collect();
        *atoms.entry(tables).or_default() |= 1 << bit;
    }
    atoms
        .into_iter()
        .map(|(tables, bits)| Atom { tables, bits })
        .collect()
}
