//! Jobs that do not compare documents: fingerprints and idf tables of inputs, and joins and exports of stored
//! fingerprints.

pub mod fingerprints;
pub mod idf;
pub mod index_export;
pub mod index_join;
