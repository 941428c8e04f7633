//! The five causes of near-duplicate pages: how far the fingerprints of such pages are apart.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use serde::Deserialize;
use twinprint_fingerprint::{HashKey, Width};
use twinprint_text::{Analyzer, Profile};

use crate::corpus::{Corpus, json_lines};
use crate::figure::{number, percent};
use crate::random::Random;
use crate::setup::Size;
use crate::{Report, Setup, Table, Verdict};

/// The causes, as the labelled sets name them, with the names of the document.
const CAUSES: [(&str, &str); 5] = [
    ("mirror", "镜像网站 (mirror)"),
    ("copy", "内容复制 (copy)"),
    ("ads", "嵌入广告 (advertisements)"),
    ("counters", "计数改变 (counters)"),
    ("edits", "少量修改 (small edits)"),
];
/// The radii of the table.
const RADII: [u32; 3] = [3, 6, 12];

#[derive(Deserialize)]
struct Page {
    id: String,
    main: String,
    text: String,
}

#[derive(Deserialize)]
struct Pair {
    a: String,
    b: String,
    cause: String,
}

/// Two texts of one page, and the cause of their difference.
struct Variant {
    cause: String,
    main: [String; 2],
    all: [String; 2],
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let variants = match &setup.data {
        Some(data) if setup.size == Size::Full => {
            let pages: HashMap<String, Page> = json_lines::<Page>(&data.join("causes-zh.docs.jsonl.zst"))?
                .map(|page| page.map(|page| (page.id.clone(), page)))
                .collect::<Result<_>>()?;
            let path = data.join("causes-zh.pairs.jsonl.zst");
            let pairs = json_lines::<Pair>(&path)?;
            let variant = |pair: Pair| {
                let (a, b) = (pages.get(&pair.a)?, pages.get(&pair.b)?);
                Some(Variant {
                    cause: pair.cause,
                    main: [a.main.clone(), b.main.clone()],
                    all: [a.text.clone(), b.text.clone()],
                })
            };
            pairs.filter_map(|pair| pair.map(variant).transpose()).collect::<Result<Vec<_>>>()?
        }
        _ => generated(setup),
    };
    let mut analyzer = Analyzer::new(&Profile::default_for(64)?, HashKey::PUBLIC);
    let mut distances: BTreeMap<String, Vec<[u32; 2]>> = BTreeMap::new();
    for variant in &variants {
        let of = [&variant.main, &variant.all].map(|texts| {
            let [a, b] = texts.each_ref().map(|text| analyzer.fingerprint(text) as u64);
            a.distance(b)
        });
        distances.entry(variant.cause.clone()).or_default().push(of);
    }
    let mut table = Table::new(
        "Pairs of pages by cause: mean distance at 64 bits and pairs within k, of the main text / of the whole page",
        ["cause", "pairs", "mean distance", "k = 3", "k = 6", "k = 12"],
    );
    let mut row = |name: &str, distances: &[[u32; 2]]| {
        let n = distances.len().max(1) as f64;
        let mean = [0, 1].map(|side| distances.iter().map(|d| f64::from(d[side])).sum::<f64>() / n);
        let within = |k: u32| [0, 1].map(|side| distances.iter().filter(|d| d[side] <= k).count() as f64 / n);
        let mut cells = vec![name.to_owned(), distances.len().to_string(), mean.map(number).join(" / ")];
        cells.extend(RADII.map(|k| within(k).map(percent).join(" / ")));
        table.rows.push(cells);
        (mean, within(3), within(12))
    };
    let mut strict = Vec::new();
    for (cause, name) in CAUSES {
        let Some(distances) = distances.get(cause) else { continue };
        let (mean, within_3, within_12) = row(name, distances);
        report.number(format!("{cause}: main"), mean[0]);
        report.number(format!("{cause}: within 3"), within_3[0]);
        report.number(format!("{cause}: within 12"), within_12[0]);
        strict.push(format!("{cause} {}", within_3.map(percent).join(" / ")));
    }
    for (cause, distances) in distances.iter().filter(|(cause, _)| cause.starts_with("unrelated")) {
        let (mean, within_3, _) = row(cause, distances);
        report.number("unrelated: main", mean[0]);
        report.number("unrelated: within 3", within_3[0]);
    }
    report.tables.push(table);
    report.claim(
        "causes",
        &[4],
        "pages are near-duplicates by mirrors, copies, advertisements, counters and small edits, and SimHash finds them",
        ["within 3 of 64 bits".to_owned(), strict.join(", ")],
        Verdict::Depends,
        "share of pairs within 3, of the main text / the whole page: the main text has to be extracted first, and copies of a part are farther than 3.",
    );
    Ok(report)
}

/// Generates variants of generated pages: a page is a header of its site, an article, and a footer.
fn generated(setup: &Setup) -> Vec<Variant> {
    let corpus = Corpus::generated(120, setup.seed);
    let mut random = Random::new(setup.seed);
    let mut site = || {
        let words: Vec<String> = (0..30).map(|_| format!("s{}", random.below(5000))).collect();
        words.join(" ")
    };
    let mut variants = Vec::new();
    let articles = corpus.documents.iter().step_by(3).map(|document| document.text.clone());
    let others = corpus.documents.iter().rev().step_by(3).map(|document| document.text.clone());
    for (number, (article, other)) in articles.zip(others).enumerate() {
        let words: Vec<&str> = article.split(' ').collect();
        let mut edited: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        for word in edited.iter_mut().step_by(97) {
            word.push('x');
        }
        let half = words[..words.len() * 3 / 4].join(" ");
        let changed = [
            ("mirror", article.clone(), site()),
            ("copy", half, site()),
            ("ads", article.clone(), format!("{} buy {}", site(), site())),
            ("counters", article.clone(), format!("{number}0 visits")),
            ("edits", edited.join(" "), String::new()),
            ("unrelated", other, site()),
        ];
        let frame = site();
        for (cause, main, around) in changed {
            variants.push(Variant {
                cause: cause.to_owned(),
                all: [format!("{frame} {article}"), format!("{around} {main}")],
                main: [article.clone(), main],
            });
        }
    }
    variants
}
