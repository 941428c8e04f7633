//! Hashes that distinguish runs.

use std::fmt::{self, Write};
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// The hash of a text, such as the debug output of a run's options. It includes the version, because another version may print the same
/// options differently.
pub fn hash(text: fmt::Arguments<'_>) -> u128 {
    let mut hashing = Hashing(SipHasher13::new());
    // Writing into the hash cannot fail.
    let _hashed = write!(hashing, "{}\n{text}", crate::VERSION);
    hashing.0.finish128().as_u128()
}

/// Writes text into a hash.
struct Hashing(SipHasher13);

impl Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
