//! Precision and recall over the radius at 16, 32, 64 and 128 bits (figure 1 of Manku, Jain and Das Sarma), with
//! MinHash and the cosine of word counts for comparison.

use std::sync::Arc;

use anyhow::Result;
use twinprint_dedup::DedupOptions;
use twinprint_eval::plot::{Axis, Plot, Series, Tick, bilingual};
use twinprint_eval::{EvalJob, EvalOptions, Evaluation, FurtherProfile, RadiusCurve, evaluate};
use twinprint_io::progress::Silent;
use twinprint_io::source::SourceOptions;
use twinprint_text::Profile;

use crate::corpus::Corpus;
use crate::figure::{number, percent};
use crate::{Picture, Report, Setup, Table, Verdict};

const THRESHOLD: f64 = 0.8;
/// The widths, each with the radius that has the same share of its bits as 3 of 64, or 1 at the least.
const WIDTHS: [(u32, u32); 4] = [(16, 1), (32, 2), (64, 3), (128, 6)];

/// Precision and recall at a radius.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    k: u32,
    precision: f64,
    recall: f64,
    f1: f64,
}

/// The points of a curve.
fn points(evaluation: &Evaluation, curve: &RadiusCurve) -> Vec<Point> {
    let all = evaluation.true_pairs.first().copied().unwrap_or(0) as f64;
    let point = |at: &twinprint_eval::RadiusPoint| {
        let recall = at.recall.first().copied().unwrap_or(0.0);
        let called = at.candidates * evaluation.documents as f64;
        Point {
            k: at.k,
            precision: if called > 0.0 { (recall * all / called).min(1.0) } else { 1.0 },
            recall,
            f1: at.f1.first().copied().unwrap_or(0.0),
        }
    };
    curve.points.iter().map(point).collect()
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    for (set, label) in setup.pick(vec![("newswire-en", "title")], vec![("newswire-en", "title"), ("revisions-zh", "page")]) {
        let corpus = Corpus::labelled(setup, set, label, setup.pick(150, 5000))?;
        let evaluation = evaluation(&corpus)?;
        let last = set == "revisions-zh" || setup.pick(true, false);
        measured(&corpus, &evaluation, last, &mut report);
    }
    Ok(report)
}

fn evaluation(corpus: &Corpus) -> Result<Evaluation> {
    let directory = tempfile::tempdir()?;
    let [docs, pairs] = corpus.write(directory.path())?;
    let mut options = EvalOptions::new(DedupOptions::new()?);
    options.thresholds = vec![THRESHOLD];
    options.pairs = Some(pairs);
    options.complete = Some(0.3);
    options.profiles = vec![FurtherProfile {
        profile: Profile::parse("tp1-words-tf-64")?,
        widths: WIDTHS.map(|(bits, _)| bits).to_vec(),
    }];
    let job = EvalJob {
        inputs: &[docs.display().to_string()],
        source: &SourceOptions::default(),
        options: &options,
    };
    Ok(evaluate(&job, &Silent, &Arc::default())?)
}

fn measured(corpus: &Corpus, evaluation: &Evaluation, is_last: bool, report: &mut Report) {
    let mut table = Table::new(
        format!("Precision and recall of fingerprints alone (words by tf), pairs from Jaccard {THRESHOLD}, {} documents of {}", corpus.documents.len(), corpus.name),
        ["bits, or method of the evaluation", "k", "precision", "recall", "best F1", "its k"],
    );
    let curve = |bits: u32| evaluation.curves.iter().find(|curve| curve.bits == bits && curve.profile.contains("-tf"));
    let (mut precision, mut recall) = (Vec::new(), Vec::new());
    for (bits, radius) in WIDTHS {
        let Some(curve) = curve(bits) else { continue };
        let points = points(evaluation, curve);
        let best = points.iter().copied().fold(Point::default(), |best, point| if point.f1 > best.f1 { point } else { best });
        let at = points.iter().copied().find(|point| point.k == radius).unwrap_or_default();
        report.number(format!("{bits} bits: precision"), at.precision);
        report.number(format!("{bits} bits: recall"), at.recall);
        report.number(format!("{bits} bits: best F1"), best.f1);
        table.push([
            bits.to_string(),
            radius.to_string(),
            percent(at.precision),
            percent(at.recall),
            number(best.f1),
            best.k.to_string(),
        ]);
        let name = bilingual(&format!("{bits} bits"), &format!("{bits} 位"));
        let shares = |value: &dyn Fn(&Point) -> f64| -> Vec<(f64, f64)> {
            let inside = points.iter().filter(|point| point.k * 4 <= bits);
            inside.map(|point| (f64::from(point.k) / f64::from(bits), value(point))).collect()
        };
        precision.push(Series { name: name.clone(), points: shares(&|point| point.precision), dashed: false });
        recall.push(Series { name, points: shares(&|point| point.recall), dashed: false });
    }
    for method in &evaluation.methods {
        let Some(result) = method.results.first() else { continue };
        let quality = result.quality;
        table.push([
            format!("{}, {}", method.name, result.setting),
            String::new(),
            percent(quality.precision),
            percent(quality.recall),
            number(quality.f1),
            String::new(),
        ]);
    }
    report.tables.push(table);
    if is_last {
        claims(report, evaluation, &corpus.name);
        report.pictures.push(picture("precision", "precision", "精确率", precision, &corpus.name));
        report.pictures.push(picture("recall", "recall", "召回率", recall, &corpus.name));
    }
}

fn claims(report: &mut Report, evaluation: &Evaluation, set: &str) {
    let figure = |name: &str| report.numbers.get(name).copied().unwrap_or(0.0);
    let [precision, recall] = ["64 bits: precision", "64 bits: recall"].map(figure);
    let [f16, f32, f64_, f128] = [16, 32, 64, 128].map(|bits| figure(&format!("{bits} bits: best F1")));
    report.claim(
        "k-3",
        &[0, 1, 2, 3, 4],
        "texts within 3 of 64 bits are near-duplicates; 64 bits and k = 3 are reasonable for 8 billion pages",
        [
            "reasonable (precision and recall about 0.75 in the paper)".to_owned(),
            format!("precision {}, recall {}", percent(precision), percent(recall)),
        ],
        Verdict::Depends,
        format!("on {set}, true pairs from Jaccard {THRESHOLD}: the radius trades one for the other, so twinprint verifies the texts of what a larger radius finds."),
    );
    report.claim(
        "not-precise",
        &[0],
        "eight bytes are little, so SimHash is not very precise",
        ["not high".to_owned(), format!("best F1 {} at 16 bits, {} at 32, {} at 64, {} at 128", number(f16), number(f32), number(f64_), number(f128))],
        Verdict::Depends,
        "fingerprints alone are not; with verification of the texts the precision is 1 (first method of the table).",
    );
    let best = |part: &str| {
        let method = evaluation.methods.iter().find(|method| method.name.to_lowercase().contains(part))?;
        method.results.first().map(|result| result.quality.f1)
    };
    let [engine, cosine] = [evaluation.methods.first().and_then(|m| m.results.first()).map(|r| r.quality.f1), best("cosine")]
        .map(|f1| f1.unwrap_or(0.0));
    report.number("engine F1", engine);
    report.number("cosine F1", cosine);
    report.claim(
        "bag-of-words",
        &[1],
        "the author finally used a bag of words with jieba and the cosine",
        ["better".to_owned(), format!("best F1 {} by the cosine, {} by fingerprints of 64 bits, {} with verification", number(cosine), number(f64_), number(engine))],
        Verdict::of(cosine >= f64_),
        "the vectors take hundreds of bytes a document, and every pair must be compared.",
    );
}

fn picture(name: &'static str, english: &str, chinese: &str, series: Vec<Series>, set: &str) -> Picture {
    Picture {
        name,
        caption: format!("{english} over the radius as a share of the width, {set}"),
        plot: Plot {
            title: format!("{english} over the radius"),
            x: Axis::linear(bilingual("radius / width", "半径 / 位数"), 0.0, 0.25, 0.05, 2),
            y: Axis::linear(bilingual(english, chinese), 0.0, 1.0, 0.2, 1),
            series,
            marks: vec![Tick { position: 3.0 / 64.0, label: "3 of 64".to_owned() }],
        },
    }
}
