//! Tests of what only this module can reach.
