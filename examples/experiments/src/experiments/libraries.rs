//! The libraries that the documents name: their published fingerprints, and their features of Chinese text.

use std::fs;

use anyhow::Result;
use serde_json::Value;
use twinprint_fingerprint::HashKey;
use twinprint_text::compat::{Recipe, RecipeFingerprinter};
use twinprint_text::{Analyzer, Profile};

use crate::corpus::Corpus;
use crate::figure::percent;
use crate::pairs::{cut_at, score};
use crate::setup::Size;
use crate::{Report, Setup, Table, Verdict};

/// Recipes that need no dictionaries, as the file of published vectors names them.
const RECIPES: [&str; 4] = ["mfonda", "allendang", "rust-simhash", "1e0ng"];
/// A sentence of my own with nine words.
const SENTENCE: &str = "今天的天气很好，我们去公园散步。";

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    published(setup, &mut report)?;
    chinese(setup, &mut report)?;
    Ok(report)
}

/// Compares published fingerprints.
fn published(setup: &Setup, report: &mut Report) -> Result<()> {
    let claim = "mfonda, AllenDang and other libraries make SimHash fingerprints";
    let path = setup.data.as_ref().map(|data| data.join("compat-vectors.json"));
    let Some(text) = path.and_then(|path| fs::read_to_string(path).ok()) else {
        let figures = ["published fingerprints".to_owned(), "–".to_owned()];
        let reason = "the file of published vectors is not there.";
        report.claim("published", &[1], claim, figures, Verdict::NotRun, reason);
        return Ok(());
    };
    let vectors: Value = serde_json::from_str(&text)?;
    let (mut equal, mut all) = (0, 0);
    for name in RECIPES {
        let mut fingerprinter = RecipeFingerprinter::new(Recipe::parse(name)?, None)?;
        for vector in vectors[name]["texts"].as_array().into_iter().flatten() {
            let [text, written] = ["text", "fingerprint"].map(|key| vector[key].as_str().unwrap_or_default());
            let bits = twinprint_text::parse_hash_number(written);
            all += 1;
            equal += u32::from(bits == Some(fingerprinter.fingerprint(text)?.bits.into()));
        }
    }
    report.number("published", f64::from(equal) / f64::from(all));
    let figures = [format!("{all} published fingerprints"), format!("{equal} reproduced")];
    report.claim(
        "published",
        &[1],
        claim,
        figures,
        Verdict::of(equal == all),
        "bit for bit; safeie is implemented too, and publishes no fingerprint, only a distance.",
    );
    Ok(())
}

/// Counts the features of a Chinese sentence, and measures the recall on Chinese pages.
fn chinese(setup: &Setup, report: &mut Report) -> Result<()> {
    let mut analyzer = Analyzer::new(&Profile::default_for(64)?, HashKey::PUBLIC);
    let words = analyzer.explain(SENTENCE).len();
    let mut fingerprinter = RecipeFingerprinter::new(Recipe::Mfonda, None)?;
    let runs = fingerprinter.fingerprint(SENTENCE)?.features;
    report.number("words", words as f64);
    report.number("runs", f64::from(runs));
    let mut reason = format!("mfonda sees {runs} words in a sentence in which jieba sees {words}");
    if setup.size == Size::Full && setup.data.is_some() {
        let corpus = Corpus::labelled(setup, "revisions-zh", "page", 1500)?;
        let mut table = Table::new(
            "Chinese pages (1,500 documents of revisions-zh, pairs from Jaccard 0.8), k = 3 at 64 bits",
            ["features", "precision", "recall"],
        );
        let mut measure = |name: &str, fingerprints: &[u64]| {
            let scored = score(&corpus, 0.8, |a, b| -f64::from((fingerprints[a] ^ fingerprints[b]).count_ones()));
            let cut = cut_at(&scored, -3.0);
            table.push([name.to_owned(), percent(cut.precision), percent(cut.recall)]);
            percent(cut.precision)
        };
        let texts = || corpus.documents.iter().map(|document| document.text.as_str());
        let theirs: Result<Vec<u64>, _> = texts().map(|text| fingerprinter.fingerprint(text).map(|f| f.bits)).collect();
        let ours: Vec<u64> = texts().map(|text| analyzer.fingerprint(text) as u64).collect();
        let precisions = [measure("runs of letters (mfonda)", &theirs?), measure("words by jieba", &ours)];
        reason = format!("{reason}; precision at k = 3 {} and {}", precisions[0], precisions[1]);
        report.tables.push(table);
    }
    report.claim(
        "chinese",
        &[1],
        "libraries without a segmenter are unfriendly to Chinese",
        ["unfriendly".to_owned(), format!("{runs} features in place of {words}")],
        Verdict::of((runs as usize) < words),
        reason + ".",
    );
    Ok(())
}
