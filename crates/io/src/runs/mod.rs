//! Identifies runs: digests of what a run reads, and the records about runs that a collection or a stream stores.

pub mod identity;
mod input_digest;
mod record;

pub use input_digest::{DigestKey, InputDigest};
pub use record::{AddedRecord, Appended, EndedRun, KnownAnswer, KnownDocument, PastRun};
