//! The angle of two vectors and the share of differing bits.

use anyhow::Result;
use twinprint_eval::plot::{Axis, Plot, Series, bilingual};
use twinprint_fingerprint::hyperplane::{self, Hyperplanes};
use twinprint_fingerprint::{HashKey, Width, simhash};

use crate::figure::{count, number, percent};
use crate::random::Random;
use crate::{Picture, Report, Setup, Table, Verdict};

/// The numbers of dimensions of the vectors: many, in which normals of ±1 are as good as Gaussian ones, and few.
const DIMENSIONS: usize = 200;
const FEW_DIMENSIONS: usize = 3;
/// The number of pairs of vectors that are compared by the same hyperplanes.
const PAIRS_PER_KEY: u32 = 10;
/// The angles, in degrees.
const ANGLES: [u32; 10] = [5, 10, 20, 30, 45, 60, 75, 90, 120, 150];

/// Two vectors at a given angle.
fn vectors(random: &mut Random, dimensions: usize, degrees: f64) -> [Vec<f32>; 2] {
    let mut draw = || -> Vec<f64> { (0..dimensions).map(|_| random.normal()).collect() };
    let (u, w) = (draw(), draw());
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let along = dot(&u, &w) / dot(&u, &u);
    let across: Vec<f64> = u.iter().zip(&w).map(|(u, w)| w - along * u).collect();
    let scale = (dot(&u, &u) / dot(&across, &across)).sqrt();
    let (sin, cos) = degrees.to_radians().sin_cos();
    let v = u.iter().zip(&across).map(|(u, a)| (cos * u + sin * scale * a) as f32);
    [u.iter().map(|&x| x as f32).collect(), v.collect()]
}

/// Hyperplanes of a random key: with Gaussian normals, as twinprint makes fingerprints of vectors, and with normals of ±1.
struct Planes {
    gaussian: Hyperplanes,
    signs: Vec<u128>,
}

impl Planes {
    fn new(random: &mut Random, dimensions: usize) -> Self {
        let key = HashKey::new(random.bits(), random.bits());
        Self {
            signs: (0..dimensions as u64).map(|dimension| hyperplane::row(&key, dimension)).collect(),
            gaussian: Hyperplanes::new(key, 128),
        }
    }

    /// The fingerprints of two vectors by Gaussian normals.
    fn gaussian(&mut self, pair: &[Vec<f32>; 2]) -> Result<[u128; 2]> {
        let mut of = |vector: &[f32]| self.gaussian.of_dense(vector).map(|votes| votes.fingerprint);
        Ok([of(&pair[0])?, of(&pair[1])?])
    }

    /// The fingerprints of two vectors by normals of ±1.
    fn signs(&self, pair: &[Vec<f32>; 2]) -> Result<[u128; 2]> {
        let of = |vector: &[f32]| hyperplane::fingerprint_rows(&self.signs, vector);
        Ok([of(&pair[0])?, of(&pair[1])?])
    }
}

/// What the fingerprints of pairs of vectors at one angle have in common.
#[derive(Default)]
struct Shares {
    /// The share of differing bits, by Gaussian normals and by normals of ±1.
    differing: [f64; 2],
    /// The share of pairs that none of the first 1, 4 and 16 Gaussian hyperplanes separates.
    together: [f64; 3],
}

impl Shares {
    /// Measures `pairs` pairs of vectors of `dimensions` dimensions.
    fn measure(random: &mut Random, dimensions: usize, degrees: u32, pairs: u32) -> Result<Self> {
        let mut shares = Self::default();
        for _ in 0..pairs / PAIRS_PER_KEY {
            let mut planes = Planes::new(random, dimensions);
            for _ in 0..PAIRS_PER_KEY {
                let pair = vectors(random, dimensions, degrees.into());
                let [a, b] = planes.gaussian(&pair)?;
                let [c, d] = planes.signs(&pair)?;
                for (share, distance) in shares.differing.iter_mut().zip([a.distance(b), c.distance(d)]) {
                    *share += f64::from(distance) / 128.0 / f64::from(pairs);
                }
                for (together, f) in shares.together.iter_mut().zip([1, 4, 16]) {
                    let first = u128::MAX >> (128 - f);
                    *together += f64::from(u8::from((a ^ b) & first == 0)) / f64::from(pairs);
                }
            }
        }
        Ok(shares)
    }
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let mut random = Random::new(setup.seed);
    let pairs: u32 = setup.pick(40, 4000);
    let mut points = Vec::new();
    let mut few_points = Vec::new();
    let mut table = Table::new(
        "Share of differing bits at 128 bits, by Gaussian hyperplanes and by hyperplanes of ±1, in 200 and in 3 dimensions; and share of pairs of vectors that the first f Gaussian hyperplanes do not separate",
        ["angle", "angle / 180°", "Gaussian, 200", "±1, 200", "Gaussian, 3", "±1, 3", "f = 1", "f = 4", "f = 16"],
    );
    // The largest deviations from θ/π: Gaussian and ±1, each in many and in few dimensions.
    let mut largest = [0.0f64; 4];
    for degrees in ANGLES {
        let many = Shares::measure(&mut random, DIMENSIONS, degrees, pairs)?;
        let few = Shares::measure(&mut random, FEW_DIMENSIONS, degrees, pairs)?;
        let expected = f64::from(degrees) / 180.0;
        let [gaussian, signs] = many.differing;
        let shares = [gaussian, signs, few.differing[0], few.differing[1]];
        for (largest, share) in largest.iter_mut().zip(shares) {
            *largest = largest.max((share - expected).abs());
        }
        report.number(format!("share at {degrees}"), gaussian);
        report.number(format!("share at {degrees} by signs"), signs);
        report.number(format!("share at {degrees} in 3 dimensions"), few.differing[0]);
        points.push((f64::from(degrees), gaussian));
        few_points.push((f64::from(degrees), few.differing[1]));
        let mut cells = vec![format!("{degrees}°"), number(expected)];
        cells.extend(shares.map(number));
        cells.extend(many.together.map(number));
        table.rows.push(cells);
        if degrees == 30 {
            report.number("together at 30 by 1", many.together[0]);
            report.number("together at 30 by 16", many.together[2]);
        }
    }
    report.tables.push(table);
    report.number("off by signs in 3 dimensions", largest[3]);
    report.claim(
        "theta-over-pi",
        &[0, 2],
        "a bit differs with probability θ/π",
        [
            "θ/π".to_owned(),
            format!("θ/π to within {} in 200 dimensions, {} in 3", number(largest[0]), number(largest[2])),
        ],
        Verdict::of(largest[0] < 0.02 && largest[2] < 0.04),
        format!(
            "hyperplanes with Gaussian normals; {} pairs of vectors for each of ten angles, 128 bits. Normals of ±1 are off by {} in 200 dimensions, and by {} in 3, where they have only eight directions.",
            count(u64::from(pairs)),
            number(largest[1]),
            number(largest[3])
        ),
    );
    let [one, sixteen] =
        [1, 16].map(|f| report.numbers.get(&format!("together at 30 by {f}")).copied().unwrap_or(0.0));
    report.claim(
        "projections",
        &[2],
        "points that are close on one random plane may be far apart; if they are close on many, they are close",
        [
            "many planes are needed".to_owned(),
            format!("at 30°: {} on one side of one plane, {} of 16 planes", percent(one), percent(sixteen)),
        ],
        Verdict::of(one > 0.7 && sixteen < 0.2),
        "the share is (1 − θ/π)^f.",
    );
    few_features(setup, &mut report, &mut random);
    differences(setup, &mut report, &mut random)?;
    report.pictures.push(picture(points, few_points));
    Ok(report)
}

/// Measures the share for documents with few features, of which half are common.
fn few_features(setup: &Setup, report: &mut Report, random: &mut Random) {
    let documents = setup.pick(200, 20_000);
    let mut table = Table::new(
        "Documents with half of their features in common: cosine 0.5, θ = 60°, θ/π = 0.333",
        ["features", "bits that differ"],
    );
    let mut off = 0.0;
    for features in [2, 4, 10, 50, 200] {
        let mut differing = 0.0;
        for _ in 0..documents {
            let mut hash = || u128::from(random.bits()) << 64 | u128::from(random.bits());
            let common: Vec<u128> = (0..features / 2).map(|_| hash()).collect();
            let mut own = || -> u128 {
                let mut hashes = common.clone();
                hashes.extend((0..features / 2).map(|_| hash()));
                simhash(&hashes, &vec![1; hashes.len()])
            };
            differing += f64::from(own().distance(own())) / 128.0 / f64::from(documents);
        }
        report.number(format!("share with {features} features"), differing);
        if features == 2 {
            off = differing;
        }
        table.push([features.to_string(), number(differing)]);
    }
    report.tables.push(table);
    report.claim(
        "few-features",
        &[0],
        "the distance of SimHash fingerprints measures the angle of the documents",
        ["θ/π = 0.333".to_owned(), format!("{} with 2 features, {} with 200", number(off), number(report.numbers["share with 200 features"]))],
        Verdict::Depends,
        "the planes of SimHash have coefficients ±1, so sums tie and the share is off for documents with few features.",
    );
}

/// Asks whether the difference of two fingerprints as numbers could show the similarity.
fn differences(setup: &Setup, report: &mut Report, random: &mut Random) -> Result<()> {
    let n = setup.pick(300, 10_000);
    let mut rows = Vec::new();
    let mut planes = Planes::new(random, DIMENSIONS);
    for i in 0..n {
        let degrees = 90.0 * random.unit();
        let pair = vectors(random, DIMENSIONS, degrees);
        if i % PAIRS_PER_KEY == 0 {
            planes = Planes::new(random, DIMENSIONS);
        }
        let [a, b] = planes.gaussian(&pair)?.map(|full| full as u64);
        rows.push((degrees, f64::from(a.distance(b)), a.abs_diff(b) as f64));
    }
    let concordance = |value: &dyn Fn(&(f64, f64, f64)) -> f64| {
        let pairs = rows.iter().zip(rows.iter().skip(1));
        let right = |(x, y): (&(f64, f64, f64), &(f64, f64, f64))| {
            match value(x).total_cmp(&value(y)) {
                std::cmp::Ordering::Equal => 0.5,
                order => f64::from(u8::from(order == x.0.total_cmp(&y.0))),
            }
        };
        pairs.map(right).sum::<f64>() / (rows.len() - 1) as f64
    };
    let (by_distance, by_difference) = (concordance(&|row| row.1), concordance(&|row| row.2));
    report.number("order by distance", by_distance);
    report.number("order by difference", by_difference);
    report.claim(
        "difference",
        &[0],
        "could the difference of two fingerprints as numbers show the similarity?",
        [
            "a question".to_owned(),
            format!("orders {} of pairs right; the Hamming distance {}", percent(by_difference), percent(by_distance)),
        ],
        Verdict::Fails,
        "the difference depends on the highest bit that differs, which is one random plane.",
    );
    Ok(())
}

fn picture(points: Vec<(f64, f64)>, few_points: Vec<(f64, f64)>) -> Picture {
    Picture {
        name: "angles",
        caption: "The share of differing bits is θ/π by Gaussian hyperplanes; by hyperplanes of ±1 it is not in few dimensions".to_owned(),
        plot: Plot {
            title: "Share of differing bits over the angle of two vectors".to_owned(),
            x: Axis::linear(bilingual("angle in degrees", "夹角（度）"), 0.0, 180.0, 30.0, 0),
            y: Axis::linear(bilingual("share of differing bits", "不同位的比例"), 0.0, 1.0, 0.2, 1),
            series: vec![
                Series {
                    name: bilingual("Gaussian, 200 dimensions", "高斯，200 维"),
                    points,
                    dashed: false,
                },
                Series {
                    name: bilingual("±1, 3 dimensions", "±1，3 维"),
                    points: few_points,
                    dashed: false,
                },
                Series {
                    name: bilingual("θ/π", "θ/π"),
                    points: vec![(0.0, 0.0), (180.0, 1.0)],
                    dashed: true,
                },
            ],
            marks: Vec::new(),
        },
    }
}
