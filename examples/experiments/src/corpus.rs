//! Labelled documents: read from a labelled set, or generated.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;
use twinprint_fingerprint::HashKey;
use twinprint_text::overlap::{Shingler, overlap};
use twinprint_text::{Measure, canonical};

use crate::random::Random;
use crate::setup::{Setup, Size};

/// The labelled sets are packed with a window of up to 2²⁷ bytes.
const WINDOW_LOG: u32 = 27;
/// Pairs of generated documents are listed from this Jaccard up.
const LISTED_FROM: f64 = 0.3;
/// The number of words of the vocabulary of generated documents, and of each topic's own words.
const VOCABULARY: usize = 4000;
const TOPIC_WORDS: usize = 150;

/// A document with its label.
#[derive(Clone, Debug)]
pub struct Document {
    /// The id of the document.
    pub id: String,
    /// The text.
    pub text: String,
    /// The label: a topic, or the page of which the document is a revision.
    pub label: String,
}

/// A pair of documents, by their positions, with its Jaccard.
#[derive(Clone, Copy, Debug)]
pub struct LabelledPair {
    /// The position of the first document.
    pub a: usize,
    /// The position of the second document.
    pub b: usize,
    /// The Jaccard of the shingle sets.
    pub jaccard: f64,
}

/// Documents with the complete list of their pairs from Jaccard 0.3 up.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The name of the set.
    pub name: String,
    /// The documents.
    pub documents: Vec<Document>,
    /// The pairs.
    pub pairs: Vec<LabelledPair>,
}

#[derive(Deserialize)]
struct PairRow {
    a: String,
    b: String,
    jaccard: f64,
}

impl Corpus {
    /// Reads the first `limit` documents of a labelled set, or generates documents at small size and if the set does
    /// not exist. `label` is the field of the label.
    ///
    /// # Errors
    /// A file of the set cannot be read.
    pub fn labelled(setup: &Setup, name: &str, label: &str, limit: usize) -> Result<Self> {
        match &setup.data {
            Some(data) if setup.size == Size::Full => Self::read(data, name, label, limit),
            _ => Ok(Self::generated(setup.pick(240, 2000).min(limit), setup.seed)),
        }
    }

    fn read(data: &Path, name: &str, label: &str, limit: usize) -> Result<Self> {
        let mut documents = Vec::new();
        for row in json_lines::<Value>(&data.join(format!("{name}.docs.jsonl.zst")))? {
            let row = row?;
            let field = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            documents.push(Document {
                id: field("id"),
                text: field("text"),
                label: field(label),
            });
            if documents.len() == limit {
                break;
            }
        }
        let positions: HashMap<&str, usize> = documents
            .iter()
            .enumerate()
            .map(|(i, document)| (document.id.as_str(), i))
            .collect();
        let mut pairs = Vec::new();
        for row in json_lines::<PairRow>(&data.join(format!("{name}.pairs.jsonl.zst")))? {
            let row = row?;
            if let (Some(&a), Some(&b)) = (positions.get(row.a.as_str()), positions.get(row.b.as_str())) {
                let (a, b) = (a.min(b), a.max(b));
                pairs.push(LabelledPair {
                    a,
                    b,
                    jaccard: row.jaccard,
                });
            }
        }
        Ok(Self {
            name: name.to_owned(),
            documents,
            pairs,
        })
    }

    /// Generates documents of six topics. Two of three documents are edited copies of an earlier one.
    pub fn generated(n: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut texts: Vec<Vec<String>> = Vec::new();
        let mut labels: Vec<usize> = Vec::new();
        for i in 0..n {
            if i % 3 == 0 || texts.is_empty() {
                let topic = random.below(6);
                let words = 150 + random.below(250);
                texts.push((0..words).map(|_| word(&mut random, topic)).collect());
                labels.push(topic);
                continue;
            }
            let of = i - i % 3;
            let mut text = texts[of].clone();
            let edits = random.below(1 + text.len() / [50, 12][i % 2]);
            for _ in 0..edits {
                let at = random.below(text.len());
                text[at] = word(&mut random, labels[of]);
            }
            texts.push(text);
            labels.push(labels[of]);
        }
        let document = |(i, (words, topic)): (usize, (&Vec<String>, &usize))| Document {
            id: i.to_string(),
            text: words.join(" "),
            label: format!("topic {topic}"),
        };
        let documents: Vec<Document> = texts.iter().zip(&labels).enumerate().map(document).collect();
        let pairs = measured_pairs(&documents);
        Self {
            name: "generated".to_owned(),
            documents,
            pairs,
        }
    }

    /// The near-duplicate groups: each document has the number of the earliest one that it is connected to by pairs at a
    /// Jaccard of at least `threshold`.
    pub fn duplicate_groups(&self, threshold: f64) -> Vec<u32> {
        let mut groups: Vec<u32> = (0..self.documents.len() as u32).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for pair in self.true_pairs(threshold) {
                let least = groups[pair.a].min(groups[pair.b]);
                changed |= groups[pair.a] != least || groups[pair.b] != least;
                groups[pair.a] = least;
                groups[pair.b] = least;
            }
        }
        groups
    }

    /// The pairs at a Jaccard of at least `threshold`.
    pub fn true_pairs(&self, threshold: f64) -> impl Iterator<Item = LabelledPair> {
        self.pairs
            .iter()
            .copied()
            .filter(move |pair| pair.jaccard >= threshold)
    }

    /// Writes the documents and the pairs as JSON lines, for the jobs of the library, and returns the paths.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn write(&self, directory: &Path) -> Result<[PathBuf; 2]> {
        let [docs, pairs] = ["docs.jsonl", "pairs.jsonl"].map(|name| directory.join(name));
        let mut file = std::io::BufWriter::new(File::create(&docs)?);
        for document in &self.documents {
            let row = serde_json::json!({ "id": document.id, "text": document.text });
            writeln!(file, "{row}")?;
        }
        file.flush()?;
        let mut file = std::io::BufWriter::new(File::create(&pairs)?);
        for pair in &self.pairs {
            let [a, b] = [pair.a, pair.b].map(|i| &self.documents[i].id);
            let row = serde_json::json!({ "a": a, "b": b, "jaccard": pair.jaccard });
            writeln!(file, "{row}")?;
        }
        file.flush()?;
        Ok([docs, pairs])
    }
}

/// Reads the objects of a packed file of JSON lines.
///
/// # Errors
/// The file cannot be opened.
pub fn json_lines<T: serde::de::DeserializeOwned>(
    path: &Path,
) -> Result<impl Iterator<Item = Result<T>> + use<T>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut decoder = zstd::Decoder::new(file)?;
    decoder.window_log_max(WINDOW_LOG)?;
    Ok(BufReader::new(decoder)
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?)))
}

/// A word: of the topic's own words, or of the common ones, of which the first are the most frequent.
fn word(random: &mut Random, topic: usize) -> String {
    if random.below(3) == 0 {
        format!("t{topic}x{}", random.below(TOPIC_WORDS))
    } else {
        let share = random.unit();
        format!("w{}", (share * share * share * VOCABULARY as f64) as usize)
    }
}

fn measured_pairs(documents: &[Document]) -> Vec<LabelledPair> {
    let mut shingler = Shingler::new(HashKey::PUBLIC);
    let sets: Vec<Vec<u64>> = documents
        .iter()
        .map(|document| shingler.shingle(&canonical(&document.text), Measure::WordGrams))
        .collect();
    let mut pairs = Vec::new();
    for b in 0..sets.len() {
        for a in 0..b {
            let jaccard = overlap(&sets[a], &sets[b]).jaccard();
            if jaccard >= LISTED_FROM {
                pairs.push(LabelledPair { a, b, jaccard });
            }
        }
    }
    pairs
}
