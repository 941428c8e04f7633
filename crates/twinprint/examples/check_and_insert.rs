//! Checks whether pages are new to a collection, and stores them in the same step, as a crawler does.
//!
//! ```text
//! cargo run -p twinprint --features collections --example check_and_insert -- [COLLECTION [FILE…]]
//! ```
//!
//! COLLECTION is a directory, created if it does not exist. Each FILE is one page, whose id is its path. Without FILE
//! the example adds three built-in pages, and without COLLECTION it uses a temporary collection.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use twinprint::collection::{Collection, Content, Details, Durability, NewDocument, Settings, Verdict};

fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let mut arguments = std::env::args().skip(1);
    let directory = arguments
        .next()
        .map_or_else(|| temporary.path().join("pages"), PathBuf::from);
    let mut pages = Vec::new();
    for path in arguments {
        let text = fs::read_to_string(&path)?;
        pages.push((path, text));
    }
    if pages.is_empty() {
        pages = sample_pages();
    }
    run(&directory, pages, &mut io::stdout())
}

/// Adds pages to the collection in `directory`. A page is a pair of an id and a text.
pub(crate) fn run(
    directory: &Path,
    pages: Vec<(String, String)>,
    output: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let collection = if Collection::is_at(directory) {
        Collection::open(directory)?
    } else {
        Collection::create(directory, Settings::default())?
    };

    let documents = pages.into_iter().map(|(id, text)| NewDocument {
        id,
        content: Content::Text(text),
        details: Details::default(),
        ttl: None,
    });
    // One call is one transaction: each document is compared with those before it, too. With `Synced`, the call returns
    // when the documents are on the disk. `false` stores duplicates as well, as members of the group that they belong
    // to.
    for answer in collection.add(documents.collect(), false, Durability::Synced)? {
        let answer = answer?;
        match (answer.verdict, &answer.best) {
            (Verdict::Updated, _) => writeln!(output, "{}: updated", answer.id)?,
            (Verdict::New, _) | (_, None) => writeln!(output, "{}: new", answer.id)?,
            (Verdict::Exact, Some(best)) => writeln!(output, "{}: a copy of {}", answer.id, best.id)?,
            (Verdict::Near, Some(best)) => writeln!(
                output,
                "{}: near {}, {} bits, Jaccard {:.2}",
                answer.id,
                best.id,
                best.hamming,
                best.jaccard.unwrap_or_default()
            )?,
        }
    }
    Ok(())
}

/// A page, a near-duplicate of it, and an unrelated page.
pub(crate) fn sample_pages() -> Vec<(String, String)> {
    let council = "The city council voted on Tuesday evening to extend the tram line from the old harbour to the university campus.";
    let rain = "Heavy rain closed three mountain roads, and the council asked drivers to stay at home until the morning.";
    [
        ("https://a.example/tram", council.to_owned()),
        ("https://b.example/tram", format!("{council} (Reuters)")),
        ("https://a.example/rain", rain.to_owned()),
    ]
    .map(|(id, text)| (id.to_owned(), text))
    .to_vec()
}
