//! The identity of runs: digests of what they read, and the records that a store keeps of them.

pub mod identity;
mod input_digest;
mod record;

pub use input_digest::{DigestKey, InputDigest};
pub use record::{AddedRecord, Appended, EndedRun, KnownAnswer, KnownDocument, PastRun};
