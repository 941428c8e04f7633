//! twinprint

pub mod source;
