//! Which clusters of a stream were last seen when: what leaves by time, and what leaves first where there is no room.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// When a cluster was last seen: the time in seconds, and among those of one second the order in which they were seen.
type Seen = (i64, u64);

/// Live clusters by when they were last seen. All steps take logarithmic time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recency {
    order: BTreeMap<Seen, u64>,
    seen: HashMap<u64, Seen>,
    /// Times that anything was seen.
    ticks: u64,
}

impl Recency {
    /// A cluster begins, or is seen again.
    pub(crate) fn touch(&mut self, id: u64, at: i64) {
        self.ticks += 1;
        let seen = (at, self.ticks);
        if let Some(before) = self.seen.insert(id, seen) {
            self.order.remove(&before);
        }
        self.order.insert(seen, id);
    }

    /// A cluster is no more.
    pub(crate) fn remove(&mut self, id: u64) {
        if let Some(seen) = self.seen.remove(&id) {
            self.order.remove(&seen);
        }
    }

    /// Takes the cluster unseen for longest, if it was not seen since `since` or there are more than `most`.
    pub(crate) fn expired(&mut self, since: i64, most: usize) -> Option<u64> {
        let entry = self.order.first_entry()?;
        if entry.key().0 >= since && self.seen.len() <= most {
            return None;
        }
        let id = entry.remove();
        self.seen.remove(&id);
        Some(id)
    }

    /// The clusters, the one unseen for longest first, and when they were last seen.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.order.iter().map(|(&(at, _), &id)| (at, id))
    }
}

/// The clusters in order: what else there is follows from that.
impl Serialize for Recency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Recency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut recency = Self::default();
        for (at, id) in Vec::<(i64, u64)>::deserialize(deserializer)? {
            recency.touch(id, at);
        }
        Ok(recency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_second_the_one_seen_first_leaves_first() {
        let mut recency = Recency::default();
        for id in [1, 2, 3, 1] {
            recency.touch(id, 7);
        }
        assert_eq!(recency.iter().collect::<Vec<_>>(), [(7, 2), (7, 3), (7, 1)]);
        assert_eq!(recency.expired(7, 3), None);
        assert_eq!(recency.expired(7, 2), Some(2));
        recency.remove(3);
        assert_eq!(recency.expired(8, 2), Some(1));
        assert_eq!(recency.expired(8, 2), None);
    }
}
