//! Corpora and measurements at scale: the library of this package's programs.
//!
//! * [`documents`]: source documents, read from JSONL and split into sentences and units.
//! * [`disk`]: raw reads from a file.
//! * [`edit`]: seeded edits of a document.
//! * [`corpus`]: millions of documents generated from source documents.
//! * [`truth`]: exact Jaccard, in the engine's own measure.
//! * [`clock`]: wall and CPU time.
//! * [`contender`]: CPU times of functions for the same texts.
//! * [`rows`]: fingerprints to join.
//! * [`engine`]: runs of the command.
//! * [`connection`]: a client of the service.
//! * [`figure`]: results as SVG.
//! * [`table`]: results as Markdown.
//!
//! Everything that is generated depends only on the seed and the source documents.

pub mod clock;
pub mod connection;
pub mod contender;
pub mod corpus;
pub mod disk;
pub mod documents;
pub mod edit;
pub mod engine;
pub mod figure;
pub mod rows;
pub mod table;
pub mod truth;
