#![no_main]
//! Manifests of an index.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| twinprint_fuzz::open_index(Some(bytes), None));
