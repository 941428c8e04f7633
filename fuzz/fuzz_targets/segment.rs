#![no_main]
//! A segment file: whatever the bytes are, opening refuses them or every answer comes out without a panic.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| twinprint_fuzz::open_segment(bytes));
