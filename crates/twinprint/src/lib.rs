//! twinprint
