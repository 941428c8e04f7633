#![no_main]
//! Files named `a.arrow`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| twinprint_fuzz::read_and_copy_table("a.arrow", bytes));
