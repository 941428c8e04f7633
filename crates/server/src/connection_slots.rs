//! Limits the number of connections and evicts idle ones.
//!
//! Every connection occupies a slot. If all slots are taken when a new connection arrives, the connection that has been
//! idle longest is evicted. If every connection has a request in progress, the new connection gets one of a few
//! monitoring slots, on which only the monitoring routes are served. So the service can be observed under any load:
//! monitoring requests are short, and idle connections on monitoring slots are evicted as well.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// The number of monitoring slots.
const MONITORING_SLOTS: usize = 64;
/// The value of [`SlotState::idle_since`] while the connection has a request in progress.
const BUSY: u64 = 0;
/// The value of [`SlotState::idle_since`] after the connection was evicted.
const EVICTED: u64 = u64::MAX;

/// The slots of all connections.
pub(crate) struct ConnectionSlots {
    /// The number of connections accepted at a time, without those reserved for monitoring.
    capacity: usize,
    started: Instant,
    table: Mutex<SlotTable>,
}

#[derive(Default)]
struct SlotTable {
    next_id: u64,
    regular: BTreeMap<u64, Arc<SlotState>>,
    monitoring: BTreeMap<u64, Arc<SlotState>>,
}

/// The state of the connection in a slot.
struct SlotState {
    /// The time at which the connection became idle, in milliseconds since the start of the service plus 1; or [`BUSY`]
    /// or [`EVICTED`].
    idle_since: AtomicU64,
    evicted: Notify,
}

/// The slot that one connection occupies. Dropping it frees the slot.
pub(crate) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    id: u64,
    state: Arc<SlotState>,
    /// True if this is a monitoring slot.
    pub(crate) is_monitoring: bool,
}

/// The result of [`ConnectionSlots::take`].
pub(crate) struct TakenSlot {
    /// The new slot; `None` if every connection is busy, including those on monitoring slots.
    pub(crate) slot: Option<ConnectionSlot>,
    /// True if another connection was evicted to free this slot.
    pub(crate) evicted: bool,
}

impl ConnectionSlots {
    /// Creates slots for `capacity` regular connections, and the monitoring slots in addition.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            started: Instant::now(),
            table: Mutex::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, SlotTable> {
        // Poisoning is ignored, because no code can panic while it has this lock.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).map_or(EVICTED - 1, |now| now + 1)
    }

    /// Takes a slot for a new connection. If all slots are taken, evicts the connection that has been idle longest, in
    /// time linear in the number of connections.
    pub(crate) fn take(self: &Arc<Self>) -> TakenSlot {
        let mut table = self.table();
        let mut evicted = false;
        let mut has_room = |slots: &mut BTreeMap<u64, Arc<SlotState>>, capacity| {
            slots.len() < capacity
                || capacity > 0 && {
                    evicted = evict_longest_idle(slots);
                    evicted
                }
        };
        let is_monitoring = !has_room(&mut table.regular, self.capacity);
        if is_monitoring && !has_room(&mut table.monitoring, MONITORING_SLOTS) {
            return TakenSlot {
                slot: None,
                evicted: false,
            };
        }
        let id = table.next_id;
        table.next_id += 1;
        let state = Arc::new(SlotState {
            idle_since: AtomicU64::new(self.now()),
            evicted: Notify::new(),
        });
        let slots = if is_monitoring {
            &mut table.monitoring
        } else {
            &mut table.regular
        };
        slots.insert(id, Arc::clone(&state));
        drop(table);
        let slot = ConnectionSlot {
            slots: Arc::clone(self),
            id,
            state,
            is_monitoring,
        };
        TakenSlot {
            slot: Some(slot),
            evicted,
        }
    }

    /// Evicts the regular connection that has been idle longest. Returns false if all regular connections are busy.
    pub(crate) fn evict_longest_idle(&self) -> bool {
        evict_longest_idle(&mut self.table().regular)
    }
}

/// Evicts the connection in `slots` that has been idle longest. Returns false if all of them are busy.
fn evict_longest_idle(slots: &mut BTreeMap<u64, Arc<SlotState>>) -> bool {
    loop {
        let idle = slots.iter().filter_map(|(&id, state)| {
            let since = state.idle_since.load(Ordering::Acquire);
            (since != BUSY && since != EVICTED).then_some((since, id))
        });
        let Some((since, id)) = idle.min() else {
            return false;
        };
        let Some(state) = slots.get(&id) else {
            return false;
        };
        // The exchange fails if this connection has started a request since the search for the longest idle one. The
        // search is then repeated.
        let exchanged =
            state
                .idle_since
                .compare_exchange(since, EVICTED, Ordering::AcqRel, Ordering::Acquire);
        if exchanged.is_ok() {
            state.evicted.notify_one();
            slots.remove(&id);
            return true;
        }
    }
}

impl ConnectionSlot {
    /// The number of connections that the service accepts at a time, without those reserved for monitoring.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.capacity
    }

    /// Marks the connection as busy, because a request begins. Returns false if the connection was evicted before.
    pub(crate) fn begin_request(&self) -> bool {
        let update = |since| (since != EVICTED).then_some(BUSY);
        self.state
            .idle_since
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, update)
            .is_ok()
    }

    /// Marks the connection as idle. Does nothing if it is already idle or was evicted.
    pub(crate) fn set_idle(&self) {
        let now = self.slots.now();
        let _idle_or_evicted =
            self.state
                .idle_since
                .compare_exchange(BUSY, now, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Waits until the connection is evicted.
    pub(crate) async fn evicted(&self) {
        self.state.evicted.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut table = self.slots.table();
        let slots = if self.is_monitoring {
            &mut table.monitoring
        } else {
            &mut table.regular
        };
        slots.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_idle_connection_is_evicted_and_busy_ones_are_not() {
        let slots = Arc::new(ConnectionSlots::new(2));
        let take = || slots.take().slot;
        let (first, second) = (take().unwrap(), take().unwrap());
        assert!(first.begin_request() && !first.is_monitoring && !second.is_monitoring);
        let third = slots.take();
        assert!(third.evicted);
        let third = third.slot.unwrap();
        assert!(!third.is_monitoring);
        assert!(!second.begin_request(), "the second connection is evicted");
        assert!(third.begin_request());
        // Both regular connections are busy: the next ones get monitoring slots, and lose them when idle.
        let monitoring: Vec<_> = (0..=MONITORING_SLOTS).map(|_| take().unwrap()).collect();
        assert!(monitoring.iter().all(|slot| slot.is_monitoring));
        assert!(!monitoring[0].begin_request());
        assert!(monitoring[1..].iter().all(ConnectionSlot::begin_request));
        assert!(take().is_none(), "all connections are busy");
        first.set_idle();
        assert!(!take().unwrap().is_monitoring && !first.begin_request());
        drop(monitoring);
        assert!(slots.table().monitoring.is_empty());
    }

    #[test]
    fn without_regular_slots_no_connection_is_evicted() {
        assert!(!Arc::new(ConnectionSlots::new(0)).take().evicted);
    }
}
