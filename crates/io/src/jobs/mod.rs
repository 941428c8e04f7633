//! Jobs that do not compare documents: fingerprints, features, keywords and idf tables of inputs, and joins and exports of stored
//! fingerprints.

mod each_record;
pub mod explanations;
pub mod fingerprints;
pub mod idf;
pub mod index_export;
pub mod index_join;
pub mod keywords;
mod text_fingerprints;

pub use each_record::RecordRow;
pub use text_fingerprints::{TextFingerprints, text_fingerprints};
