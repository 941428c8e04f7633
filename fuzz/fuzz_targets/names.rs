#![no_main]
//! Files of names of an index.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| twinprint_fuzz::open_names(bytes));
