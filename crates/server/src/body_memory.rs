//! A memory budget that the bodies of all requests share.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// The number of bytes that one permit of the semaphore stands for.
const PERMIT_BYTES: usize = 1 << 10;

/// The memory budget that the bodies of all requests share.
pub(crate) struct BodyMemory {
    permits: Arc<Semaphore>,
    capacity_bytes: usize,
}

/// Memory that is reserved from a [`BodyMemory`]. Dropping the reservation returns the memory to the budget.
#[derive(Default)]
pub(crate) struct MemoryReservation(Option<OwnedSemaphorePermit>);

impl BodyMemory {
    pub(crate) fn new(capacity_bytes: usize) -> Self {
        let permits = (capacity_bytes / PERMIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(permits)),
            capacity_bytes,
        }
    }

    /// Reserves another `bytes` bytes of the budget and adds them to a reservation. The number is rounded up to whole
    /// permits.
    ///
    /// # Errors
    /// 429 if less than `bytes` of the budget is free.
    pub(crate) fn reserve(&self, reservation: &mut MemoryReservation, bytes: usize) -> Result<(), Problem> {
        let permits = u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX);
        let exhausted = |_| Problem {
            limit: Some(self.capacity_bytes as u64),
            ..Problem::busy("the memory for request bodies is exhausted; retry in a moment")
        };
        let added = Arc::clone(&self.permits)
            .try_acquire_many_owned(permits)
            .map_err(exhausted)?;
        match &mut reservation.0 {
            Some(reserved) => reserved.merge(added),
            empty => *empty = Some(added),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_returned_on_drop() {
        let memory = BodyMemory::new(10 * PERMIT_BYTES);
        let (mut first, mut second) = (MemoryReservation::default(), MemoryReservation::default());
        assert!(
            memory.reserve(&mut first, 4 * PERMIT_BYTES).is_ok() && memory.reserve(&mut first, 1).is_ok()
        );
        let refused = memory.reserve(&mut second, 6 * PERMIT_BYTES).unwrap_err();
        let capacity = 10 * PERMIT_BYTES as u64;
        assert_eq!((refused.status, refused.limit), (429, Some(capacity)));
        assert!(memory.reserve(&mut second, 5 * PERMIT_BYTES).is_ok());
        drop(first);
        assert!(memory.reserve(&mut second, 5 * PERMIT_BYTES).is_ok());
    }
}
