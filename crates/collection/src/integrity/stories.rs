//! The verification of the stories of a collection.

use rustc_hash::FxHashMap;

use crate::database::{STORIES, STORY_MEMBERS, STORY_TIMES};
use crate::error::CollectionError;
use crate::shared::Shared;
use crate::stories::saved::load;

impl Shared {
    /// Checks that every document is in one story, that the recorded size of every story is the number of its
    /// documents, and that the stories on disk equal those in memory. Returns the number of stories.
    pub(crate) fn verify_stories(&self) -> Result<u64, CollectionError> {
        self.with_stories(|stories, transaction| {
            let store = &self.store;
            let failed = |error: redb::StorageError| store.unreadable(error);
            let members = store.table(transaction, STORY_MEMBERS)?;
            let mut sizes: FxHashMap<u64, u64> = FxHashMap::default();
            let mut rows = Vec::new();
            store.each_row(transaction, |row, _| rows.push((row.ordinal, row.story)))?;
            for &(number, story) in &rows {
                if story == 0 || members.get((story, number)).map_err(failed)?.is_none() {
                    return Err(store.damaged(format!("document {number} is in no story")));
                }
                *sizes.entry(stories.engine.resolve(story)).or_default() += 1;
            }
            let ended = store.table(transaction, STORIES)?;
            let ended = store.entries(&ended)?;
            let count = stories.engine.live().len() as u64 + ended;
            let times = store.entries(&store.table(transaction, STORY_TIMES)?)?;
            let counts = [
                (
                    store.entries(&members)?,
                    rows.len() as u64,
                    "documents in the lists of the stories",
                ),
                (times, ended, "times of ended stories"),
                (count, sizes.len() as u64, "stories"),
            ];
            for (found, expected, what) in counts {
                if found != expected {
                    return Err(
                        store.damaged(format!("the number of {what} is {found} instead of {expected}"))
                    );
                }
            }
            for (story, size) in sizes {
                let record = self.story_record(stories, transaction, story)?;
                let (record, _) =
                    record.ok_or_else(|| store.damaged(format!("the record of story {story} is lost")))?;
                if record.size != size {
                    return Err(store.damaged(format!(
                        "story {story} has {size} documents, but its record states {}",
                        record.size
                    )));
                }
            }
            let again = load(store, transaction, &self.settings)?;
            if again.map(|again| again.engine.encode()) != Some(stories.engine.encode()) {
                return Err(store.damaged("the stories on the disk differ from those in memory"));
            }
            Ok(count)
        })
    }
}
