#![no_main]
//! Files of deleted ids.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| twinprint_fuzz::open_index(None, Some(bytes)));
