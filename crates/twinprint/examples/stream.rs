//! Places a stream of documents, and tells what one costs as the stream grows: tab-separated rows of documents, microseconds a document
//! since the row before (of processor time where the system tells it), live groups, live stories, and megabytes held at most so far.
//!
//! cargo run --release -p twinprint --features stream --example stream -- WHAT [DOCUMENTS]
//!
//! WHAT is a file of rows with "text", or one of these, made up:
//! * `subjects`: documents on many subjects, a new one every ten documents, each alive for some days; a fifth of the documents repeat one
//!   of the last thousand with a word changed;
//! * `alive`: documents that have little in common, none of which ends;
//! * `template`: pages of one site, all but a few words alike;
//! * `edge`: pages of one site of which every sixth word is another, too far from each other to be duplicates and too near to be told apart quickly;
//! * `word`: one word, repeated; `empty`: nothing, or signs only;
//! * `backwards`: as `subjects`, each document an hour before the last.
//!
//! Documents come a minute apart. Stories end after a week without news, groups after a month, as a news stream would have it.
#![expect(clippy::print_stdout, reason = "it has nothing else to say")]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Instant;

use twinprint::peak_memory;
use twinprint::stream::{Document, Stream, StreamOptions};

const DAY: i64 = 86_400;

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    /// A word of all texts: the frequent ones come up more often.
    fn common(&mut self) -> u64 {
        self.below(200) * self.below(200) + self.below(20)
    }

    /// A text of 150 words, a third of them of its subject.
    fn text(&mut self, subject: u64) -> String {
        let word = |draw: &mut Self| match draw.below(3) {
            0 => format!("s{}x{} ", subject, draw.below(30)),
            _ => format!("w{} ", draw.common()),
        };
        (0..150).map(|_| word(self)).collect()
    }
}

/// Where texts come from.
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
    fn new(what: &str) -> std::io::Result<Self> {
        let mut draw = Draw(1);
        Ok(match what {
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

    /// The text of document `i`; nothing at the end of a file.
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

/// Nanoseconds that this thread has run, where the system tells; else those gone by.
fn clock(began: Instant) -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let run = told.and_then(|told| told.split(' ').next()?.parse().ok());
    run.unwrap_or_else(|| began.elapsed().as_nanos() as u64)
}

/// 1, 2, 5, 10, …
fn after(n: u64) -> u64 {
    let leading = n / 10u64.pow(n.ilog10());
    if leading == 2 { n / 2 * 5 } else { n * 2 }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let what = std::env::args().nth(1).unwrap_or_else(|| "subjects".to_owned());
    let documents: u64 = std::env::args().nth(2).map_or(Ok(100_000), |n| n.parse())?;
    let mut options = StreamOptions::new()?;
    if what != "alive" {
        options.groups.window = Some(30 * DAY);
        options.stories.window = Some(7 * DAY);
    }
    let mut stream = Stream::new(options);
    let mut preparer = stream.preparer();
    let mut texts = Texts::new(&what)?;
    let mut next = 1000;
    let (began, mut spent, mut last) = (Instant::now(), 0, 0);
    println!("documents\tmicroseconds\tgroups\tstories\tmegabytes");
    for i in 1..=documents {
        let Some(text) = texts.next(i) else {
            break;
        };
        let step = if what == "backwards" { -3600 } else { 60 };
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
            next = after(next);
            (spent, last) = (0, i);
        }
    }
    Ok(())
}
