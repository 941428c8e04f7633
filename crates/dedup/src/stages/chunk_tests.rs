//! A set join in many chunks finds the pairs of a join in one, in both languages and with fringe members.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::tests::{Run, random};
use crate::options::{Auto, ClusterFiles, DedupOptions, Keep, PairRows};

/// The bytes of a task. An index of so few bytes has one slice of members in each chunk.
const MEMORY: u64 = 1 << 17;
const DOCUMENTS: usize = 1600;

/// Texts of 12 to 75 English words, of as many Chinese characters, and English texts with a few Chinese characters, which take
/// part in both joins. A third are an earlier text with one other word or character.
fn write_corpus(dir: &Path) {
    let mut random = random(11);
    let english = |number: u64| format!("w{number} ");
    let chinese =
        |number: u64| char::from_u32(0x4e00 + number as u32 % 3000).map_or_else(String::new, String::from);
    let mut texts: Vec<Vec<String>> = Vec::new();
    let mut lines = String::new();
    for number in 0..DOCUMENTS {
        let words = 12 + random(64);
        let kind = random(6);
        let copied = random(texts.len().max(1) as u64) as usize;
        let few = [random(9), random(9)];
        let numbers: Vec<u64> = (0..words).map(|_| random(3000)).collect();
        let mut text: Vec<String> = match kind {
            0 | 1 if !texts.is_empty() => texts[copied].clone(),
            2 | 3 => numbers.into_iter().map(chinese).collect(),
            4 => numbers.into_iter().map(english).chain(few.map(chinese)).collect(),
            _ => numbers.into_iter().map(english).collect(),
        };
        let at = random(text.len() as u64) as usize;
        let other = random(3000);
        text[at] = if text[at].is_ascii() {
            english(other)
        } else {
            chinese(other)
        };
        writeln!(lines, r#"{{"id": "{number}", "text": "{}"}}"#, text.concat()).unwrap();
        texts.push(text);
    }
    fs::write(dir.join("texts.jsonl"), lines).unwrap();
}

#[test]
fn chunks_find_the_pairs_of_one_join() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    write_corpus(&corpus);
    let default = DedupOptions {
        clusters: ClusterFiles::Jsonl,
        pairs: PairRows::All,
        ..DedupOptions::new().unwrap()
    };
    let exact = DedupOptions {
        keep: Keep::Longest,
        ..default.clone()
    };
    // With a radius, only short texts are core members.
    let joined = DedupOptions {
        hamming: Auto::Fixed(4),
        ..default
    };
    for options in [exact, joined] {
        let files = Run::new(&corpus, &options, dir.path()).is_equal_everywhere(MEMORY, 1);
        let pairs = files[Path::new("pairs.jsonl")].lines().count();
        assert!(pairs > 300, "{pairs} pairs");
    }
}
