//! The Java listing of a SimHash of pairs of characters, and the document's notes on Java.

use anyhow::Result;
use twinprint_fingerprint::Width;
use twinprint_text::compat::{Recipe, RecipeFingerprinter};

use crate::figure::percent;
use crate::random::Random;
use crate::{Report, Setup, Verdict};

/// The two texts of the listing, which prints the distance 2.
const TEXTS: [&str; 2] = ["aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaajfljaslfjaslddsjflasdjaaaaaz"];

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let mut fingerprinter = RecipeFingerprinter::new(Recipe::SimhashJava, None)?;
    let mut bits = [0; 2];
    let mut by_sign = [0; 2];
    let mut sums_of_one = 0;
    for (i, text) in TEXTS.iter().enumerate() {
        bits[i] = fingerprinter.fingerprint(text)?.bits;
        let sums = fingerprinter.votes(text)?.sums;
        sums_of_one += sums.iter().filter(|&&sum| (sum - 1.0).abs() < 0.5).count();
        let sums: Vec<i64> = sums.iter().map(|&sum| sum as i64).collect();
        by_sign[i] = u64::from_sums(&sums);
    }
    report.exact(
        "listing",
        &[3],
        "distance of the two texts of the listing (MurmurHash64A, pairs of characters, a bit is 1 if its sum is above 1)",
        "2",
        bits[0].distance(bits[1]).to_string(),
    );
    report.claim(
        "bits-above-one",
        &[3],
        "the listing tests `bits > 1`, its text says greater than 0",
        [
            "2".to_owned(),
            format!("{} with `> 0`", by_sign[0].distance(by_sign[1])),
        ],
        Verdict::Depends,
        format!("{sums_of_one} of the 128 sums are exactly 1, and only these bits depend on the rule."),
    );
    doubles(setup, &mut report);
    report.claim(
        "tokenizer",
        &[0],
        "StringTokenizer is faster than substring and split",
        ["faster".to_owned(), "–".to_owned()],
        Verdict::NotRun,
        "a claim about the Java library, not about this subject.",
    );
    Ok(report)
}

/// Compares the order of numbers with that of their bits.
fn doubles(setup: &Setup, report: &mut Report) {
    let mut random = Random::new(setup.seed);
    let pairs = 10_000;
    let mut agree = [0u32; 2];
    for _ in 0..pairs {
        let (a, b) = (random.unit(), random.unit());
        for (agree, sign) in agree.iter_mut().zip([1.0, -1.0]) {
            let (a, b) = (a * sign, b * sign);
            let by_bits = (a.to_bits() as i64).cmp(&(b.to_bits() as i64));
            *agree += u32::from(a.total_cmp(&b) == by_bits);
        }
    }
    let [positive, negative] = agree.map(|count| f64::from(count) / f64::from(pairs));
    report.number("positive", positive);
    report.number("negative", negative);
    report.claim(
        "doubles",
        &[0],
        "floating-point numbers can be compared by their bits (doubleToLongBits)",
        [
            "directly".to_owned(),
            format!("right for {} of positive and {} of negative pairs", percent(positive), percent(negative)),
        ],
        Verdict::Depends,
        "true for positive numbers; two negative numbers come out in reverse order.",
    );
}
