//! Writes the trie of the bundled dictionary as three tables of little-endian numbers, which the library includes.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

#[path = "src/segment/dictionary/node.rs"]
#[expect(dead_code, reason = "the build script writes nodes, the library reads them")]
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
        let mut fields = line.split(' ');
        let word = fields.next().unwrap_or_default();
        let frequency: u64 = fields.next().unwrap_or_default().parse()?;
        total += frequency;
        // The segmenter looks up only runs of the characters U+4E00 to U+9FFF, so the trie has no other words. The
        // frequencies of the other words still count in the total.
        if word.chars().all(|c| matches!(c, '\u{4E00}'..='\u{9FFF}')) {
            words.push((word, frequency));
        }
    }
    let written = writer::write(&words).map_err(|writer::TooLarge(reason)| reason)?;
    let out = env::var("OUT_DIR")?;
    let write = |name: &str, bytes: Vec<u8>| fs::write(Path::new(&out).join(name), bytes);
    let characters = written.characters.iter().map(|&c| u32::from(c).to_le_bytes());
    write("characters", characters.flatten().collect())?;
    // The file `frequencies`: the sum of all frequencies, then the frequency that each weight number stands for.
    let frequencies = std::iter::once(&total)
        .chain(&written.weights)
        .map(|n| n.to_le_bytes());
    write("frequencies", frequencies.flatten().collect())?;
    let nodes = written.nodes.iter().map(|node| node.to_le_bytes());
    write("nodes", nodes.flatten().collect())?;
    Ok(())
}
