//! Durable collections of documents that answer "new, or seen before?" atomically.
//!
//! A [`Collection`] is stored in a directory. [`Collection::add`] stores documents and returns a verdict for each: new,
//! a copy, a near-duplicate, or an update of the document with the same id. If near-duplicates are added at the same
//! time, exactly one of them is new. A write that was acknowledged as [`Durability::Synced`] survives a power cut. A
//! collection also keeps the groups of duplicates and, if its [`Settings`] ask for it, stories: loose clusters of
//! documents about one event.
//!
//! # Examples
//!
//! ```
//! use twinprint_collection::{Collection, Content, Details, Durability, NewDocument, Settings, Verdict};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let temporary = tempfile::tempdir()?;
//! # let dir = temporary.path().join("seen");
//! let page = |id: &str, text: String| NewDocument {
//!     id: id.to_owned(),
//!     content: Content::Text(text),
//!     details: Details::default(),
//!     ttl: None,
//! };
//! let article: String = (0..200).map(|n| format!("word{n} ")).collect();
//! let other: String = (0..200).map(|n| format!("term{n} ")).collect();
//!
//! let collection = Collection::create(&dir, Settings::default())?;
//! let pages = vec![page("a", article.clone()), page("b", format!("{article} (updated)")), page("c", other)];
//! let answers = collection.add(pages, false, Durability::Synced)?;
//! let verdicts = answers.into_iter().map(|answer| Ok(answer?.verdict));
//! let verdicts = verdicts.collect::<Result<Vec<_>, twinprint_collection::CollectionError>>()?;
//! assert_eq!(verdicts, [Verdict::New, Verdict::Near, Verdict::New]);
//!
//! // A check returns the verdict and stores nothing.
//! let answer = collection.check(vec![page("d", article)])?.remove(0)?;
//! assert_eq!(answer.verdict, Verdict::Exact);
//! assert_eq!(answer.best.map(|best| best.id), Some("a".to_owned()));
//!
//! // Groups of at least two documents.
//! let groups = collection.groups(0, 2, 10)?.groups;
//! assert_eq!(groups.len(), 1);
//! assert_eq!((groups[0].leader.id.as_str(), groups[0].size), ("a", 2));
//!
//! // The documents are still stored after a restart.
//! drop(collection);
//! assert_eq!(Collection::open(&dir)?.len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! # Structure
//!
//! * On disk, the embedded database redb stores the documents. Everything in memory is rebuilt from it, so it has the
//!   role of a write-ahead log (`database`).
//! * In memory, an index over the rows of all documents answers searches (`live`). The rows are read and the index is
//!   built when a collection is opened.
//! * A collection with stories also keeps the live stories in memory (`stories`).
//! * One thread executes all writes (`writer`) and decides the verdict and group of each document (`commit`). Before
//!   that, the callers' threads compute fingerprints and hashes of the documents (`prepare`).
//!
//! # Invariants
//!
//! * The state in memory is that of the last commit. It changes only after a commit.
//! * After a failed write the collection refuses all further writes until it is opened again.
//! * Every value has a checksum, which is verified when the value is read.
#![forbid(unsafe_code)]

mod backup;
mod check;
mod collection;
mod commit;
mod create;
mod database;
mod document;
mod error;
mod feed;
mod group_query;
mod integrity;
mod limits;
mod live;
mod load;
mod lookup;
mod prepare;
mod query;
mod read;
mod read_only_file;
mod record;
mod repair;
mod row;
mod run_record;
mod runs;
mod seal;
mod settings;
mod shared;
mod stats;
mod stories;
mod story_item;
mod story_query;
mod story_record;
mod story_tables;
mod tables;
#[cfg(test)]
mod tests;
mod verify;
mod write;
mod write_request;
mod writer;

pub use check::{Hit, Similar};
pub use collection::Collection;
pub use document::{Answer, BestMatch, Content, Details, DocumentRef, Durability, NewDocument, Verdict};
pub use error::CollectionError;
pub use feed::{FeedOptions, InputRecord, feed, feed_from};
pub use group_query::{Group, GroupList};
pub use integrity::IntegrityReport;
pub use limits::MAX_TEXT;
pub use query::Document;
pub use record::{Change, ChangeKind, SourceCounts};
pub use repair::RepairReport;
pub use runs::Objection;
pub use settings::{CanonicalBy, Settings, StoredContent};
pub use shared::Commits;
pub use stats::{SourceStats, Stats, StoryStats, ThresholdEstimate};
pub use story_query::{Story, StoryDetail, StoryList, StoryQuery};
pub use story_record::StoryTerm;
pub use twinprint_stream::parse_time;
pub use twinprint_text::compare::Comparison;
