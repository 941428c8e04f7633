//! Pages of templates, and pairs of near-duplicates that have nothing in common with them.
//!
//! A crowd is a template and many pages, each with some words of the template exchanged. The other documents are pairs of
//! a base and its copy, at a Jaccard from 0.8 to 0.9. A search must find these pairs beside any crowd.

use std::ops::RangeInclusive;

use super::TruePair;
use super::output::{GeneratedDocument, Output};
use super::variation::Variation;
use crate::documents::Document;
use crate::truth::Truth;

/// The Jaccard of a base and its copy.
const PAIR_JACCARD: RangeInclusive<f64> = 0.8..=0.9;
/// The number of documents of a crowd in the numbering of [`Variation::document`]: its template.
const TEMPLATES_FROM: u64 = 1 << 40;
/// The number of the first page in the numbering of [`Variation::rng`].
const PAGES_FROM: u64 = 1 << 41;

/// Options of the corpus.
#[derive(Clone, Debug)]
pub struct TemplateOptions {
    /// Number of pairs.
    pub pairs: u64,
    /// Number of crowds.
    pub crowds: u64,
    /// Number of pages in each crowd.
    pub pages: u64,
    /// The smallest and the largest number of words that a page exchanges.
    pub exchanged: RangeInclusive<usize>,
    /// Number of words of each document.
    pub words: usize,
}

/// A document before it is written.
#[derive(Clone, Copy)]
enum Part {
    Base(u64),
    Copy(u64),
    Page { crowd: u64, page: u64 },
}

/// Writes the documents in random order, and the pairs.
pub fn templates(
    variation: &Variation<'_>,
    options: &TemplateOptions,
    out: &mut Output,
    pairs: &mut Output,
) -> anyhow::Result<()> {
    let mut truth = Truth::default();
    let bases = (0..options.pairs).flat_map(|i| [Part::Base(i), Part::Copy(i)]);
    let pages =
        (0..options.crowds).flat_map(|crowd| (0..options.pages).map(move |page| Part::Page { crowd, page }));
    let mut parts: Vec<Part> = bases.chain(pages).collect();
    variation.rng(0, 4).shuffle(&mut parts);
    let crowds: Vec<Document> = (0..options.crowds)
        .map(|crowd| {
            cut(
                variation.document(TEMPLATES_FROM + crowd, |_| length(options.words)),
                options.words,
            )
        })
        .collect();
    for part in parts {
        let (id, document, text) = match part {
            Part::Base(i) => {
                let base = base(variation, i, options.words);
                let text = base.text.clone();
                (format!("p{i}a"), base, text)
            }
            Part::Copy(i) => {
                let base = base(variation, i, options.words);
                let (text, jaccard) = copy(variation, i, &base, &mut truth)?;
                let (a, b) = (format!("p{i}a"), format!("p{i}b"));
                pairs.write(&TruePair {
                    a,
                    b: b.clone(),
                    jaccard,
                })?;
                (b, base, text)
            }
            Part::Page { crowd, page } => {
                let template = &crowds[crowd as usize];
                let mut rng = variation.rng(PAGES_FROM + crowd * options.pages + page, 5);
                let most = (*options.exchanged.end()).min(template.units.len());
                let count = rng.usize(*options.exchanged.start()..=most);
                let mut places: Vec<usize> = (0..template.units.len()).collect();
                rng.shuffle(&mut places);
                let text = exchange(variation, template, &places[..count], &mut rng);
                (format!("c{crowd}-{page}"), template.clone(), text)
            }
        };
        out.write(&GeneratedDocument {
            id: &id,
            lang: document.language.tag(),
            base: None,
            text: &text,
        })?;
    }
    Ok(())
}

/// The smallest and the largest number of words of a document before it is cut to `words`.
fn length(words: usize) -> (usize, usize) {
    (words * 3 / 2, words * 2)
}

/// The first `words` words of a document.
fn cut(document: Document, words: usize) -> Document {
    let end = document
        .units
        .get(words - 1)
        .map_or(document.text.len(), |unit| unit.end as usize);
    Document::new(document.id, document.language, document.text[..end].to_owned())
}

fn base(variation: &Variation<'_>, i: u64, words: usize) -> Document {
    cut(variation.document(i, |_| length(words)), words)
}

/// Exchanges words of a base one after the other, until its Jaccard is in the range and a random target is reached.
fn copy(
    variation: &Variation<'_>,
    i: u64,
    base: &Document,
    truth: &mut Truth,
) -> anyhow::Result<(String, f64)> {
    let mut rng = variation.rng(i, 6);
    let shingles = truth.shingles(&base.text);
    let (least, most) = (*PAIR_JACCARD.start(), *PAIR_JACCARD.end());
    let target = least + (most - least) * rng.f64();
    let mut places: Vec<usize> = (0..base.units.len()).collect();
    rng.shuffle(&mut places);
    let seed = rng.u64(..);
    let mut last = None;
    for count in 1..places.len() {
        let text = exchange(
            variation,
            base,
            &places[..count],
            &mut fastrand::Rng::with_seed(seed),
        );
        let jaccard = shingles.jaccard(&truth.shingles(&text));
        if jaccard < least {
            break;
        }
        if jaccard <= most {
            last = Some((text, jaccard));
        }
        if jaccard <= target {
            break;
        }
    }
    last.ok_or_else(|| {
        anyhow::anyhow!(
            "a document of {} words has no copy at a Jaccard of 0.8 to 0.9",
            base.units.len()
        )
    })
}

/// Exchanges the words at these places for random words of other documents.
fn exchange(
    variation: &Variation<'_>,
    document: &Document,
    places: &[usize],
    rng: &mut fastrand::Rng,
) -> String {
    let pool = variation.pool(document.language);
    let mut new: Vec<(usize, &str)> = places
        .iter()
        .map(|&place| {
            let source = pool[rng.usize(..pool.len())];
            (
                place,
                source.slice(&source.units[rng.usize(..source.units.len())]),
            )
        })
        .collect();
    new.sort_unstable();
    let mut text = String::with_capacity(document.text.len() + 64);
    let mut copied = 0;
    for (place, word) in new {
        let unit = &document.units[place];
        text.push_str(&document.text[copied..unit.start as usize]);
        text.push_str(word);
        copied = unit.end as usize;
    }
    text.push_str(&document.text[copied..]);
    text
}

#[cfg(test)]
mod tests {
    use crate::documents::Language;

    use super::*;

    #[test]
    fn pages_differ_from_their_template_in_few_words_and_pairs_have_their_jaccard() {
        let text: String = (0..900)
            .map(|i| format!("word{i} other{} more. ", i * 7))
            .collect();
        let sources = [Document::new("e".into(), Language::English, text)];
        let variation = Variation::new(&sources, 7).unwrap();
        let path =
            |name: &str| std::env::temp_dir().join(format!("twinprint-bench-{name}-{}", std::process::id()));
        let (docs, listed) = (path("templates"), path("template-pairs"));
        let (mut out, mut pairs) = (Output::create(&docs).unwrap(), Output::create(&listed).unwrap());
        let options = TemplateOptions {
            pairs: 20,
            crowds: 2,
            pages: 30,
            exchanged: 1..=3,
            words: 100,
        };
        templates(&variation, &options, &mut out, &mut pairs).unwrap();
        out.finish().unwrap();
        pairs.finish().unwrap();
        let mut texts = std::collections::HashMap::new();
        for line in std::fs::read_to_string(&docs).unwrap().lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let field = |name: &str| record[name].as_str().unwrap().to_owned();
            texts.insert(field("id"), field("text"));
        }
        assert_eq!(texts.len(), 100);
        let mut truth = Truth::default();
        let mut jaccard = |a: &str, b: &str| truth.shingles(&texts[a]).jaccard(&truth.shingles(&texts[b]));
        let lines = std::fs::read_to_string(&listed).unwrap();
        assert_eq!(lines.lines().count(), 20);
        for line in lines.lines() {
            let pair: TruePair = serde_json::from_str(line).unwrap();
            assert!(PAIR_JACCARD.contains(&pair.jaccard) && jaccard(&pair.a, &pair.b) == pair.jaccard);
        }
        // Six words exchanged change at most 18 of 98 shingles.
        assert!(jaccard("c0-1", "c0-2") >= 80.0 / 116.0);
        assert!(jaccard("c0-1", "c1-1") < 0.3);
        std::fs::remove_file(&docs).unwrap();
        std::fs::remove_file(&listed).unwrap();
    }
}
