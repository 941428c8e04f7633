//! Corpora whose documents all have one fingerprint: equal documents, or different ones.

use super::output::{GeneratedDocument, Output};
use super::variation::Variation;
use crate::documents::{Document, Language, is_ideograph};

/// The word that outvotes all others in a document.
const DOMINANT_WORD: &str = "simhash";
/// The maximum number of units apart from [`DOMINANT_WORD`]. They are enough that the text is not a short text.
const TAIL_UNITS: usize = 60;

/// Writes a document `count` times, each time with a different id.
pub fn equal(document: &Document, count: u64, out: &mut Output) -> anyhow::Result<()> {
    for i in 0..count {
        out.write(&GeneratedDocument {
            id: &format!("q{i}"),
            lang: document.language.tag(),
            base: None,
            text: &document.text,
        })?;
    }
    Ok(())
}

/// Writes `count` different documents that have the same fingerprint if the weight of a word is its number of
/// occurrences (`--profile tp1-words-tf`). A document has [`TAIL_UNITS`] units of a generated text, and
/// [`DOMINANT_WORD`] `TAIL_UNITS + 1` times. In each bit of the fingerprint, that word has more votes than all others
/// together, so it alone decides the bit.
pub fn crowded(variation: &Variation<'_>, count: u64, out: &mut Output) -> anyhow::Result<()> {
    let head = format!("{DOMINANT_WORD} ").repeat(TAIL_UNITS + 1);
    let mut text = String::new();
    for i in 0..count {
        let generated = variation.document(i, |_| (TAIL_UNITS, 2 * TAIL_UNITS));
        text.clear();
        text.push_str(&head);
        // Only units that are a single feature are used. A unit of another script may be several features and have
        // several votes.
        let single = |unit: &&str| unit.is_ascii() || unit.starts_with(is_ideograph);
        let units = generated.units.iter().map(|unit| generated.slice(unit));
        for unit in units.filter(single).take(TAIL_UNITS) {
            text.push_str(unit);
            if generated.language == Language::English {
                text.push(' ');
            }
        }
        out.write(&GeneratedDocument {
            id: &format!("c{i}"),
            lang: generated.language.tag(),
            base: None,
            text: &text,
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use twinprint_fingerprint::HashKey;
    use twinprint_text::{Analyzer, Profile};

    use super::*;

    #[test]
    fn one_word_decides_the_fingerprint() {
        let source = |id: &str, language, text: &str| Document::new(id.into(), language, text.into());
        let english = (0..600)
            .map(|i| format!("word{i} other{i}. "))
            .collect::<Vec<_>>()
            .concat();
        let chinese = ('一'..'丿')
            .map(|c| format!("{c}{c}甲乙。"))
            .collect::<Vec<_>>()
            .concat();
        let sources = [
            source("e", Language::English, &english),
            source("z", Language::Chinese, &chinese),
        ];
        let variation = Variation::new(&sources, 7).unwrap();
        let path = std::env::temp_dir().join(format!("twinprint-bench-crowded-{}", std::process::id()));
        let mut out = Output::create(&path).unwrap();
        crowded(&variation, 50, &mut out).unwrap();
        out.finish().unwrap();
        let lines = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let profile = Profile::parse("tp1-words-tf-128").unwrap();
        let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
        let mut texts = std::collections::HashSet::new();
        let mut fingerprints = std::collections::HashSet::new();
        for line in lines.lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = record["text"].as_str().unwrap().to_owned();
            fingerprints.insert(analyzer.analyze(&text).fingerprint);
            texts.insert(text);
        }
        assert_eq!((texts.len(), fingerprints.len()), (50, 1));
    }
}
