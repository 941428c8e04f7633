#![no_main]
//! Files named `a.json`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| twinprint_fuzz::read_and_copy("a.json", bytes));
