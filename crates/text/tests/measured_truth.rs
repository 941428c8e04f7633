//! Jaccard and containment compared with measured values: every listed pair of four data sets, to four decimal places.
//!
//! Without the data the test prints a note and passes.
#![expect(clippy::unwrap_used, reason = "a test: it may panic")]

mod shared;

use std::collections::HashMap;

use shared::{data, records};
use twinprint_fingerprint::HashKey;
use twinprint_text::overlap::{Shingler, overlap};
use twinprint_text::{Measure, canonical};

/// The measure and the shingle sets of a document. Each set is computed on first use.
struct Document {
    canonical: String,
    measure: Measure,
    sets: HashMap<Measure, Vec<u64>>,
}

impl Document {
    fn set(&mut self, measure: Measure, shingler: &mut Shingler) -> &[u64] {
        self.sets
            .entry(measure)
            .or_insert_with(|| shingler.shingle(&self.canonical, measure))
    }
}

fn check(name: &str) {
    let Some(data) = data() else { return };
    let mut documents: HashMap<String, Document> = records(&data.join(format!("{name}.docs.jsonl.zst")))
        .iter()
        .map(|record| {
            let canonical = canonical(record["text"].as_str().unwrap());
            let id = record["id"].as_str().unwrap().to_owned();
            // The data distinguish Chinese from all other scripts. They do not treat kana as a script without spaces.
            let measure = match record["lang"].as_str() {
                Some("zh") => Measure::CharGrams,
                _ => Measure::WordGrams,
            };
            let kana = canonical.contains(|c| matches!(c, '\u{3040}'..='\u{30FF}'));
            assert!(
                kana || Measure::of(&canonical) == measure,
                "{id} has another measure in the data"
            );
            (
                id,
                Document {
                    canonical,
                    measure,
                    sets: HashMap::new(),
                },
            )
        })
        .collect();
    let mut shingler = Shingler::new(HashKey::PUBLIC);
    let pairs = records(&data.join(format!("{name}.pairs.jsonl.zst")));
    let mut off = Vec::new();
    for pair in &pairs {
        let [a, b] = ["a", "b"].map(|side| pair[side].as_str().unwrap());
        let measure = documents[a].measure.with(documents[b].measure);
        let left = documents.get_mut(a).unwrap().set(measure, &mut shingler).to_vec();
        let found = overlap(&left, documents.get_mut(b).unwrap().set(measure, &mut shingler));
        for (name, value) in [("jaccard", found.jaccard()), ("containment", found.containment())] {
            let expected = pair[name].as_f64().unwrap();
            if (value - expected).abs() > 0.000_051 {
                off.push(format!("{name} {value:.4}, measured {expected}: {a} / {b}"));
            }
        }
    }
    assert!(!pairs.is_empty());
    assert!(
        off.is_empty(),
        "{} of {} pairs:\n{}",
        off.len(),
        pairs.len(),
        off.join("\n")
    );
}

#[test]
fn revisions_zh() {
    check("revisions-zh");
}

#[test]
fn revisions_en() {
    check("revisions-en");
}

#[test]
fn newswire_en() {
    check("newswire-en");
}

#[test]
fn webpages_en() {
    check("webpages-en");
}
