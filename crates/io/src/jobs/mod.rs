//! Jobs over inputs that compare no documents.

pub mod fingerprints;
pub mod idf;
pub mod index_export;
pub mod index_join;
