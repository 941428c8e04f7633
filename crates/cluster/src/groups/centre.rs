//! The bit-majority centre of a group: each bit has the value that most members have.
//!
//! The centre is used only to find the group: an item near the centre is compared with the group's leaders, and these
//! comparisons decide. The centre does not change after [`MAX_COUNTED_MEMBERS`] members, so that the cost of a group is
//! bounded.

use serde::{Deserialize, Serialize};
use twinprint_fingerprint::Width;

/// The maximum number of members that a centre counts. Later members do not change it.
const MAX_COUNTED_MEMBERS: u8 = 64;

/// The bit-majority centre of a group, as counts of its members by bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Centre {
    members: u8,
    /// For each bit, the number of counted members in which the bit is 1.
    ones: Vec<u8>,
}

impl Centre {
    /// Creates the centre of a group with one member.
    pub(super) fn new(fingerprint: u128) -> Self {
        let mut centre = Self {
            members: 0,
            ones: vec![0; u128::BITS as usize],
        };
        centre.add(fingerprint);
        centre
    }

    /// Counts a member, unless the centre counts [`MAX_COUNTED_MEMBERS`] already. Returns `true` if the member was
    /// counted.
    pub(super) fn add(&mut self, fingerprint: u128) -> bool {
        if self.members >= MAX_COUNTED_MEMBERS {
            return false;
        }
        self.members += 1;
        for (i, ones) in (0..).zip(&mut self.ones) {
            *ones += u8::from(fingerprint.bit(i));
        }
        true
    }

    /// The centre as a fingerprint: the majority of each bit, 0 if the votes are equal.
    pub(super) fn fingerprint(&self) -> u128 {
        let bits = (0..u128::BITS).zip(&self.ones);
        bits.fold(0, |f, (i, &ones)| f | u128::from(ones > self.members / 2) << i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_of_the_centre_is_the_majority_of_members() {
        let mut centre = Centre::new(0b1100);
        assert_eq!(centre.fingerprint(), 0b1100);
        centre.add(0b1010);
        centre.add(0b1001);
        assert_eq!(centre.fingerprint(), 0b1000);
        centre.add(0b0001);
        assert_eq!(centre.fingerprint(), 0b1000, "two of four are not a majority");
    }

    #[test]
    fn the_centre_stops_changing_at_the_member_limit() {
        let mut centre = Centre::new(0);
        let counted = (0..1000).filter(|_| centre.add(u128::MAX)).count();
        assert_eq!((counted, centre.fingerprint()), (63, u128::MAX));
    }
}
