//! Corpora and measurements at scale: what the programs of this package share.
//!
//! * [`documents`]: source documents, read from JSONL and cut into sentences and units.
//! * [`edit`]: seeded edits of a document.
//! * [`corpus`]: documents made from source documents, by the million.
//! * [`truth`]: exact Jaccard, by the engine's own measure.
//! * [`clock`]: wall and CPU time.
//! * [`rows`]: fingerprints to join.
//! * [`engine`]: running the command.
//! * [`connection`]: asking its service.
//! * [`figure`]: results as SVG.
//! * [`table`]: results as Markdown.
//!
//! Everything made is a function of the seed and the source documents alone.

pub mod clock;
pub mod connection;
pub mod corpus;
pub mod documents;
pub mod edit;
pub mod engine;
pub mod figure;
pub mod rows;
pub mod table;
pub mod truth;
