//! twinprint

pub mod sink;
pub mod source;
