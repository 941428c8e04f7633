//! Builds an index of fingerprints on disk, queries it, and deletes from it.
//!
//! ```text
//! cargo run -p twinprint --example index_build_query -- [DIRECTORY [QUERY]]
//! ```
//!
//! The example indexes the fingerprints of four headlines and searches for headlines similar to QUERY, a text. DIRECTORY
//! must be new or empty; without it, the index is made in a temporary directory. An index stores ids and fingerprints,
//! but no texts: the caller stores the text of each id.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use twinprint::segment::{Codec, Scratch};
use twinprint::store::{self, Index, Options, Settings};
use twinprint::{Analyzer, Features, HashKey, Profile, Weight};

/// The maximum number of differing bits of two fingerprints that match.
const RADIUS: u32 = 12;

/// The documents. The id of a document is its position in this list.
pub(crate) const HEADLINES: [&str; 4] = [
    "council votes to extend the tram line from the old harbour to the university campus",
    "council votes to extend the tram line from the old harbour to the main university campus",
    "heavy rain closes three mountain roads until the morning",
    "the ferry to the northern islands runs every other hour until the end of the season",
];

fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let mut arguments = std::env::args().skip(1);
    let directory = arguments
        .next()
        .map_or_else(|| temporary.path().join("index"), PathBuf::from);
    let query = arguments.next().unwrap_or_else(|| HEADLINES[0].to_owned());
    run(&directory, &query, &mut io::stdout())
}

/// Builds the index in `directory`, and looks up documents near `query` before and after a deletion.
pub(crate) fn run(directory: &Path, query: &str, output: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    // A profile defines how texts become fingerprints. The index stores its id, because only fingerprints of the same
    // profile can be compared.
    let profile = Profile::new(Features::Words, Weight::LogTf, 64)?;
    let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
    let settings = Settings {
        radius: RADIUS,
        codec: Codec::default(),
        label: profile.id(),
    };

    let index = Index::<u64>::create(directory, &settings, &Options::default())?;
    for (id, headline) in (0..).zip(HEADLINES) {
        index.add(id, analyzer.fingerprint(headline) as u64)?;
    }
    // Added fingerprints are found at once, but they are durable only after the commit.
    index.commit()?;
    list_matches(&index.snapshot(), analyzer.fingerprint(query) as u64, output)?;

    index.delete(1)?;
    index.commit()?;
    writeln!(output, "after the deletion of 1:")?;
    // Other processes see the state of the last commit, while the writer continues.
    let committed = store::read::<u64>(directory)?;
    list_matches(&committed.snapshot, analyzer.fingerprint(query) as u64, output)
}

/// Lists the ids within the radius of `query`, the nearest first.
fn list_matches(
    snapshot: &store::Snapshot<u64>,
    query: u64,
    output: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let mut matches = Vec::new();
    snapshot.lookup(query, RADIUS, &mut Scratch::default(), |id, _, distance| {
        matches.push((distance, id));
    })?;
    matches.sort_unstable();
    for (distance, id) in matches {
        writeln!(output, "{distance} bits: {id}")?;
    }
    Ok(())
}
