//! The `jiebaR` listings, and the keywords of the sentence about Area 51.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use twinprint_fingerprint::Width;
use twinprint_text::compat::{Dictionaries, Keywords, Recipe, RecipeFingerprinter};

use crate::figure::number;
use crate::{Report, Setup, Verdict};

/// A listing: the text, its published keywords and weights, and its fingerprint.
struct Listing {
    names: [&'static str; 2],
    claims: [&'static str; 2],
    text: &'static str,
    keywords: [(&'static str, f64); 2],
    fingerprint: u64,
}

const LISTINGS: [Listing; 2] = [
    Listing {
        names: ["first-features", "first-listing"],
        claims: [
            "fingerprint of 妈妈 6.55531 and 吃饭 6.44422",
            "你妈妈叫你回家吃饭啊: keywords and fingerprint",
        ],
        text: "你妈妈叫你回家吃饭啊",
        keywords: [("妈妈", 6.55531), ("吃饭", 6.44422)],
        fingerprint: 5_255_740_375_710_833_686,
    },
    Listing {
        names: ["second-features", "second-listing"],
        claims: [
            "fingerprint of 回家 12.3845 and 妈妈 6.55531",
            "你妈妈喊你回家吃饭,回家喽: keywords and fingerprint",
        ],
        text: "你妈妈喊你回家吃饭,回家喽",
        keywords: [("回家", 12.3845), ("妈妈", 6.55531)],
        fingerprint: 9_184_284_471_008_831_268,
    },
];
/// The two texts whose published distance is 0.
const EQUAL: [&str; 2] = ["你妈妈喊你回家吃饭", "你妈妈叫你回家吃饭啊"];
/// The sentence that two documents cut into twelve words.
const AREA_51: &str = "美国“51区”雇员称内部有9架飞碟,曾看见灰色外星人";
const WORDS: [&str; 12] = [
    "美国", "51区", "雇员", "称", "内部", "有", "9架", "飞碟", "曾", "看见", "灰色", "外星人",
];

/// Runs the experiment. Without the dictionaries of the labelled sets, only the given keywords are hashed.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let recipe = Recipe::Cppjieba(Keywords::Top(2));
    for listing in &LISTINGS {
        let found = recipe.fingerprint_weighted(listing.keywords);
        report.exact(
            listing.names[0],
            &[3],
            listing.claims[0],
            listing.fingerprint.to_string(),
            found.map_or_else(String::new, |bits| bits.to_string()),
        );
    }
    let Some(data) = &setup.data else {
        report.claim(
            "first-listing",
            &[3],
            "keywords and fingerprint of the listed texts",
            [LISTINGS[0].fingerprint.to_string(), "–".to_owned()],
            Verdict::NotRun,
            "cppjieba's dictionaries are not there.",
        );
        return Ok(report);
    };
    let dictionaries = dictionaries(&data.join("cppjieba-dict"))?;
    let mut fingerprinter = RecipeFingerprinter::new(recipe, Some(dictionaries))?;
    for listing in &LISTINGS {
        let write = |(word, weight): (&str, f64)| format!("{word} {}", significant(weight));
        let keywords = fingerprinter.keywords(listing.text, Keywords::Top(2));
        let found: Vec<String> = keywords.iter().map(|k| write((k.word, k.weight))).collect();
        let bits = fingerprinter.fingerprint(listing.text)?.bits;
        let published: Vec<String> = listing.keywords.into_iter().map(write).collect();
        report.exact(
            listing.names[1],
            &[3],
            listing.claims[1],
            format!("{}; {}", published.join(", "), listing.fingerprint),
            format!("{}; {bits}", found.join(", ")),
        );
    }
    let mut bits = [0; 2];
    for (bits, text) in bits.iter_mut().zip(EQUAL) {
        *bits = fingerprinter.fingerprint(text)?.bits;
    }
    report.exact(
        "distance",
        &[3],
        "distance of 你妈妈喊你回家吃饭 and 你妈妈叫你回家吃饭啊",
        "0",
        bits[0].distance(bits[1]).to_string(),
    );
    area_51(&mut fingerprinter, &mut report);
    Ok(report)
}

/// Lists the keywords of the sentence about Area 51.
fn area_51(fingerprinter: &mut RecipeFingerprinter, report: &mut Report) {
    let keywords = fingerprinter.keywords(AREA_51, Keywords::Top(12));
    let found: Vec<String> = keywords
        .iter()
        .map(|keyword| format!("{}({})", keyword.word, number(keyword.weight)))
        .collect();
    let common = keywords.iter().filter(|keyword| WORDS.contains(&keyword.word)).count();
    report.number("common words", common as f64);
    report.claim(
        "area-51",
        &[0, 3],
        "美国“51区”雇员称内部有9架飞碟… cut into weighted words without noise words",
        [
            "美国(4) 51区(5) 雇员(3) 称(1) 内部(2) 有(1) 9架(3) 飞碟(5) 曾(1) 看见(3) 灰色(4) 外星人(5)".to_owned(),
            found.join(" "),
        ],
        Verdict::Depends,
        format!(
            "the levels are examples; {common} of the listed words are keywords by TF-IDF, 51区 and 9架 are cut into two words, and words of one character are left out as noise."
        ),
    );
}

/// A weight as R prints it: with six significant digits.
fn significant(weight: f64) -> String {
    let digits = 5 - weight.log10().floor() as usize;
    format!("{weight:.digits$}")
}

/// Unpacks the dictionaries and reads them.
fn dictionaries(packed: &Path) -> Result<Arc<Dictionaries>> {
    let directory = tempfile::tempdir()?;
    for entry in fs::read_dir(packed).with_context(|| packed.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match name.strip_suffix(".zst") {
            Some(name) => {
                let bytes = zstd::decode_all(fs::File::open(&path)?)?;
                fs::write(directory.path().join(name), bytes)?;
            }
            None => fs::write(directory.path().join(name), fs::read(&path)?)?,
        }
    }
    Ok(Arc::new(Dictionaries::open(directory.path())?))
}
