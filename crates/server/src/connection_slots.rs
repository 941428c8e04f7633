//! Limits the connections, and closes one to make room for another.
//!
//! Each connection has a seat. Where all are taken, the connection that has waited longest for its client's next request is closed. Where
//! every one of them has a request under way, a newcomer gets one of a few further seats, on which only what watches the service is
//! answered. So it is answered whatever the others do: on a further seat nothing takes long, and who sends nothing there makes room too.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// Further seats.
const FURTHER: usize = 64;
/// States of a place, besides the time since when it waits.
const BUSY: u64 = 0;
const LOST: u64 = u64::MAX;

/// All seats.
pub(crate) struct Seats {
    most: usize,
    began: Instant,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    next: u64,
    seats: BTreeMap<u64, Arc<Place>>,
    further: BTreeMap<u64, Arc<Place>>,
}

/// The state of the connection on a seat.
struct Place {
    /// Milliseconds from the service's start on, from one, since when nothing is under way; or [`BUSY`] or [`LOST`].
    waits: AtomicU64,
    lost: Notify,
}

/// A seat that is taken, until it is dropped.
pub(crate) struct Seat {
    seats: Arc<Seats>,
    number: u64,
    place: Arc<Place>,
    /// True for a further seat.
    pub(crate) further: bool,
}

impl Seats {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            began: Instant::now(),
            table: Mutex::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing panics while it is held.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).map_or(LOST - 1, |now| now + 1)
    }

    /// A seat, and whether another connection is closed for it; none if all work, the further ones too.
    pub(crate) fn take(self: &Arc<Self>) -> (Option<Seat>, bool) {
        let mut table = self.table();
        let mut closed = false;
        let mut room = |places: &mut BTreeMap<u64, Arc<Place>>, most| {
            places.len() < most
                || most > 0 && {
                    closed = close_longest(places);
                    closed
                }
        };
        let further = !room(&mut table.seats, self.most);
        if further && !room(&mut table.further, FURTHER) {
            return (None, false);
        }
        let number = table.next;
        table.next += 1;
        let place = Arc::new(Place {
            waits: AtomicU64::new(self.now()),
            lost: Notify::new(),
        });
        let places = if further {
            &mut table.further
        } else {
            &mut table.seats
        };
        places.insert(number, Arc::clone(&place));
        drop(table);
        let seat = Seat {
            seats: Arc::clone(self),
            number,
            place,
            further,
        };
        (Some(seat), closed)
    }

    /// Closes the connection that has waited longest, where the system has no descriptors left.
    pub(crate) fn close_one(&self) -> bool {
        close_longest(&mut self.table().seats)
    }
}

/// Closes the one that has waited longest; none where all are busy.
fn close_longest(places: &mut BTreeMap<u64, Arc<Place>>) -> bool {
    loop {
        let waiting = places.iter().filter_map(|(&number, place)| {
            let waits = place.waits.load(Ordering::Acquire);
            (waits != BUSY && waits != LOST).then_some((waits, number))
        });
        let Some((waits, number)) = waiting.min() else {
            return false;
        };
        let Some(place) = places.get(&number) else {
            return false;
        };
        // One that has begun a request meanwhile stays.
        let lost = place
            .waits
            .compare_exchange(waits, LOST, Ordering::AcqRel, Ordering::Acquire);
        if lost.is_ok() {
            place.lost.notify_one();
            places.remove(&number);
            return true;
        }
    }
}

impl Seat {
    /// The number of seats, without the further ones.
    pub(crate) fn most(&self) -> usize {
        self.seats.most
    }

    /// A request begins; not on a seat that is lost.
    pub(crate) fn begin(&self) -> bool {
        let waits = &self.place.waits;
        waits
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |waits| {
                (waits != LOST).then_some(BUSY)
            })
            .is_ok()
    }

    /// Nothing is under way any more.
    pub(crate) fn wait(&self) {
        let now = self.seats.now();
        // It waited before, or is lost.
        let _other = self
            .place
            .waits
            .compare_exchange(BUSY, now, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Ends once the seat is another's.
    pub(crate) async fn lost(&self) {
        self.place.lost.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut table = self.seats.table();
        let places = if self.further {
            &mut table.further
        } else {
            &mut table.seats
        };
        places.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_longest_makes_room_and_who_works_does_not() {
        let seats = Arc::new(Seats::new(2));
        let take = || seats.take();
        let ((one, _), (other, _)) = (take(), take());
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!(one.begin() && !one.further && !other.further);
        let (third, closed) = take();
        let third = third.unwrap();
        assert!(
            closed && !third.further && !other.begin(),
            "the other has lost its seat"
        );
        assert!(third.begin());
        // Both work, so others get further seats, and lose them where they only wait.
        let further: Vec<_> = (0..=FURTHER).map(|_| take().0.unwrap()).collect();
        assert!(further.iter().all(|seat| seat.further));
        assert!(!further[0].begin() && further[1..].iter().all(Seat::begin));
        assert!(take().0.is_none(), "all work");
        one.wait();
        assert!(!take().0.unwrap().further && !one.begin());
        drop(further);
        assert!(seats.table().further.is_empty());
        assert!(!Arc::new(Seats::new(0)).take().1);
    }
}
