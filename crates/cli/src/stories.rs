//! `twinprint collection stories`

use std::path::PathBuf;

use clap::ValueEnum;
use twinprint::collection::{Collection, StoryQuery};
use twinprint::stream::parse_time;

use crate::terminal;

/// Number of rows read from the collection at a time.
const PAGE_SIZE: usize = 500;

/// Writes the stories of a collection, one per line; the story with the latest document comes first
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of the collection
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Write the documents of this story instead, one per line
    #[arg(long, value_name = "ID", conflicts_with_all = ["state", "since", "until", "min_size", "limit"])]
    story: Option<u64>,

    /// Write only live stories, or only ended ones
    #[arg(long, value_enum, value_name = "STATE")]
    state: Option<StoryState>,

    /// Write only stories whose last document was seen at this time or later, such as 2024-05-01
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<i64>,

    /// Write only stories whose last document was seen at this time or earlier
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<i64>,

    /// Write only stories with at least this number of documents
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = crate::number::parse_count::<u64>)]
    min_size: u64,

    /// Largest number of stories to write
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = crate::number::parse_count::<usize>)]
    limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StoryState {
    Live,
    Ended,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let collection = Collection::open_read_only(&args.dir)?;
    let line = |value: &dyn Fn() -> serde_json::Result<String>| -> anyhow::Result<()> {
        terminal::out(&format!("{}\n", value()?))
    };
    if let Some(story) = args.story {
        let mut after = 0;
        loop {
            let part = collection.story(story, after, PAGE_SIZE)?;
            for member in &part.members {
                line(&|| serde_json::to_string(member))?;
            }
            match part.next_after {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }
    let mut query = StoryQuery {
        ended: args.state.map(|state| state == StoryState::Ended),
        since: args.since,
        until: args.until,
        min_size: args.min_size,
        ..StoryQuery::default()
    };
    let mut left = args.limit;
    while left > 0 {
        query.limit = left.min(PAGE_SIZE);
        let part = collection.stories(&query)?;
        for story in &part.stories {
            line(&|| serde_json::to_string(story))?;
        }
        left -= part.stories.len();
        query.after = part.next_after;
        if query.after.is_none() {
            break;
        }
    }
    Ok(())
}
