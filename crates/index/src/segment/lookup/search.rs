//! The tables that a lookup of radius k probes, and the radius in each.
//!
//! Tables with disjoint addresses can serve any radius. For radius k over s tables, the tables' radii ρ must add up to
//! k − s + 1, where −1 leaves a table out (general pigeonhole, Qin et al. 2018): with more than ρ differing bits in
//! every table there would be more than k in total. The total is distributed in steps of 1, each to the table where it
//! costs least. The cost of each further step grows, so this gives the cheapest sum. Plans of other tables serve radii
//! up to their own. If a search would cost more than comparing every row, every row is compared.

use std::sync::OnceLock;

use twinprint_fingerprint::Width;

use crate::flips;
use crate::segment::table::StoredTable;

/// The search of a segment for one radius.
#[derive(Debug)]
pub(crate) enum SearchPlan {
    /// Compare every row.
    Scan,
    /// Probe these tables one after the other.
    Probe(Vec<TableProbes>),
}

/// The probes of one table.
#[derive(Debug)]
pub(crate) struct TableProbes {
    /// The number of the table.
    pub(crate) table: usize,
    /// The largest number of address bits that may differ.
    pub(crate) radius: u32,
    /// The patterns of flipped address bits, those with the fewest flips first.
    pub(crate) flips: Vec<u32>,
}

impl TableProbes {
    pub(super) fn new<W: Width>(table: usize, stored: &StoredTable<W>, radius: u32) -> Self {
        let mut flips = flips::ball(stored.order.address_bits(), radius);
        flips.sort_by_key(|f| f.count_ones());
        Self { table, radius, flips }
    }
}

/// The search plans of a segment for all radii, each made when it is first used.
#[derive(Debug)]
pub(crate) struct SearchPlans(Vec<OnceLock<SearchPlan>>);

impl SearchPlans {
    /// Creates the empty list of plans, for fingerprints of `bits` bits.
    pub(crate) fn new(bits: u32) -> Self {
        Self((0..=bits).map(|_| OnceLock::new()).collect())
    }

    /// Returns the search plan for radius `k` among `rows` rows, in tables that were planned for radius `planned`, and
    /// whose plan is exact or not.
    pub(crate) fn of<W: Width>(
        &self,
        tables: &[StoredTable<W>],
        exact: bool,
        rows: u64,
        planned: u32,
        k: u32,
    ) -> &SearchPlan {
        let search = self.0.get(k as usize);
        search.map_or(&SearchPlan::Scan, |search| {
            search.get_or_init(|| {
                if exact {
                    SearchPlan::new(tables, rows as f64, planned, k)
                } else {
                    SearchPlan::as_planned(tables)
                }
            })
        })
    }
}

impl SearchPlan {
    fn new<W: Width>(tables: &[StoredTable<W>], rows: f64, planned: u32, k: u32) -> Self {
        let probe_cost = |t: &StoredTable<W>| {
            let costs = t.rows.costs();
            costs.probe + costs.candidate * rows / 2f64.powi(t.order.address_bits() as i32)
        };
        let union = tables.iter().fold(W::default(), |all, t| all | t.address);
        let widths: u32 = tables.iter().map(|t| t.order.address_bits()).sum();
        let mut radii: Vec<i64> = tables.iter().map(|t| i64::from(t.meta.spec.radius)).collect();
        if union.widen().count_ones() == widths {
            radii.fill(-1);
            for _ in 0..=k {
                let dearer = |t: usize| {
                    let (bits, next) = (tables[t].order.address_bits(), (radii[t] + 1) as u32);
                    (flips::ball_size(bits, next)
                        - if next > 0 {
                            flips::ball_size(bits, next - 1)
                        } else {
                            0.0
                        })
                        * probe_cost(&tables[t])
                };
                let cheapest = (0..tables.len()).min_by(|&a, &b| dearer(a).total_cmp(&dearer(b)));
                radii[cheapest.unwrap_or(0)] += 1;
            }
        } else if k > planned {
            return Self::Scan;
        }
        let cost: f64 = tables
            .iter()
            .zip(&radii)
            .filter_map(|(t, &radius)| {
                Some(flips::ball_size(t.order.address_bits(), u32::try_from(radius).ok()?) * probe_cost(t))
            })
            .sum();
        let scanned = tables.first().map_or(0.0, |t| t.rows.costs().scanned);
        if cost > rows * scanned {
            return Self::Scan;
        }
        let probe = |(table, &radius): (usize, &i64)| {
            let radius = u32::try_from(radius).ok()?;
            Some(TableProbes::new(table, &tables[table], radius))
        };
        Self::Probe(radii.iter().enumerate().filter_map(probe).collect())
    }
}
