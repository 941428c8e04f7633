//! Measures the speed of making fingerprints of whole texts on one thread, in MB/s, compared with peers: `fingerprints
//! FILE.jsonl…`.
//!
//! In every round each contender processes all texts once, so that a slow moment of the machine affects all of them.
//! The figure is the CPU time of the median round. The peers get the text unchanged; twinprint normalises it.

use std::path::PathBuf;

use bench::contender::{Contender, measure};
use bench::documents::{Language, read};
use bench::table::Table;
use clap::Parser;
use gaoya::simhash::{SimHash, SimSipHasher64};
use jieba_rs::Jieba;
use twinprint_fingerprint::HashKey;
use twinprint_text::{Analyzer, Profile};

#[derive(Parser)]
#[command(about = "Fingerprints a second on one thread, compared with peers")]
struct Cli {
    /// Documents: JSONL files with the fields id, lang and text.
    #[arg(required = true, value_name = "FILE")]
    docs: Vec<PathBuf>,
    /// Number of rounds. Each contender runs once in a round.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// Contenders that do the same work and are compared with each other.
struct Group {
    features: &'static str,
    /// The contenders. All others are compared with the first.
    contenders: Vec<Contender>,
}

fn ours(profile: &'static str) -> anyhow::Result<Contender> {
    let mut analyzer = Analyzer::new(&Profile::parse(profile)?, HashKey::PUBLIC);
    Ok(Contender::new(profile, move |text| {
        analyzer.fingerprint(text) as u64
    }))
}

/// Returns all windows of four consecutive characters.
fn windows(text: &str) -> impl Iterator<Item = &str> {
    let ends = text
        .char_indices()
        .map(|(at, _)| at)
        .skip(4)
        .chain(std::iter::once(text.len()));
    text.char_indices()
        .zip(ends)
        .map(|((start, _), end)| &text[start..end])
}

fn gaoya() -> SimHash<SimSipHasher64, u64, 64> {
    SimHash::new(SimSipHasher64::new(1, 2))
}

fn groups(language: Language) -> anyhow::Result<Vec<Group>> {
    let (by_window, by_word) = (gaoya(), gaoya());
    let mut groups = vec![
        Group {
            features: "4 characters",
            contenders: vec![
                Contender::new("gaoya SimHash", move |text| {
                    by_window.create_signature(windows(text))
                }),
                Contender::new("simhash", |text| simhash::simhash_stream(windows(text))),
                ours("tp1-chars4-tf-64")?,
                ours("tp1-chars4-lntf-64")?,
            ],
        },
        Group {
            features: "words split at spaces",
            contenders: vec![
                Contender::new("gaoya SimHash", move |text| {
                    by_word.create_signature(text.split_whitespace())
                }),
                Contender::new("simhash", simhash::simhash),
            ],
        },
    ];
    let words = ["tp1-words-tf-64", "tp1-words-lntf-64", "tp1-words-lntf-128"];
    for profile in words {
        match language {
            Language::English => groups[1].contenders.push(ours(profile)?),
            Language::Chinese if groups.len() == 2 => {
                let (plain, hmm) = (Jieba::new(), Jieba::new());
                groups.push(Group {
                    features: "words by dictionary",
                    contenders: vec![
                        Contender::new("jieba-rs cut alone", move |text| {
                            plain.cut(text, false).len() as u64
                        }),
                        Contender::new("jieba-rs cut alone, HMM", move |text| {
                            hmm.cut(text, true).len() as u64
                        }),
                        ours(profile)?,
                    ],
                });
            }
            Language::Chinese => groups[2].contenders.push(ours(profile)?),
        }
    }
    Ok(groups)
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    for path in &cli.docs {
        let documents = read(path)?;
        let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let name = path.file_name().unwrap_or_default().display();
        println!(
            "{name}: {} documents, {:.1} MB of text, one thread\n",
            documents.len(),
            bytes as f64 / 1e6
        );
        let mut table = Table::new(["features", "contender", "MB/s", "documents/s", "ratio"]);
        for mut group in groups(documents[0].language)? {
            let seconds = measure(&mut group.contenders, &texts, cli.rounds);
            for (contender, &own) in group.contenders.iter().zip(&seconds) {
                table.row([
                    group.features.to_owned(),
                    contender.name.clone(),
                    format!("{:.1}", bytes as f64 / own / 1e6),
                    format!("{:.0}", documents.len() as f64 / own),
                    format!("{:.2}", seconds[0] / own),
                ]);
            }
        }
        println!("{table}");
    }
    Ok(())
}
