//! The order in which the clusters of a stream were last seen, for their expiry by age and by number.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The moment at which a cluster was last seen: the time in seconds, then a counter that orders equal times.
type LastSeen = (i64, u64);

/// Live clusters in the order in which they were last seen. Every operation takes logarithmic time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recency {
    order: BTreeMap<LastSeen, u64>,
    seen: HashMap<u64, LastSeen>,
    /// Calls of `touch`.
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

    /// Removes and returns the cluster that was unseen for longest, if it was last seen before `since` or there are
    /// more than `max_clusters`.
    pub(crate) fn expired(&mut self, since: i64, max_clusters: usize) -> Option<u64> {
        let entry = self.order.first_entry()?;
        if entry.key().0 >= since && self.seen.len() <= max_clusters {
            return None;
        }
        let id = entry.remove();
        self.seen.remove(&id);
        Some(id)
    }

    /// The times at which the clusters were last seen, with the clusters; the one unseen for longest comes first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.order.iter().map(|(&(time, _), &id)| (time, id))
    }
}

/// Serializes the sequence of [`Recency::iter`], from which the rest follows.
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
