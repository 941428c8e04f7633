//! SimHash, MinHash and shingles with the same number of bytes for a document.

use anyhow::Result;
use twinprint_eval::minhash::Signatures;
use twinprint_eval::plot::{Axis, Plot, Series, bilingual};
use twinprint_fingerprint::{HashKey, Width};
use twinprint_text::overlap::{ShingleSet, Shingler, overlap};
use twinprint_text::{Analyzer, Measure, Profile, canonical};

use crate::corpus::Corpus;
use crate::figure::number;
use crate::pairs::{best_cut, score};
use crate::{Picture, Report, Setup, Table, Verdict};

/// Pairs are true from this Jaccard up.
const THRESHOLD: f64 = 0.8;
/// Bytes of a stored shingle hash.
const SHINGLE_BYTES: usize = 4;

/// The `n` smallest shingles of a set: Broder's sketch.
fn smallest(set: &ShingleSet, n: usize) -> &[u64] {
    &set.shingles()[..set.shingles().len().min(n)]
}

/// The Jaccard that two sketches of `n` shingles estimate: the share of common shingles among the `n` smallest of both.
fn sketch_jaccard(a: &[u64], b: &[u64], n: usize) -> f64 {
    let mut union: Vec<u64> = a.iter().chain(b).copied().collect();
    union.sort_unstable();
    union.dedup();
    union.truncate(n);
    let common = union.iter().filter(|shingle| a.binary_search(shingle).is_ok() && b.binary_search(shingle).is_ok());
    common.count() as f64 / union.len().max(1) as f64
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    for (name, label) in setup.pick(vec![("newswire-en", "title")], vec![("revisions-zh", "page"), ("newswire-en", "title")]) {
        let corpus = Corpus::labelled(setup, name, label, 1500)?;
        compare_sketches(&corpus, &mut report)?;
    }
    claims(&mut report);
    Ok(report)
}

/// Measures the best F1 of each sketch on one corpus.
fn compare_sketches(corpus: &Corpus, report: &mut Report) -> Result<()> {
    let mut shingler = Shingler::new(HashKey::PUBLIC);
    let texts: Vec<String> = corpus.documents.iter().map(|document| canonical(&document.text)).collect();
    // All documents are measured in one way, so that any two sets can be compared.
    let measure = texts.iter().map(|text| Measure::of(text)).reduce(Measure::with).unwrap_or(Measure::WordGrams);
    let sets: Vec<ShingleSet> =
        texts.iter().map(|text| ShingleSet::new(shingler.shingle(text, measure))).collect();
    let mut analyzer = Analyzer::new(&Profile::default_for(128)?, HashKey::PUBLIC);
    let fingerprints: Vec<u128> = texts.iter().map(|text| analyzer.fingerprint(text)).collect();
    let signatures = Signatures::of(&sets);
    let best = |value: &dyn Fn(usize, usize) -> f64| best_cut(score(corpus, THRESHOLD, value)).f1();
    let mut table = Table::new(
        format!("Best F1 at Jaccard {THRESHOLD} with equal bytes a document, {} documents of {}", corpus.documents.len(), corpus.name),
        ["bytes", "SimHash", "MinHash, 1 bit a slot", "MinHash, 8 bits a slot", "MinHash, 64 bits a slot", "smallest shingles"],
    );
    let mut series: [Vec<(f64, f64)>; 3] = Default::default();
    for bytes in [2, 4, 8, 16, 64, 128] {
        let simhash = (bytes <= 16).then(|| {
            let unused = 128 - 8 * bytes as u32;
            best(&|a, b| -f64::from((fingerprints[a] << unused).distance(fingerprints[b] << unused)))
        });
        let minhash = [1, 8, 64].map(|bits| {
            let slots = bytes * 8 / bits;
            (1..=128).contains(&slots).then(|| best(&|a, b| signatures.estimate(a, b, slots, bits as u32)))
        });
        let n = bytes / SHINGLE_BYTES;
        let shingles = (n > 0).then(|| best(&|a, b| sketch_jaccard(smallest(&sets[a], n), smallest(&sets[b], n), n)));
        let at = (bytes as f64).log2();
        let most = minhash.iter().flatten().copied().fold(0.0, f64::max);
        let methods = [simhash, (most > 0.0).then_some(most), shingles];
        for (points, f1) in series.iter_mut().zip(methods) {
            points.extend(f1.map(|f1| (at, f1)));
        }
        for (method, f1) in ["simhash", "minhash", "shingles"].into_iter().zip(methods) {
            if let Some(f1) = f1 {
                let name = format!("{method} {bytes}");
                let before = report.numbers.get(&name).copied().unwrap_or(1.0);
                report.number(name, before.min(f1));
            }
        }
        let cells = [simhash, minhash[0], minhash[1], minhash[2], shingles];
        let mut row = vec![bytes.to_string()];
        row.extend(cells.map(|f1| f1.map_or_else(|| "–".to_owned(), number)));
        table.rows.push(row);
    }
    let whole = best(&|a, b| overlap(sets[a].shingles(), sets[b].shingles()).jaccard());
    let mean = sets.iter().map(|set| set.shingles().len() * 8).sum::<usize>() as f64 / sets.len().max(1) as f64;
    table.rows.push(vec![format!("{mean:.0} (all shingles)"), "–".to_owned(), "–".to_owned(), "–".to_owned(), "–".to_owned(), number(whole)]);
    report.number("all shingles", whole);
    report.tables.push(table);
    report.pictures.retain(|picture| picture.name != "sketches");
    report.pictures.push(picture(series, &corpus.name));
    Ok(())
}

fn claims(report: &mut Report) {
    let figure = |name: &str| report.numbers.get(name).copied().unwrap_or(0.0);
    let at = |bytes: u32| ["simhash", "minhash", "shingles"].map(|method| figure(&format!("{method} {bytes}")));
    let [eight, sixteen] = [8, 16].map(at);
    let written = |f1: [f64; 3]| f1.map(number).join(", ");
    report.claim(
        "equal-bytes",
        &[1],
        "Google compared SimHash with MinHash, and used SimHash to find duplicates in a crawl and MinHash for news",
        [
            "SimHash for a crawl".to_owned(),
            format!(
                "best F1 of SimHash, MinHash, smallest shingles: {} at 8 bytes, {} at 16",
                written(eight),
                written(sixteen)
            ),
        ],
        Verdict::Depends,
        format!(
            "the least of the sets; the truth is the Jaccard of shingles, which MinHash estimates, so it wins with slots of one bit ({} with 128 bytes); but fingerprints can be searched exactly within a radius.",
            number(figure("minhash 128"))
        ),
    );
}

fn picture(series: [Vec<(f64, f64)>; 3], set: &str) -> Picture {
    let names = [("SimHash", "SimHash"), ("MinHash, best slot width", "MinHash，最佳槽宽"), ("smallest shingles", "最小 shingle")];
    Picture {
        name: "sketches",
        caption: format!("Best F1 at Jaccard {THRESHOLD} over the bytes of a document, {set}"),
        plot: Plot {
            title: "Best F1 over the bytes of a document".to_owned(),
            x: Axis::linear(bilingual("log₂ of the bytes of a document", "每文档字节数的 log₂"), 1.0, 7.0, 1.0, 0),
            y: Axis::linear(bilingual("best F1", "最佳 F1"), 0.0, 1.0, 0.2, 1),
            series: names
                .into_iter()
                .zip(series)
                .map(|((english, chinese), points)| Series { name: bilingual(english, chinese), points, dashed: false })
                .collect(),
            marks: Vec::new(),
        },
    }
}
