//! Places made-up documents in a stream, and tells what one costs as the stream grows: tab-separated rows of documents, microseconds a
//! document since the row before, live groups, live stories, and megabytes held.
//!
//! cargo run --release -p twinprint --features stream --example stream -- 1000000
//!
//! Documents come a minute apart on one of many subjects, a new one every ten documents, each alive for some days; a fifth of the documents
//! repeat one of the last thousand with a word changed. Stories end after a week without news, groups after a month, as a news stream would have it.
#![expect(clippy::print_stdout, reason = "it has nothing else to say")]

use std::time::Instant;

use twinprint::peak_memory;
use twinprint::stream::{Document, Stream, StreamOptions};

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

fn main() {
    let argument = |n: usize, default: u64| {
        std::env::args()
            .nth(n)
            .and_then(|n| n.parse().ok())
            .unwrap_or(default)
    };
    let documents = argument(1, 100_000);
    let days = argument(2, 30);
    let Ok(mut options) = StreamOptions::new() else {
        return;
    };
    options.groups.window = Some(days as i64 * 86_400);
    options.stories.window = Some(days as i64 * 86_400 / 4);
    let mut stream = Stream::new(options);
    let mut preparer = stream.preparer();
    let mut draw = Draw(1);
    let mut recent: Vec<String> = Vec::new();
    let mut next = 1000;
    let (mut last, mut since) = (0, Instant::now());
    println!("documents\tmicroseconds\tgroups\tstories\tmegabytes");
    for i in 1..=documents {
        let text = if draw.below(5) == 0 && !recent.is_empty() {
            let of = draw.below(recent.len() as u64) as usize;
            recent[of].replacen('w', "v", 1)
        } else {
            let age = draw.below(20) * draw.below(20);
            draw.text((i / 10).saturating_sub(age))
        };
        let prepared = preparer.prepare(&Document {
            name: "made up",
            text: &text,
            time: Some(i as i64 * 60),
            ..Document::default()
        });
        stream.place(&prepared);
        stream.take_retired();
        let at = (i % 1000) as usize;
        if at < recent.len() {
            recent[at] = text;
        } else {
            recent.push(text);
        }
        if i == next || i == documents {
            let micros = since.elapsed().as_secs_f64() * 1e6 / (i - last) as f64;
            let megabytes = peak_memory().unwrap_or(0) >> 20;
            let (groups, stories) = (stream.groups().len(), stream.stories().len());
            println!("{i}\t{micros:.1}\t{groups}\t{stories}\t{megabytes}");
            // 1, 2, 5, 10, …
            next = if next.to_string().starts_with('2') {
                next / 2 * 5
            } else {
                next * 2
            };
            (last, since) = (i, Instant::now());
        }
    }
}
