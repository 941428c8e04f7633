//! Rows for tests, in the shapes of data that are difficult for searches, and tests that run at every width.

use std::fmt::Debug;
use std::panic::Location;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use twinprint_fingerprint::Width;

use crate::plan::Plan;
pub(crate) use crate::random::Random;

/// Defines a test of each width, 32, 64 and 128 bits, from generic functions without arguments. Once per module; once more for 16
/// bits.
macro_rules! at_every_width {
    ($($test:ident)*) => {
        at_every_width! { bits_32: u32, $($test)* }
        at_every_width! { bits_64: u64, $($test)* }
        at_every_width! { bits_128: u128, $($test)* }
    };
    ($module:ident: $width:ty, $($test:ident)*) => {
        mod $module {
            $(
                #[test]
                fn $test() {
                    super::$test::<$width>();
                }
            )*
        }
    };
}
pub(crate) use at_every_width;

/// Returns `n` at 64 bits, and about a third of it at the other widths, whose code is the same.
pub(crate) fn fewer<W: Width>(n: usize) -> usize {
    if W::BITS == 64 { n } else { n.div_ceil(3) }
}

/// Checks a property of [fewer](fewer) than `cases` random values.
#[track_caller]
pub(crate) fn for_random<W: Width, S: Strategy>(cases: usize, strategy: &S, check: impl Fn(S::Value))
where
    S::Value: Debug,
{
    let config = ProptestConfig {
        cases: fewer::<W>(cases) as u32,
        source_file: Some(Location::caller().file()),
        ..ProptestConfig::default()
    };
    let checked = TestRunner::new(config).run(strategy, |value| {
        check(value);
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
}

/// The relation of the rows of a sample to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Independent random bits.
    Uniform,
    /// Each row is one of a few centres with a few bits flipped.
    Clumped,
    /// All rows are equal.
    Equal,
    /// Each row is one value, or differs from it in one bit.
    OneApart,
}

pub(crate) const SHAPES: [Shape; 4] = [Shape::Uniform, Shape::Clumped, Shape::Equal, Shape::OneApart];

impl Random {
    pub(crate) fn wide(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    /// `row` with up to `most` random bits flipped.
    pub(crate) fn near<W: Width>(&mut self, row: W, most: u32) -> W {
        let flips = self.below(u64::from(most) + 1);
        (0..flips).fold(row, |row, _| {
            row ^ W::truncate(1 << self.below(u64::from(W::BITS)))
        })
    }
}

/// `n` rows of a shape. Uniform rows include a few planted neighbours within `k`, because small samples would have none.
pub(crate) fn rows<W: Width>(shape: Shape, n: usize, k: u32, seed: u64) -> Vec<W> {
    let mut random = Random(seed);
    let centres: Vec<W> = (0..4).map(|_| W::truncate(random.wide())).collect();
    let mut out: Vec<W> = Vec::with_capacity(n);
    for i in 0..n {
        let centre = centres[random.below(4) as usize];
        let row = match shape {
            Shape::Uniform if i > 0 && random.below(3) == 0 => {
                let other = out[random.below(i as u64) as usize];
                random.near(other, k + 2)
            }
            Shape::Uniform => W::truncate(random.wide()),
            Shape::Clumped => random.near(centre, k / 2 + 2),
            Shape::Equal => centres[0],
            Shape::OneApart => random.near(centres[0], 1),
        };
        out.push(row);
    }
    out
}

/// Any shape.
pub(crate) fn shape() -> impl Strategy<Value = Shape> {
    (0..SHAPES.len()).prop_map(|i| SHAPES[i])
}

/// Plans of every kind for radius k.
pub(crate) fn plans<W: Width>(k: u32) -> Vec<Plan> {
    let mut plans = vec![Plan::scan(W::BITS, k).unwrap()];
    plans.extend((1..=k + 2).filter_map(|s| Plan::even_parts(W::BITS, k, s).ok()));
    if k <= 3 {
        plans.extend((k + 1..=k + 3).filter_map(|r| Plan::blocks(W::BITS, k, r).ok()));
        plans.extend(Plan::nested_blocks(W::BITS, k, k + 1));
        plans.extend(Plan::qr11(W::BITS, k));
        plans.extend(Plan::half_spaces(W::BITS, k));
    }
    plans
}

/// Queries equal to rows, near rows, and independent of them.
pub(crate) fn queries<W: Width>(rows: &[W], k: u32, seed: u64) -> Vec<W> {
    let mut random = Random(seed);
    (0..9)
        .map(|i| match rows.get(random.below(rows.len() as u64) as usize) {
            Some(&row) if i < 6 => random.near(row, if i < 2 { 0 } else { k + 1 }),
            _ => W::truncate(random.wide()),
        })
        .collect()
}
