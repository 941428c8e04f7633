//! Which clusters of a stream were last seen when: what leaves by time, and what leaves first where there is no room.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Live clusters by the time they were last seen, in seconds, then by id. All steps take logarithmic time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Recency(BTreeSet<(i64, u64)>);

impl Recency {
    /// A cluster begins.
    pub(crate) fn insert(&mut self, id: u64, at: i64) {
        self.0.insert((at, id));
    }

    /// A cluster last seen at `before` is seen again.
    pub(crate) fn touch(&mut self, id: u64, before: i64, at: i64) {
        self.0.remove(&(before, id));
        self.0.insert((at, id));
    }

    /// A cluster is no more.
    pub(crate) fn remove(&mut self, id: u64, at: i64) {
        self.0.remove(&(at, id));
    }

    /// Takes the cluster unseen for longest, if it was not seen since `since` or there are more than `most`.
    pub(crate) fn expired(&mut self, since: i64, most: usize) -> Option<u64> {
        let &(at, id) = self.0.first()?;
        if at >= since && self.0.len() <= most {
            return None;
        }
        self.0.pop_first();
        Some(id)
    }
}
