//! A cache of values that are read from files again and again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// The largest number of values in a cache.
const MAX_VALUES: usize = 1 << 16;

/// A cache of values by key. It forgets all values when it has too many, so its memory is bounded.
#[derive(Debug)]
pub(super) struct Memo<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// The value of a key, which `read` reads unless the cache has it.
    pub(super) fn get<E>(&self, key: K, read: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let values = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = values().get(&key) {
            return Ok(value.clone());
        }
        let value = read()?;
        let mut values = values();
        if values.len() >= MAX_VALUES {
            values.clear();
        }
        values.insert(key, value.clone());
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_once_until_there_are_too_many() {
        let memo = Memo::default();
        let mut reads = 0;
        let mut get = |key: usize| {
            let value = memo.get(key, || {
                reads += 1;
                Ok::<_, ()>(key * 2)
            });
            assert_eq!(value, Ok(key * 2));
            reads
        };
        assert_eq!([get(1), get(2), get(1)], [1, 2, 2]);
        for key in 0..=MAX_VALUES {
            get(key);
        }
        assert_eq!(get(1), MAX_VALUES + 2);
        assert!(memo.get(MAX_VALUES + 5, || Err::<usize, _>(7)).is_err());
    }
}
