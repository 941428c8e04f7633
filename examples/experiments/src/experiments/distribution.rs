//! The distribution of fingerprints of pages: leading differing bits and intervals (figure 2 of Manku, Jain and Das
//! Sarma), and distances of pairs.

use anyhow::Result;
use twinprint_eval::plot::{Axis, Plot, Series, bilingual};
use twinprint_fingerprint::{HashKey, Width, kernel};
use twinprint_text::{Analyzer, Profile};

use crate::corpus::Corpus;
use crate::figure::{number, percent};
use crate::random::Random;
use crate::{Picture, Report, Setup, Verdict};

/// The number of equal intervals of the space of fingerprints.
const INTERVALS: usize = 128;

/// The distributions of one set of fingerprints.
struct Distribution {
    /// For each position from the highest bit, the share of neighbours that first differ there.
    leading: Vec<f64>,
    /// For each distance, the share of the pairs.
    distances: Vec<f64>,
    /// The share of fingerprints in the fullest interval, as a multiple of the mean.
    fullest: f64,
    /// The mean distance.
    mean: f64,
}

impl Distribution {
    fn of(rows: &[u64]) -> Self {
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        let mut intervals = [0.0; INTERVALS];
        for row in &sorted {
            intervals[(row >> 57) as usize] += 1.0;
        }
        sorted.dedup();
        let mut leading = vec![0.0; 64];
        let neighbours = (sorted.len() - 1).max(1) as f64;
        for pair in sorted.windows(2) {
            leading[(pair[0] ^ pair[1]).leading_zeros() as usize] += 1.0 / neighbours;
        }
        let mut counts = vec![0u64; 65];
        kernel::hamming_within(rows, 64, &mut |_, _, distance| counts[usize::from(distance)] += 1);
        let pairs = counts.iter().sum::<u64>().max(1) as f64;
        let distances: Vec<f64> = counts.iter().map(|&count| count as f64 / pairs).collect();
        Self {
            leading,
            mean: distances.iter().zip(0..).map(|(share, d)| share * f64::from(d)).sum(),
            distances,
            fullest: intervals.iter().copied().fold(0.0, f64::max) * INTERVALS as f64 / rows.len() as f64,
        }
    }

    /// The share of neighbours that first differ at bit `from` or after it.
    fn leading_from(&self, from: usize) -> f64 {
        self.leading[from.min(64)..].iter().sum()
    }
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let corpus = Corpus::labelled(setup, "revisions-zh", "page", 5000)?;
    let mut analyzer = Analyzer::new(&Profile::default_for(64)?, HashKey::PUBLIC);
    let pages: Vec<u64> =
        corpus.documents.iter().map(|document| analyzer.fingerprint(&document.text) as u64).collect();
    let uniform = Random::new(setup.seed).rows(pages.len());
    let (of_pages, of_uniform) = (Distribution::of(&pages), Distribution::of(&uniform));
    // Neighbours of 2^d uniform fingerprints differ around bit d; ten bits further only similar pages agree so long.
    let clustered = uniform.len().ilog2() as usize + 10;
    let shares = [&of_pages, &of_uniform].map(|distribution| distribution.leading_from(clustered));
    report.number("clustered pages", shares[0]);
    report.number("clustered uniform", shares[1]);
    report.number("mean distance of uniform", of_uniform.mean);
    report.number("mean distance of pages", of_pages.mean);
    report.number("fullest interval of uniform", of_uniform.fullest);
    report.number("bits of a page", f64::from(pages[0].distance(0)));
    report.claim(
        "random",
        &[2],
        "fingerprints come from a hash, so they are random enough for the argument about leading bits",
        [
            "random".to_owned(),
            format!(
                "{} of neighbours agree in {clustered} bits or more; of uniform ones {}",
                percent(shares[0]),
                percent(shares[1])
            ),
        ],
        Verdict::Depends,
        format!(
            "intervals are filled almost evenly (the fullest of 128 has {} times the mean, {} if uniform), but similar pages are neighbours.",
            number(of_pages.fullest),
            number(of_uniform.fullest)
        ),
    );
    report.claim(
        "distances",
        &[0, 4],
        "unrelated texts have very different fingerprints",
        ["large distance".to_owned(), format!("mean distance {} of 64; uniform {}", number(of_pages.mean), number(of_uniform.mean))],
        Verdict::Depends,
        "pages of one language share their common words, so unrelated ones are nearer than 32.",
    );
    report.pictures.push(shares_picture(
        "leading",
        "Bit in which sorted neighbours first differ: similar pages form the right part",
        ("first differing bit from the highest", "首个不同位"),
        [&of_pages.leading, &of_uniform.leading],
    ));
    report.pictures.push(shares_picture(
        "distances",
        "Distances of all pairs of pages and of uniform fingerprints",
        ("Hamming distance", "汉明距离"),
        [&of_pages.distances, &of_uniform.distances],
    ));
    Ok(report)
}

/// A plot of shares over 64 bits, on a logarithmic axis.
fn shares_picture(name: &'static str, caption: &str, x: (&str, &str), shares: [&Vec<f64>; 2]) -> Picture {
    let points = |shares: &Vec<f64>| -> Vec<(f64, f64)> {
        let positive = shares.iter().zip(0..).filter(|(share, _)| **share > 0.0);
        positive.map(|(share, bit)| (f64::from(bit), share.log10())).collect()
    };
    Picture {
        name,
        caption: caption.to_owned(),
        plot: Plot {
            title: caption.to_owned(),
            x: Axis::linear(bilingual(x.0, x.1), 0.0, 64.0, 8.0, 0),
            y: Axis::powers(bilingual("share", "比例"), -7, 0),
            series: vec![
                Series { name: bilingual("pages", "网页"), points: points(shares[0]), dashed: false },
                Series { name: bilingual("uniform fingerprints", "均匀指纹"), points: points(shares[1]), dashed: true },
            ],
            marks: Vec::new(),
        },
    }
}
