//! The bit-majority centre of a group: each bit as most of its members have it.
//!
//! It is what leader–follower clustering calls updating the centre, and serves the search alone: an item near the centre is compared with
//! the group's leaders, and only they decide. After [`FROZEN`] members it stays as it is, so that a group without end costs no more.

use serde::{Deserialize, Serialize};
use twinprint_fingerprint::Width;

/// Members counted.
const FROZEN: u8 = 64;

/// How many of the members counted have each bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Centre {
    members: u8,
    /// One count a bit.
    ones: Vec<u8>,
}

impl Centre {
    /// The centre of a group of one.
    pub(super) fn new(fingerprint: u128) -> Self {
        let mut centre = Self {
            members: 0,
            ones: vec![0; u128::BITS as usize],
        };
        centre.add(fingerprint);
        centre
    }

    /// Counts a member; whether it counted.
    pub(super) fn add(&mut self, fingerprint: u128) -> bool {
        if self.members >= FROZEN {
            return false;
        }
        self.members += 1;
        for (i, ones) in (0..).zip(&mut self.ones) {
            *ones += u8::from(fingerprint.bit(i));
        }
        true
    }

    /// The majority of each bit; 0 where there is none.
    pub(super) fn fingerprint(&self) -> u128 {
        let bits = (0..u128::BITS).zip(&self.ones);
        bits.fold(0, |f, (i, &ones)| f | u128::from(ones > self.members / 2) << i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_has_each_bit_as_most_members_have_it() {
        let mut centre = Centre::new(0b1100);
        assert_eq!(centre.fingerprint(), 0b1100);
        centre.add(0b1010);
        centre.add(0b1001);
        assert_eq!(centre.fingerprint(), 0b1000);
        centre.add(0b0001);
        assert_eq!(centre.fingerprint(), 0b1000, "two of four are no majority");
    }

    #[test]
    fn it_freezes() {
        let mut centre = Centre::new(0);
        let counted = (0..1000).filter(|_| centre.add(u128::MAX)).count();
        assert_eq!((counted, centre.fingerprint()), (63, u128::MAX));
    }
}
