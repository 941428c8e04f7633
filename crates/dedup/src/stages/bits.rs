//! Sets of numbered rows or items, one bit each, and the roles of items in the set join, two bits each.

use twinprint_cluster::JoinRole;

/// A set of numbers.
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// An empty set that may have the numbers below `count`.
    pub(super) fn new(count: u64) -> Self {
        Self(vec![0; count.div_ceil(64) as usize])
    }

    /// Adds a number. A number that the set cannot have is left out.
    pub(super) fn set(&mut self, number: u64) {
        if let Some(bits) = self.0.get_mut((number / 64) as usize) {
            *bits |= 1 << (number % 64);
        }
    }

    /// Removes the numbers of another set.
    fn remove_all(&mut self, other: &Self) {
        for (bits, others) in self.0.iter_mut().zip(&other.0) {
            *bits &= !others;
        }
    }

    /// True if the set has a number.
    pub(super) fn has(&self, number: u64) -> bool {
        let bits = self.0.get((number / 64) as usize).copied().unwrap_or(0);
        bits >> (number % 64) & 1 == 1
    }

    /// The size of the set.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }

    /// The numbers of the set, ascending.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        (0..self.0.len() as u64 * 64).filter(|&number| self.has(number))
    }

    /// The numbers of the set by their places among them.
    fn places(&self) -> Places<'_> {
        let mut before = Vec::with_capacity(self.0.len().div_ceil(PLACED_WORDS));
        let mut count = 0;
        for words in self.0.chunks(PLACED_WORDS) {
            before.push(count);
            count += words.iter().map(|bits| u64::from(bits.count_ones())).sum::<u64>();
        }
        Places {
            bits: self,
            before,
            count,
        }
    }
}

/// The number of words of bits, of which the numbers before are stored.
const PLACED_WORDS: usize = 8;

/// The numbers of a set by their places among them, from 0. They take an eighth of the memory of the set.
pub(super) struct Places<'b> {
    bits: &'b Bits,
    /// For every [`PLACED_WORDS`] words, how many numbers of the set are before them.
    before: Vec<u64>,
    count: u64,
}

impl Places<'_> {
    /// The number at a place; `None` past the last one.
    pub(super) fn number(&self, place: u64) -> Option<u64> {
        let chunk = self
            .before
            .partition_point(|&before| before <= place)
            .checked_sub(1)?;
        let mut left = place - self.before[chunk];
        let first = chunk * PLACED_WORDS;
        for (word, &bits) in (first..).zip(self.bits.0.iter().skip(first)) {
            let ones = u64::from(bits.count_ones());
            if left < ones {
                // The lowest ones are removed until the one at the place is the lowest.
                let bits = (0..left).fold(bits, |bits, _| bits & (bits - 1));
                return Some(word as u64 * 64 + u64::from(bits.trailing_zeros()));
            }
            left -= ones;
        }
        None
    }

    /// The size of the set.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

/// The role of each item in the set join.
pub(super) struct ItemRoles {
    members: Bits,
    core: Bits,
}

impl ItemRoles {
    pub(super) fn new(items: u64) -> Self {
        Self {
            members: Bits::new(items),
            core: Bits::new(items),
        }
    }

    pub(super) fn of(&self, item: u64) -> JoinRole {
        match (self.core.has(item), self.members.has(item)) {
            (true, _) => JoinRole::Core,
            (false, true) => JoinRole::Fringe,
            (false, false) => JoinRole::None,
        }
    }

    /// Gives an item a role unless it has a greater one.
    pub(super) fn raise(&mut self, item: u64, role: JoinRole) {
        if role != JoinRole::None {
            self.members.set(item);
        }
        if role == JoinRole::Core {
            self.core.set(item);
        }
    }

    /// Takes items out of the set join.
    pub(super) fn leave_out(&mut self, items: &Bits) {
        self.members.remove_all(items);
        self.core.remove_all(items);
    }

    /// The items that take part in the set join, ascending.
    pub(super) fn members(&self) -> impl Iterator<Item = u64> {
        self.members.numbers()
    }

    /// The items that take part in the set join by their places among them.
    pub(super) fn member_places(&self) -> Places<'_> {
        self.members.places()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_greatest_role_until_they_are_left_out() {
        let mut roles = ItemRoles::new(130);
        for (item, role) in [
            (0, JoinRole::Core),
            (0, JoinRole::Fringe),
            (64, JoinRole::Fringe),
            (129, JoinRole::None),
            (129, JoinRole::Core),
            (7, JoinRole::None),
        ] {
            roles.raise(item, role);
        }
        let of = |roles: &ItemRoles| [0, 7, 64, 129, 500].map(|item| roles.of(item));
        let (none, fringe, core) = (JoinRole::None, JoinRole::Fringe, JoinRole::Core);
        assert_eq!(of(&roles), [core, none, fringe, core, none]);
        let mut left_out = Bits::new(130);
        left_out.set(129);
        roles.leave_out(&left_out);
        assert_eq!(of(&roles), [core, none, fringe, none, none]);
        assert!(roles.members().eq([0, 64]));
    }

    #[test]
    fn places_are_those_of_the_ascending_numbers() {
        let numbers: Vec<u64> = (0..3000)
            .filter(|n| n % 7 == 3 || n % 512 == 0 || (1200..1300).contains(n))
            .collect();
        let mut bits = Bits::new(6000);
        for &number in &numbers {
            bits.set(number);
        }
        let places = bits.places();
        assert_eq!(places.count(), numbers.len() as u64);
        for (place, &number) in (0..).zip(&numbers) {
            assert_eq!(places.number(place), Some(number));
        }
        assert_eq!(places.number(places.count()), None);
        assert_eq!(Bits::new(0).places().number(0), None);
    }
}
