//! The constructions: every family of plans that the planner chooses from.
//!
//! Block 0 holds the highest bits. Blocks of unequal width differ by one bit, wider ones first, so that 64 bits in six
//! blocks are 11, 11, 11, 11, 10, 10.

use super::{Plan, PlanError, TableSpec, all_bits};
use crate::random::Random;

/// The maximum number of tables of a plan. With more tables, a plan costs more than a scan on all measured data.
pub const MAX_TABLES: usize = 4096;

/// Splits the bits of `within` into `parts` runs of nearly equal size, from the highest bit down.
fn split(within: u128, parts: u32) -> Vec<u128> {
    let total = within.count_ones();
    let mut positions = (0..128).rev().filter(|&i| within >> i & 1 == 1);
    (0..parts)
        .map(|p| {
            let width = total / parts + u32::from(p < total % parts);
            positions
                .by_ref()
                .take(width as usize)
                .fold(0, |mask, i| mask | 1 << i)
        })
        .collect()
}

/// Returns the binomial coefficient C(n, r), saturating.
pub(crate) fn choose(n: u32, r: u32) -> u128 {
    if r > n {
        return 0;
    }
    (0..r.min(n - r)).fold(1u128, |c, i| {
        let (factor, divisor) = (u128::from(n - i), u128::from(i + 1));
        // The product is divided in two parts, so that it saturates only if the result does.
        let (quotient, remainder) = (c / divisor, c % divisor);
        quotient
            .saturating_mul(factor)
            .saturating_add(remainder * factor / divisor)
    })
}

/// Calls `visit` with `union` ORed with every choice of `take` of the `blocks`, in lexicographic order.
pub(super) fn unions(blocks: &[u128], take: usize, union: u128, visit: &mut impl FnMut(u128)) {
    if take == 0 {
        return visit(union);
    }
    for (i, block) in blocks.iter().enumerate() {
        if blocks.len() - i < take {
            break;
        }
        unions(&blocks[i + 1..], take - 1, union | block, visit);
    }
}

/// Returns radii for `s` ≥ 1 parts that add up to k − s + 1 and differ by at most one, larger ones first. With more
/// than k + 1 parts, some radii are −1: these parts are skipped.
pub(crate) fn even_radii(k: u32, s: u32) -> Vec<i32> {
    let sum = i64::from(k) - i64::from(s) + 1;
    let low = sum.div_euclid(i64::from(s));
    let extra = sum.rem_euclid(i64::from(s));
    (0..i64::from(s))
        .map(|p| (low + i64::from(p < extra)) as i32)
        .collect()
}

impl Plan {
    /// The plan of a scan, which compares every row: one table over a single bit, which may differ.
    ///
    /// # Errors
    /// `Bits` for a width outside 1..=128.
    pub fn scan(bits: u32, k: u32) -> Result<Self, PlanError> {
        let mask = all_bits(bits)?;
        Self::new(
            bits,
            k,
            "scan",
            vec![TableSpec {
                mask: super::leading_bits(mask, 1),
                radius: 1,
            }],
        )
    }

    /// The plan of one table over all bits, probed at radius k.
    ///
    /// # Errors
    /// `Bits` for a width outside 1..=128.
    pub fn one_table(bits: u32, k: u32) -> Result<Self, PlanError> {
        let mask = all_bits(bits)?;
        Self::new(bits, k, "one table", vec![TableSpec { mask, radius: k }])
    }

    /// The C(r, k) family of Manku et al.: r blocks, one table for each choice of r − k blocks that match exactly.
    /// For k = 3 and 64 bits: r = 4 gives 4 tables of 16 bits, r = 5 gives 10 of 25–26, r = 6 gives 20 of 31–33.
    ///
    /// # Errors
    /// `Blocks` unless k < r ≤ bits; `Tables` if C(r, k) is greater than [`MAX_TABLES`].
    pub fn blocks(bits: u32, k: u32, r: u32) -> Result<Self, PlanError> {
        let what = "blocks";
        let all = all_bits(bits)?;
        if r <= k || r > bits {
            return Err(PlanError::Blocks {
                what,
                parts: r,
                bits,
                k,
            });
        }
        let count = choose(r, k);
        if count > MAX_TABLES as u128 {
            return Err(PlanError::Tables { what, tables: count });
        }
        let mut tables = Vec::new();
        unions(&split(all, r), (r - k) as usize, 0, &mut |mask| {
            tables.push(TableSpec { mask, radius: 0 });
        });
        Self::new(bits, k, format!("blocks C({r},{k})"), tables)
    }

    /// Blocks within blocks: of r blocks, r − k match exactly; in each table the other bits are divided into r blocks
    /// again, of which r − k match exactly. For k = 3, r = 4 and 64 bits, these are the 16 tables of 16 + 12 bits of
    /// Manku et al.
    ///
    /// The plan is exact: at the first level, some k blocks contain all differing bits, and of the r blocks that these
    /// are divided into, some r − k contain none.
    ///
    /// # Errors
    /// `Radius` for k > 4, where there are many tables and the check is slow; otherwise as for [`Plan::blocks`].
    pub fn nested_blocks(bits: u32, k: u32, r: u32) -> Result<Self, PlanError> {
        let what = "nested blocks";
        if k > 4 {
            return Err(PlanError::Radius { what, limit: 4, k });
        }
        let outer = Self::blocks(bits, k, r).map_err(|problem| problem.of(what))?;
        let count = choose(r, k).saturating_mul(choose(r, k));
        if count > MAX_TABLES as u128 {
            return Err(PlanError::Tables { what, tables: count });
        }
        let all = all_bits(bits)?;
        let mut tables = Vec::new();
        for table in &outer.tables {
            let rest = all & !table.mask;
            if rest.count_ones() < r {
                return Err(PlanError::Blocks {
                    what,
                    parts: r,
                    bits,
                    k,
                });
            }
            unions(&split(rest, r), (r - k) as usize, table.mask, &mut |mask| {
                tables.push(TableSpec { mask, radius: 0 });
            });
        }
        Self::new(bits, k, format!("nested blocks C({r},{k})²"), tables)
    }

    /// Disjoint parts of equal width with the given radii ρ; a radius of −1 skips a part. The plan of s parts is exact
    /// iff Σρ ≥ k − s + 1 (if every part had ρ + 1 differing bits or more, there would be more than k): the general
    /// pigeonhole of Qin et al. 2018. A larger sum only costs more, so it is refused too.
    ///
    /// # Errors
    /// `Radii` unless the radii of the s parts add up to k − s + 1; `Blocks` for no parts or more parts than bits.
    pub fn parts(bits: u32, k: u32, radii: &[i32]) -> Result<Self, PlanError> {
        let all = all_bits(bits)?;
        let parts = u32::try_from(radii.len()).unwrap_or(u32::MAX);
        if parts == 0 || parts > bits {
            return Err(PlanError::Blocks {
                what: "parts",
                parts,
                bits,
                k,
            });
        }
        let widths: Vec<u32> = split(all, parts).iter().map(|mask| mask.count_ones()).collect();
        Self::parts_of_widths(bits, k, radii, &widths)
    }

    /// Like [`Plan::parts`], but with a given width for each part, from the highest bits down. Wider parts for larger
    /// radii make the tables of one plan cost about the same.
    ///
    /// # Errors
    /// `Radii` unless the radii of the s parts add up to k − s + 1; `Widths` unless the widths are positive and add up to
    /// `bits`; `Blocks` unless there is one width for each radius.
    pub fn parts_of_widths(bits: u32, k: u32, radii: &[i32], widths: &[u32]) -> Result<Self, PlanError> {
        let all = all_bits(bits)?;
        let sum: u64 = widths.iter().map(|&w| u64::from(w)).sum();
        if widths.contains(&0) || sum != u64::from(bits) {
            return Err(PlanError::Widths { sum, bits });
        }
        if radii.len() != widths.len() {
            let parts = u32::try_from(radii.len()).unwrap_or(u32::MAX);
            return Err(PlanError::Blocks {
                what: "parts",
                parts,
                bits,
                k,
            });
        }
        let got = radii.iter().map(|&r| i64::from(r.max(-1))).sum();
        let expected = i64::from(k) - radii.len() as i64 + 1;
        if got != expected {
            return Err(PlanError::Radii {
                parts: radii.len(),
                expected,
                got,
            });
        }
        let mut rest = all;
        let mut tables = Vec::new();
        for (&r, &width) in radii.iter().zip(widths) {
            let mask = super::leading_bits(rest, width);
            rest &= !mask;
            tables.extend(u32::try_from(r).ok().map(|radius| TableSpec { mask, radius }));
        }
        let list: Vec<String> = tables.iter().map(|table| table.radius.to_string()).collect();
        let list = list.join(",");
        // At most k of the parts have a differing bit, so any k + 1 of them are enough.
        let name = match radii.len() - tables.len() {
            0 => format!("parts [{list}]"),
            skipped => format!("parts [{list}], {skipped} parts without a table"),
        };
        Self::new(bits, k, name, tables)
    }

    /// Disjoint parts: `s` of them, with radii as even as their required sum k − s + 1 allows, larger ones first.
    ///
    /// # Errors
    /// The same as for [`Plan::parts`].
    pub fn even_parts(bits: u32, k: u32, s: u32) -> Result<Self, PlanError> {
        if s == 0 || s > bits {
            return Err(PlanError::Blocks {
                what: "parts",
                parts: s,
                bits,
                k,
            });
        }
        Self::parts(bits, k, &even_radii(k, s))
    }

    /// Two halves of the bits, with radii as even as possible: `[1,1]` for k = 3.
    ///
    /// # Errors
    /// The same as for [`Plan::parts`].
    pub fn halves(bits: u32, k: u32) -> Result<Self, PlanError> {
        Self::even_parts(bits, k, 2)
    }

    /// Three thirds of the bits, with radii as even as possible: `[1,0,0]` for k = 3.
    ///
    /// # Errors
    /// The same as for [`Plan::parts`].
    pub fn thirds(bits: u32, k: u32) -> Result<Self, PlanError> {
        Self::even_parts(bits, k, 3)
    }

    /// The design of quadratic residues mod 11: bit i is in block i mod 11, and table j matches the blocks
    /// {1,3,4,5,9} + j mod 11 exactly. Eleven tables of about 5/11 of the bits, exact for k ≤ 3.
    ///
    /// # Errors
    /// `Radius` for k > 3, `Blocks` for fewer than 11 bits.
    pub fn qr11(bits: u32, k: u32) -> Result<Self, PlanError> {
        let what = "QR-11";
        if k > 3 {
            return Err(PlanError::Radius { what, limit: 3, k });
        }
        all_bits(bits)?;
        if bits < 11 {
            return Err(PlanError::Blocks {
                what,
                parts: 11,
                bits,
                k,
            });
        }
        let tables = (0..11u32).map(|j| {
            let clean = [1, 3, 4, 5, 9].map(|r| (r + j) % 11);
            let mask = (0..bits)
                .filter(|i| clean.contains(&(i % 11)))
                .fold(0, |mask, i| mask | 1u128 << i);
            TableSpec { mask, radius: 0 }
        });
        Self::new(bits, k, what, tables.collect())
    }

    /// The half-spaces of the affine geometry AG(d, 2) with d = k (at least 1): bit i is assigned to the point i mod
    /// 2^d, and each of the 2·(2^d − 1) half-spaces is a table matched exactly. The points of any d differing bits are
    /// in a hyperplane, whose complement has no differing bit. There are 2^(k+1) − 2 tables of half the bits.
    ///
    /// # Errors
    /// `Radius` for k > 5 (k = 6 would need 126 tables); `Blocks` if there are fewer bits than points.
    pub fn half_spaces(bits: u32, k: u32) -> Result<Self, PlanError> {
        let what = "half-spaces";
        if k > 5 {
            return Err(PlanError::Radius { what, limit: 5, k });
        }
        all_bits(bits)?;
        let d = k.max(1);
        let points = 1u32 << d;
        if bits < points {
            return Err(PlanError::Blocks {
                what,
                parts: points,
                bits,
                k,
            });
        }
        let tables = (1..points).flat_map(|normal| {
            [0, 1].map(|side| {
                let inside = |i: &u32| ((i % points) & normal).count_ones() % 2 == side;
                let mask = (0..bits).filter(inside).fold(0, |mask, i| mask | 1u128 << i);
                TableSpec { mask, radius: 0 }
            })
        });
        Self::new(bits, k, format!("half-spaces AG({d},2)"), tables.collect())
    }

    /// Tables with random keys: `tables` choices of `key_bits` bits, drawn with a seed. The plan is not exact;
    /// [`Plan::recall`] tells the share of pairs that it finds. Charikar 2002 searches random permutations in this way.
    ///
    /// # Errors
    /// `KeyBits` unless 1 ≤ `key_bits` ≤ `bits`; `Blocks` for no tables; `Tables` for more than [`MAX_TABLES`] tables.
    pub fn random(bits: u32, k: u32, tables: u32, key_bits: u32, seed: u64) -> Result<Self, PlanError> {
        let what = "random keys";
        all_bits(bits)?;
        if tables as usize > MAX_TABLES {
            let tables = u128::from(tables);
            return Err(PlanError::Tables { what, tables });
        }
        if key_bits == 0 || key_bits > bits {
            return Err(PlanError::KeyBits { key_bits, bits });
        }
        if tables == 0 {
            return Err(PlanError::Blocks {
                what,
                parts: tables,
                bits,
                k,
            });
        }
        let mut random = Random(seed);
        let tables = (0..tables).map(|_| TableSpec {
            mask: random.subset(bits, key_bits),
            radius: 0,
        });
        Self::new(
            bits,
            k,
            format!("random keys of {key_bits} bits"),
            tables.collect(),
        )
    }
}
