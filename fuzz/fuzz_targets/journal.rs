#![no_main]
//! Journals of builds.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| twinprint_fuzz::resume_build(bytes));
