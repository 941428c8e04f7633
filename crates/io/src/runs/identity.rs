//! Computes hashes that distinguish runs.

use std::fmt::{self, Write};
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// Hashes a text that describes a run, such as the debug output of its options. The version of twinprint is hashed as
/// well, because the debug output may change between versions.
pub fn hash(text: fmt::Arguments<'_>) -> u128 {
    let mut hashing = Hashing(SipHasher13::new());
    // Writing to the hasher cannot fail.
    let _hashed = write!(hashing, "{}\n{text}", crate::VERSION);
    hashing.0.finish128().as_u128()
}

/// A hasher that text can be written to.
struct Hashing(SipHasher13);

impl Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
