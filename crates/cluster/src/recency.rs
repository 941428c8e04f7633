//! Orders the clusters of a stream by when they were last seen, so that they expire by age or when they are too many.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// When a cluster was last seen: the time in seconds, then a counter that orders equal times.
type LastSeen = (i64, u64);

/// The live clusters in the order in which they were last seen. Every operation takes logarithmic time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recency {
    order: BTreeMap<LastSeen, u64>,
    seen: HashMap<u64, LastSeen>,
    /// Number of calls of `touch` so far, which orders clusters seen at the same time.
    ticks: u64,
}

impl Recency {
    /// Records that a cluster was seen at `time`, for the first time or again.
    pub(crate) fn touch(&mut self, id: u64, time: i64) {
        self.ticks += 1;
        let seen = (time, self.ticks);
        if let Some(before) = self.seen.insert(id, seen) {
            self.order.remove(&before);
        }
        self.order.insert(seen, id);
    }

    /// Removes a cluster.
    pub(crate) fn remove(&mut self, id: u64) {
        if let Some(seen) = self.seen.remove(&id) {
            self.order.remove(&seen);
        }
    }

    /// Finds the cluster that was not seen for the longest time. Removes and returns it if it was last seen before
    /// `since`, or if there are more than `max_clusters` clusters.
    pub(crate) fn expired(&mut self, since: i64, max_clusters: usize) -> Option<u64> {
        let entry = self.order.first_entry()?;
        if entry.key().0 >= since && self.seen.len() <= max_clusters {
            return None;
        }
        let id = entry.remove();
        self.seen.remove(&id);
        Some(id)
    }

    /// Each cluster with the time at which it was last seen, the least recently seen first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.order.iter().map(|(&(time, _), &id)| (time, id))
    }
}

/// Serializes only the sequence of [`Recency::iter`]. Deserialization restores everything else from it.
impl Serialize for Recency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Recency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut recency = Self::default();
        for (time, id) in Vec::<(i64, u64)>::deserialize(deserializer)? {
            recency.touch(id, time);
        }
        Ok(recency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_of_the_same_second_expire_in_the_order_seen() {
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
