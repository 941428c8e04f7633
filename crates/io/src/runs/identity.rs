//! Hashes that distinguish one run from another.

use std::fmt::{self, Write};
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// A hash of a text, such as the options of a run as they print. Other versions may print the same options otherwise.
pub fn hash(text: fmt::Arguments<'_>) -> u128 {
    let mut hashing = Hashing(SipHasher13::new());
    // Nothing here fails: the text goes nowhere but into the hash.
    let _hashed = write!(hashing, "{}\n{text}", crate::VERSION);
    hashing.0.finish128().as_u128()
}

/// Text on its way into a hash.
struct Hashing(SipHasher13);

impl Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
