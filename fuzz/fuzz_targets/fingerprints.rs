#![no_main]
//! Files of fingerprints, of every format and width.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| twinprint_fuzz::read_fingerprints(bytes));
