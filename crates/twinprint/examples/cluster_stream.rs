//! Clusters a stream of documents, one at a time: duplicate groups, and stories with topics.
//!
//! ```text
//! cargo run -p twinprint --features stream --example cluster_stream -- [FILE.jsonl]
//! ```
//!
//! Each line of FILE.jsonl is an object with `text` and optionally `time` in seconds since 1970. Without an argument the
//! example clusters five built-in reports.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

use serde_json::{Value, json};
use twinprint::stream::{Document, Stream, StreamOptions};

const DAY: i64 = 86_400;

fn main() -> Result<(), Box<dyn Error>> {
    let reports = match std::env::args().nth(1) {
        Some(path) => {
            let lines = BufReader::new(File::open(path)?).lines();
            lines
                .map(|line| Ok(serde_json::from_str(&line?)?))
                .collect::<Result<_, Box<dyn Error>>>()?
        }
        None => sample_reports(),
    };
    run(&reports, &mut io::stdout())
}

/// Places the reports in order and prints the group and the story of each, then the topics.
pub(crate) fn run(reports: &[Value], output: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let mut options = StreamOptions::new()?;
    // Memory depends on the live groups and stories only: groups end after a month without a new member, stories after
    // a week.
    options.groups.window = Some(30 * DAY);
    options.stories.window = Some(7 * DAY);
    let mut stream = Stream::new(options);

    for (number, report) in reports.iter().enumerate() {
        let name = number.to_string();
        let placed = stream.add(&Document {
            name: &name,
            text: report["text"].as_str().unwrap_or_default(),
            time: report["time"].as_i64(),
            ..Document::default()
        });
        let kind = if placed.is_new() { "new" } else { "duplicate" };
        writeln!(
            output,
            "{name}: {kind}, group {}, story {}",
            placed.group, placed.story
        )?;
    }

    for story in stream.stories() {
        let topic = stream.topic(story);
        let terms: Vec<&str> = topic.terms.iter().map(|term| term.text.as_str()).collect();
        writeln!(
            output,
            "story {} of {}: {}",
            story.id,
            story.size,
            terms.join(", ")
        )?;
    }
    // A long-running process takes the ended groups and stories from time to time, to store them or drop them.
    let (_groups, _stories) = stream.take_retired();
    Ok(())
}

/// Two reports of one event, a copy of the first, and two reports of another event.
pub(crate) fn sample_reports() -> Vec<Value> {
    [
        "The city council voted on Tuesday evening to extend the tram line from the old harbour to the university campus.",
        "The city council voted on Tuesday evening to extend the tram line from the old harbour to the university campus. (Reuters)",
        "Students welcomed the tram line to the university campus: the council had debated the extension for eleven years.",
        "Heavy rain closed three mountain roads, and drivers were asked to stay at home until the morning.",
        "The mountain roads that heavy rain had closed were open again to drivers in the morning.",
    ]
    .into_iter()
    .zip(0..)
    .map(|(text, hour)| json!({"text": text, "time": hour * 3600}))
    .collect()
}
