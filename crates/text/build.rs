//! Makes the shipped dictionary's trie, so that a program starts with it: three tables of little-endian numbers.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

#[path = "src/segment/dictionary/node.rs"]
#[expect(dead_code, reason = "the reader's part")]
mod node;
#[path = "src/segment/dictionary/writer.rs"]
mod writer;

const WORDS: &str = "dictionary/jieba.dict.txt";

fn main() -> Result<(), Box<dyn Error>> {
    for path in [
        WORDS,
        "build.rs",
        "src/segment/dictionary/node.rs",
        "src/segment/dictionary/writer.rs",
    ] {
        println!("cargo::rerun-if-changed={path}");
    }
    let text = fs::read_to_string(WORDS)?;
    let mut words = Vec::new();
    let mut total = 0u64;
    for line in text.lines() {
        let mut parts = line.split(' ');
        let word = parts.next().unwrap_or_default();
        let frequency: u64 = parts.next().unwrap_or_default().parse()?;
        total += frequency;
        // Only runs of these are looked up. (Words of other characters count in the total.)
        if word.chars().all(|c| matches!(c, '\u{4E00}'..='\u{9FFF}')) {
            words.push((word, frequency));
        }
    }
    let written = writer::write(&words).map_err(|writer::TooLarge(why)| why)?;
    let out = env::var("OUT_DIR")?;
    let write = |name: &str, bytes: Vec<u8>| fs::write(Path::new(&out).join(name), bytes);
    let characters = written.characters.iter().map(|&c| u32::from(c).to_le_bytes());
    write("characters", characters.flatten().collect())?;
    // The total first, then the frequency of each number.
    let frequencies = std::iter::once(&total)
        .chain(&written.weights)
        .map(|n| n.to_le_bytes());
    write("frequencies", frequencies.flatten().collect())?;
    let nodes = written.nodes.iter().map(|node| node.to_le_bytes());
    write("nodes", nodes.flatten().collect())?;
    Ok(())
}
