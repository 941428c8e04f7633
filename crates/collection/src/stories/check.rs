//! Whether what is told of stories fits together.

use rustc_hash::FxHashMap;

use super::super::Inner;
use super::super::error::CollectionError;
use super::super::store::{STORIES, STORY_MEMBERS, STORY_TIMES};
use super::load;

impl Inner {
    /// Every document in one story, every story of the size it says, and on the disk what is in memory; how many stories there are.
    pub(crate) fn verify_stories(&self) -> Result<u64, CollectionError> {
        self.told_of_stories(|kept, transaction| {
            let store = &self.store;
            let failed = |error: redb::StorageError| store.unreadable(error);
            let members = store.table(transaction, STORY_MEMBERS)?;
            let mut sizes: FxHashMap<u64, u64> = FxHashMap::default();
            let mut rows = Vec::new();
            store.each_row(transaction, |row, _| rows.push((row.ordinal, row.story)))?;
            for &(number, story) in &rows {
                if story == 0 || members.get((story, number)).map_err(failed)?.is_none() {
                    return Err(store.damaged(format!("document {number} has lost its story")));
                }
                *sizes.entry(kept.engine.resolve(story)).or_default() += 1;
            }
            let ended = store.table(transaction, STORIES)?;
            let ended = store.entries(&ended)?;
            let stories = kept.engine.live().len() as u64 + ended;
            let times = store.entries(&store.table(transaction, STORY_TIMES)?)?;
            let counts = [
                (store.entries(&members)?, rows.len() as u64, "places in stories"),
                (times, ended, "times of ended stories"),
                (stories, sizes.len() as u64, "stories"),
            ];
            for (there, expected, what) in counts {
                if there != expected {
                    return Err(
                        store.damaged(format!("there are {there} {what}, and {expected} belong there"))
                    );
                }
            }
            for (story, size) in sizes {
                let record = self.story_record(kept, transaction, story)?;
                let (record, _) = record.ok_or_else(|| store.damaged(format!("story {story} is lost")))?;
                if record.size != size {
                    return Err(store.damaged(format!(
                        "story {story} has {size} documents and says {}",
                        record.size
                    )));
                }
            }
            let again = load(store, transaction, &self.settings)?;
            if again.map(|again| again.engine.encode()) != Some(kept.engine.encode()) {
                return Err(store.damaged("the stories on the disk are not those in memory"));
            }
            Ok(stories)
        })
    }
}
