#![no_main]
//! Segment files: opening refuses the bytes, or every query answers without a panic.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| twinprint_fuzz::open_segment(bytes));
