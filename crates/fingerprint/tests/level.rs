//! The environment variable that lowers the level. It has its own test binary, because the level is determined once per process.

#![expect(
    clippy::missing_panics_doc,
    reason = "clippy checks private items here, and tests panic on purpose"
)]

use twinprint_fingerprint::kernel::{Level, level};

#[test]
fn the_variable_lowers_the_level_once() {
    // SAFETY: this binary has one test and no other thread that reads the environment.
    unsafe { std::env::set_var("TWINPRINT_SIMD", "scalar") };
    assert_eq!(level(), Level::SCALAR);
    // SAFETY: as above.
    unsafe { std::env::set_var("TWINPRINT_SIMD", "auto") };
    assert_eq!(level(), Level::SCALAR);
}
