//! Measures the cost of placing a document as a stream grows. Prints tab-separated rows: number of documents,
//! microseconds per document since the row before (processor time on Linux, wall time elsewhere), live groups, live
//! stories, and peak memory in megabytes.
//!
//! ```text
//! cargo bench -p twinprint --features stream --bench stream -- SOURCE [DOCUMENTS]
//! ```
//!
//! SOURCE is a file of JSONL rows with a field `text`, or one of these generated streams:
//! * `subjects`: documents on many subjects. A new subject begins every ten documents, and each is live for some days. A
//!   fifth of the documents repeat one of the last thousand documents with one word changed.
//! * `alive`: documents that have little in common. No story ends.
//! * `template`: pages of one site that differ in a few words.
//! * `edge`: pages of one site that differ in every sixth word: too different to be duplicates, and too similar to be
//!   rejected quickly.
//! * `word`: one word, repeated.
//! * `empty`: empty texts, or punctuation only.
//! * `backwards`: like `subjects`, but each document is an hour older than the one before.
//!
//! Except in `backwards`, a document is a minute later than the one before. Stories end after a week without a new
//! document, groups after a month.
#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Instant;

use twinprint::peak_memory;
use twinprint::stream::{Document, Stream, StreamOptions};

const DAY: i64 = 86_400;

/// The random-number generator SplitMix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    /// Draws a word from those that all subjects share. Words with low numbers are more frequent.
    fn common(&mut self) -> u64 {
        self.below(200) * self.below(200) + self.below(20)
    }

    /// Makes a text of 150 words, a third of which belong to the subject.
    fn text(&mut self, subject: u64) -> String {
        let word = |draw: &mut Self| match draw.below(3) {
            0 => format!("s{}x{} ", subject, draw.below(30)),
            _ => format!("w{} ", draw.common()),
        };
        (0..150).map(|_| word(self)).collect()
    }
}

/// A source of the texts of a stream.
enum Texts {
    File(BufReader<File>),
    Subjects { draw: Draw, recent: Vec<String> },
    Alive(Draw),
    Template(Draw, String),
    Edge(Draw, Vec<String>),
    Word,
    Empty,
}

impl Texts {
    fn new(source: &str) -> std::io::Result<Self> {
        let mut draw = Draw(1);
        Ok(match source {
            "subjects" | "backwards" => Self::Subjects {
                draw,
                recent: Vec::new(),
            },
            "alive" => Self::Alive(draw),
            "template" => {
                let text = draw.text(0);
                Self::Template(draw, text)
            }
            "edge" => {
                let words = draw.text(0);
                Self::Edge(draw, words.split(' ').map(str::to_owned).collect())
            }
            "word" => Self::Word,
            "empty" => Self::Empty,
            path => Self::File(BufReader::with_capacity(1 << 20, File::open(path)?)),
        })
    }

    /// The text of document `i`; `None` after the last row of a file.
    fn next(&mut self, i: u64) -> Option<String> {
        Some(match self {
            Self::File(rows) => {
                let mut row = String::new();
                rows.read_line(&mut row).ok().filter(|&read| read > 0)?;
                let row: serde_json::Value = serde_json::from_str(&row).ok()?;
                row.get("text")?.as_str()?.to_owned()
            }
            Self::Subjects { draw, recent } => {
                let text = if draw.below(5) == 0 && !recent.is_empty() {
                    let of = draw.below(recent.len() as u64) as usize;
                    recent[of].replacen('w', "v", 1)
                } else {
                    let age = draw.below(20) * draw.below(20);
                    draw.text((i / 10).saturating_sub(age))
                };
                let at = (i % 1000) as usize;
                if at < recent.len() {
                    recent[at].clone_from(&text);
                } else {
                    recent.push(text.clone());
                }
                text
            }
            Self::Alive(draw) => draw.text(i),
            Self::Template(draw, text) => format!("{text} page {i} of {} {}", draw.below(9), draw.common()),
            Self::Edge(draw, words) => {
                let mut word = |word: &String| match draw.below(6) {
                    0 => format!("x{} ", draw.below(100_000)),
                    _ => format!("{word} "),
                };
                words.iter().map(&mut word).collect()
            }
            Self::Word => "spam ".repeat(1 + (i % 200) as usize),
            Self::Empty => ["", "…!", "—", " \n"][(i % 4) as usize].to_owned(),
        })
    }
}

/// Processor time of this thread in nanoseconds on Linux; elsewhere the wall time since `began`.
fn clock(began: Instant) -> u64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let run = statistics.and_then(|text| text.split(' ').next()?.parse().ok());
    run.unwrap_or_else(|| began.elapsed().as_nanos() as u64)
}

/// The number after `n` in the series 1, 2, 5, 10, …
fn next_row(n: u64) -> u64 {
    let leading = n / 10u64.pow(n.ilog10());
    if leading == 2 { n / 2 * 5 } else { n * 2 }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo bench` adds the argument `--bench`, which is ignored.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let source = arguments.next().unwrap_or_else(|| "subjects".to_owned());
    let documents: u64 = arguments.next().map_or(Ok(100_000), |n| n.parse())?;
    let mut options = StreamOptions::new()?;
    if source != "alive" {
        options.groups.window = Some(30 * DAY);
        options.stories.window = Some(7 * DAY);
    }
    let mut stream = Stream::new(options);
    let mut preparer = stream.preparer();
    let mut texts = Texts::new(&source)?;
    let mut next = 1000;
    let (began, mut spent, mut last) = (Instant::now(), 0, 0);
    println!("documents\tmicroseconds\tgroups\tstories\tmegabytes");
    for i in 1..=documents {
        let Some(text) = texts.next(i) else {
            break;
        };
        let step = if source == "backwards" { -3600 } else { 60 };
        let before = clock(began);
        let prepared = preparer.prepare(&Document {
            name: "one",
            text: &text,
            time: Some(i as i64 * step),
            ..Document::default()
        });
        stream.place(&prepared);
        stream.take_retired();
        spent += clock(began) - before;
        if i == next || i == documents {
            let micros = spent as f64 / 1e3 / (i - last) as f64;
            let megabytes = peak_memory().unwrap_or(0) >> 20;
            let (groups, stories) = (stream.groups().len(), stream.stories().len());
            println!("{i}\t{micros:.1}\t{groups}\t{stories}\t{megabytes}");
            next = next_row(next);
            (spent, last) = (0, i);
        }
    }
    Ok(())
}
