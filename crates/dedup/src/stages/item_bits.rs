//! A set of items, one bit each.

/// A set of items.
pub(super) struct ItemBits(Vec<u64>);

impl ItemBits {
    /// An empty set that may have the items below `items`.
    pub(super) fn new(items: u64) -> Self {
        Self(vec![0; items.div_ceil(64) as usize])
    }

    /// Adds an item.
    pub(super) fn set(&mut self, item: u64) {
        if let Some(bits) = self.0.get_mut((item / 64) as usize) {
            *bits |= 1 << (item % 64);
        }
    }

    /// True if the set has an item.
    pub(super) fn has(&self, item: u64) -> bool {
        let bits = self.0.get((item / 64) as usize).copied().unwrap_or(0);
        bits >> (item % 64) & 1 == 1
    }
}
