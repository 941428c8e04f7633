//! `twinprint collection`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Subcommand, ValueHint};
use serde_json::json;
use twinprint::ProfileLabel;
use twinprint::collection::{
    Answer, CanonicalBy, Collection, CollectionError, Document, Durability, InputRecord, NewDocument,
    RepairReport, Settings, StoredContent,
};

use crate::answers::{AnswerArgs, Answers, Purpose, StoreArgs};
use crate::choice::by_name;
use crate::cluster::EmptyArg;
use crate::fingerprint_output::{FileRows, FingerprintFile};
use crate::input::InputArgs;
use crate::own_input::refuse_own_input;
use crate::profile::{DEFAULT_PROFILE, width_named};
use crate::story_args::StoryArgs;
use crate::usage::UsageError;
use crate::{interrupt, number, stories, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint collection create pages
      makes a collection in the directory pages/; --help lists its settings
  twinprint collection add seen news.jsonl
      adds documents, and writes the verdict of each: new, exact, near or updated
  twinprint collection query seen a.jsonl
      the same answers, but adds nothing
  twinprint collection stat seen
      counts and sizes
  twinprint collection check seen && twinprint collection backup seen copy
      reads and checks everything; copies its present state
  twinprint collection restore backup again
      makes a collection of the backup, in a new directory
  twinprint collection create topical --stories --window 7d
      also forms stories, by words and times; a story ends after a week without new documents
  twinprint collection stories topical --min-size 1
      the stories, those with the latest document first, those of one document too: size, times, topic, title";

/// Stores documents, and reports whether a document is new or was seen before
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Create(CreateArgs),
    /// Adds documents, and writes the verdict for each as a line of JSON: new, exact, near or updated
    Add(AddArgs),
    /// Writes the verdicts for documents without adding them
    Query(FeedArgs),
    Delete(DeleteArgs),
    /// Prints the counts and sizes of a collection as JSON
    Stat(CollectionDir),
    /// Checks all data: pages and values against checksums, fingerprints against texts, members against groups
    Check(CollectionDir),
    /// Copies the current state of a collection to a new directory, and checks the copy
    Backup(CopyArgs),
    /// Makes a collection in a new directory from a backup
    Restore(CopyArgs),
    /// Makes a new collection from the documents of a damaged one that are still readable, and reports the number lost
    Repair(CopyArgs),
    Stories(stories::Args),
    Export(ExportArgs),
}

// Options with a fixed set of values, and the library's value for each name.
const STORES: [(&str, StoredContent); 3] = [
    ("text", StoredContent::Text),
    ("shingles", StoredContent::Shingles),
    ("none", StoredContent::None),
];
const CANONICAL: [(&str, CanonicalBy); 4] = [
    ("first", CanonicalBy::First),
    ("score", CanonicalBy::Score),
    ("newest", CanonicalBy::Newest),
    ("shortest-url", CanonicalBy::ShortestUrl),
];

/// Makes a collection
#[derive(clap::Args)]
#[command(mut_args(|arg| match arg.get_id().as_str() {
    "story_threshold" | "merge" | "window" | "half_life" | "live" => arg.requires("stories"),
    _ => arg,
}))]
struct CreateArgs {
    /// Directory of the collection, new or empty
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Profile of the fingerprints, 64 or 128 bits wide
    #[arg(long, default_value = DEFAULT_PROFILE)]
    profile: String,

    /// Largest Hamming distance of candidates: up to 12 at 64 bits, 24 at 128 [default: 16 at 128 bits, 8 at 64; 3 with
    /// --store none]
    #[arg(short = 'k', long, value_name = "K")]
    hamming: Option<u32>,

    /// Minimum Jaccard similarity of a duplicate
    #[arg(long, default_value_t = 0.8, value_name = "J")]
    threshold: f64,

    /// Stored form of each text, from which verdicts are verified: the text, its shingles, or none (only the
    /// fingerprint)
    #[arg(long, value_parser = by_name(STORES), default_value = "text")]
    store: StoredContent,

    /// Rule that chooses the canonical document of a group
    #[arg(long, value_parser = by_name(CANONICAL), default_value = "first")]
    canonical: CanonicalBy,

    /// Time in seconds after which a document expires
    #[arg(long, value_name = "SECONDS", value_parser = crate::number::parse_count_in(1..=u64::MAX))]
    ttl: Option<u64>,

    /// Treatment of texts without words (empty or only punctuation), which are never duplicates
    #[arg(long, value_enum, default_value_t = EmptyArg::Keep, value_name = "HOW")]
    empty: EmptyArg,

    /// Largest number of texts that one document is compared with
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = crate::number::parse_count_in(1..=10_000u32))]
    max_texts: u32,

    /// Make fingerprints under a secret random key, which is stored in the collection
    #[arg(long)]
    keyed: bool,

    /// Group documents into stories too: loose clusters by terms and time, with topics
    #[arg(long, help_heading = "Stories")]
    stories: bool,

    #[command(flatten)]
    forming: StoryArgs,

    /// Largest number of live stories. Above it, those that gained no document for the longest time end
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = crate::number::parse_count_in(1..=1_000_000u32), help_heading = "Stories")]
    live: u32,
}

#[derive(clap::Args)]
struct AddArgs {
    #[command(flatten)]
    feed: FeedArgs,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(clap::Args)]
struct FeedArgs {
    /// Directory of the collection
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    answers: AnswerArgs,
}

/// Deletes documents from a collection
#[derive(clap::Args)]
struct DeleteArgs {
    /// Directory of the collection
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Ids of the documents to delete; ids that are not in the collection are ignored
    #[arg(value_name = "ID", required_unless_present = "source")]
    ids: Vec<String>,

    /// Delete all documents from this source
    #[arg(long, value_name = "SOURCE", conflicts_with = "ids")]
    source: Option<String>,
}

#[derive(clap::Args)]
struct CollectionDir {
    /// Directory of the collection
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Writes all documents to stdout, one per line, or their fingerprints to a file
#[derive(clap::Args)]
struct ExportArgs {
    #[command(flatten)]
    collection: CollectionDir,

    /// File for the fingerprints of the documents instead, for `twinprint index build`. *.parquet has the columns id and
    /// fingerprint, and the profile in its metadata. *.u64 or *.u128, by the width of the fingerprints, has nothing but
    /// fingerprints, little-endian
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

#[derive(clap::Args)]
struct CopyArgs {
    /// Directory to copy from
    #[arg(value_name = "FROM")]
    from: PathBuf,

    /// Directory to copy to, new or empty
    #[arg(value_name = "TO")]
    to: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::Create(args) => create(args)?,
        Action::Add(args) => return add(args),
        Action::Query(args) => return query(args),
        Action::Delete(args) => delete(args)?,
        Action::Stat(place) => {
            let collection = Collection::open_read_only(&place.dir)?;
            let stats =
                json!({"settings": collection.settings(), "stats": collection.stats(None, None, 1000)?});
            terminal::out(&format!("{stats:#}\n"))?;
        }
        Action::Check(place) => {
            let checked = Collection::verify_in(&place.dir)?;
            terminal::out(&format!("whole: {}\n", serde_json::to_string(&checked)?))?;
        }
        Action::Backup(CopyArgs { from, to }) => {
            let checked = Collection::open_read_only(from)?.backup(to)?;
            terminal::out(&format!("backed up: {}\n", serde_json::to_string(&checked)?))?;
        }
        Action::Restore(CopyArgs { from, to }) => {
            let checked = Collection::restore(from, to)?;
            terminal::out(&format!("restored: {}\n", serde_json::to_string(&checked)?))?;
        }
        Action::Repair(CopyArgs { from, to }) => {
            let RepairReport { saved, lost } = Collection::repair(from, to)?;
            let lost = lost.map_or_else(
                || "; the number lost is unknown".to_owned(),
                |lost| format!(", {lost} lost"),
            );
            terminal::out(&format!("{saved} documents saved{lost}\n"))?;
        }
        Action::Stories(args) => stories::run(args)?,
        Action::Export(args) => {
            let collection = Collection::open_read_only(&args.collection.dir)?;
            match &args.output {
                Some(path) => {
                    refuse_own_input(path, [args.collection.dir.as_path()])?;
                    export_fingerprints(&collection, path)?;
                }
                None => export(&collection)?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn create(args: &CreateArgs) -> anyhow::Result<()> {
    let narrow = if width_named(&args.profile) == Some(64) {
        8
    } else {
        16
    };
    let settings = Settings {
        profile: args.profile.clone(),
        k: args.hamming.unwrap_or(if args.store == StoredContent::None {
            3
        } else {
            narrow
        }),
        threshold: args.threshold,
        store: args.store,
        canonical: args.canonical,
        max_texts: args.max_texts,
        reject_empty: args.empty == EmptyArg::Reject,
        ttl: args.ttl,
        keyed: args.keyed,
        stories: args.stories,
        story_threshold: args.forming.story_threshold,
        story_merge: args.forming.merge,
        story_window: args.forming.window.map(i64::unsigned_abs),
        story_half_life: args.forming.half_life.map(i64::unsigned_abs),
        story_live: args.live,
    };
    settings.check().map_err(|error| UsageError(error.to_string()))?;
    let created = format!(
        "{}: {}, k = {}\n",
        args.dir.display(),
        settings.profile,
        settings.k
    );
    Collection::create(&args.dir, settings)?;
    terminal::out(&created)
}

fn add(args: &AddArgs) -> anyhow::Result<ExitCode> {
    let collection = Collection::open(&args.feed.dir)?;
    if let Some(error) = collection.refusal() {
        return Err(error.into());
    }
    feed(&args.feed, Purpose::Store(&args.store), |documents| {
        collection.add(documents, args.store.only_new, Durability::Synced)
    })
}

fn query(args: &FeedArgs) -> anyhow::Result<ExitCode> {
    let collection = Collection::open_read_only(&args.dir)?;
    feed(args, Purpose::LookUp, |documents| collection.check(documents))
}

/// Passes the documents of the inputs to `answer` in batches, and writes the answers.
fn feed(
    FeedArgs { input, answers, .. }: &FeedArgs,
    purpose: Purpose<'_>,
    answer: impl Fn(Vec<NewDocument>) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError>,
) -> anyhow::Result<ExitCode> {
    let cancel = interrupt::flag()?;
    let answer_all = |records: Vec<InputRecord>, answers: &mut Answers| {
        let documents = records.into_iter().filter_map(|record| answers.document(record));
        let (places, documents): (Vec<_>, Vec<NewDocument>) = documents.unzip();
        for (place, answer) in places.into_iter().zip(answer(documents)?) {
            match answer {
                Ok(answer) => answers.add(&serde_json::to_value(answer)?),
                Err(error) => answers.refuse(&place, &error.to_string()),
            }
        }
        Ok(())
    };
    answers.feed(input, purpose, &cancel, answer_all)
}

fn delete(args: &DeleteArgs) -> anyhow::Result<()> {
    const BATCH_SIZE: usize = 1000;
    let collection = Collection::open(&args.dir)?;
    let (mut deleted, mut unknown) = (0, 0);
    let mut delete = |ids: &[String]| -> anyhow::Result<()> {
        for found in collection.delete(ids, Durability::Synced)? {
            match found {
                Some(_) => deleted += 1,
                None => unknown += 1,
            }
        }
        Ok(())
    };
    if let Some(source) = &args.source {
        loop {
            let ids = collection.ids_of_source(source, BATCH_SIZE)?;
            if ids.is_empty() {
                break;
            }
            delete(&ids)?;
        }
    }
    let mut given = args.ids.clone();
    given.sort_unstable();
    given.dedup();
    given.chunks(BATCH_SIZE).try_for_each(delete)?;
    let unknown = match unknown {
        0 => String::new(),
        n => format!(", {} not in the collection", number::count(n)),
    };
    terminal::out(&format!(
        "{}: {} deleted{unknown}\n",
        args.dir.display(),
        number::counted(deleted, "document")
    ))
}

fn export(collection: &Collection) -> anyhow::Result<()> {
    each_page(collection, |documents| {
        let mut lines = String::new();
        for document in documents {
            lines.push_str(&serde_json::to_string(&document)?);
            lines.push('\n');
        }
        terminal::out(&lines)
    })
}

/// Writes the fingerprints of all documents to a file.
fn export_fingerprints(collection: &Collection, path: &Path) -> anyhow::Result<()> {
    let profile = collection.profile();
    let label = ProfileLabel::of_profile(profile);
    let mut file = FingerprintFile::create(path, profile.bits(), Some(&label), FileRows::Documents)?;
    each_page(collection, |documents| {
        for document in documents {
            let fingerprint = document.fingerprint.context(
                "the collection makes fingerprints under a secret key, which are not written; write fingerprints of its texts with `twinprint fingerprint`",
            )?;
            file.write_document(&document.id, &fingerprint)?;
        }
        Ok(())
    })?;
    file.finish()
}

/// Calls a function with all documents, page by page.
fn each_page(
    collection: &Collection,
    mut each: impl FnMut(Vec<Document>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut after = 0;
    loop {
        let (documents, last) = collection.documents(after, 500)?;
        each(documents)?;
        match last {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}
