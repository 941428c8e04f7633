//! The search for the first row that is not below a key, in rows that ascend.

use twinprint_fingerprint::Width;

/// The number of rows up to which an interpolation search bisects.
const FEW_ROWS: u32 = 4;

/// The method of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::segment) enum LowerBound {
    /// Bisection: log₂ n steps for n rows.
    Binary,
    /// Interpolation between the known bounds, and then jumps by √n rows until the key is between two of them (Perl and
    /// Reingold, "Understanding the complexity of interpolation search", 1977). Takes about 2.4 · log₂ log₂ n steps on
    /// uniform rows. Jumps double, so the steps are at most O((log n)²) on any rows.
    Interpolation,
}

impl LowerBound {
    /// Returns the number of the first of the rows `low..high` that is not below `key`, or `high` if all are. The rows
    /// have `bits` bits; `row` reads one and is called once for each step.
    ///
    /// # Errors
    /// The first error of `row`.
    pub(in crate::segment) fn find<W: Width, E>(
        self,
        mut low: u32,
        mut high: u32,
        key: W,
        bits: u32,
        mut row: impl FnMut(u32) -> Result<W, E>,
    ) -> Result<u32, E> {
        // All rows before `low` are below `key`, no row from `high` on is. The rows between have at least the value
        // `least` and at most `most`.
        let (mut least, mut most) = (0.0, (f64::from(bits)).exp2());
        let value = |row: W| row.widen() as f64;
        let target = value(key);
        while low < high {
            let rows = high - low;
            if self == Self::Binary || rows <= FEW_ROWS {
                let middle = low + rows / 2;
                if row(middle)? < key {
                    low = middle + 1;
                } else {
                    high = middle;
                }
                continue;
            }
            let share = if most > least {
                (target - least) / (most - least)
            } else {
                0.5
            };
            // The product is below `rows`, and a number that is not finite becomes 0.
            let guess = low + ((share * f64::from(rows)) as u32).min(rows - 1);
            let mut jump = rows.isqrt();
            let read = row(guess)?;
            if read < key {
                (low, least) = (guess + 1, value(read));
                while high - low > jump {
                    let at = low + jump;
                    let read = row(at)?;
                    if read < key {
                        (low, least) = (at + 1, value(read));
                        jump = jump.saturating_mul(2);
                    } else {
                        (high, most) = (at, value(read));
                        break;
                    }
                }
            } else {
                (high, most) = (guess, value(read));
                while high - low > jump {
                    let at = high - jump;
                    let read = row(at)?;
                    if read < key {
                        (low, least) = (at + 1, value(read));
                        break;
                    }
                    (high, most) = (at, value(read));
                    jump = jump.saturating_mul(2);
                }
            }
        }
        Ok(low)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps<W: Width>(method: LowerBound, rows: &[W], from: usize, key: W) -> u32 {
        let mut steps = 0;
        let mut row = |i: u32| {
            steps += 1;
            Ok::<W, ()>(rows[i as usize])
        };
        let found = method.find(from as u32, rows.len() as u32, key, W::BITS, &mut row);
        let expected = from + rows[from..].partition_point(|&row| row < key);
        assert_eq!(found, Ok(expected as u32), "{method:?}");
        steps
    }

    fn check<W: Width>(mut rows: Vec<W>, from: usize, keys: &[W]) {
        rows.sort_unstable();
        let from = from % (rows.len() + 1);
        let log = rows.len().max(2).ilog2() + 1;
        for &key in keys.iter().chain(&rows) {
            // Keys below the first row are possible too.
            assert!(steps(LowerBound::Binary, &rows, from, key) <= log);
            assert!(steps(LowerBound::Interpolation, &rows, from, key) <= 2 * log * log + 8);
        }
    }

    proptest! {
        #[test]
        fn both_methods_find_what_a_partition_point_finds(
            wide: Vec<u128>,
            clumped in prop::collection::vec(0u128..300, 0..300),
            shift in 0u32..128,
            keys: Vec<u128>,
            from: usize,
        ) {
            let rows: Vec<u128> = wide.into_iter().chain(clumped.iter().map(|&row| row << shift)).collect();
            let keys: Vec<u128> = keys.into_iter().chain(clumped.iter().map(|&row| (row << shift).wrapping_add(1))).collect();
            check(rows.clone(), from, &keys);
            let narrow = |rows: &[u128]| rows.iter().map(|&row| (row ^ row >> 64) as u64).collect::<Vec<_>>();
            check(narrow(&rows), from, &narrow(&keys));
            let narrow = |rows: &[u128]| rows.iter().map(|&row| (row ^ row >> 64) as u32).collect::<Vec<_>>();
            check(narrow(&rows), from, &narrow(&keys));
        }
    }

    #[test]
    fn interpolation_takes_few_steps_on_uniform_rows() {
        let mut random = crate::random::Random(5);
        let mut rows: Vec<u64> = (0..1 << 16).map(|_| random.next()).collect();
        rows.sort_unstable();
        let keys: Vec<u64> = (0..500).map(|_| random.next()).collect();
        let total = |method| keys.iter().map(|&key| steps(method, &rows, 0, key)).sum::<u32>();
        let (binary, interpolation) = (total(LowerBound::Binary), total(LowerBound::Interpolation));
        assert!(
            2 * interpolation < binary + keys.len() as u32 * 6,
            "{interpolation} of {binary} steps"
        );
    }
}
