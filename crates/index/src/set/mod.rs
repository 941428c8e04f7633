//! Exact candidates for set similarity: two sets at Jaccard ≥ t share one of their rarest tokens.
//!
//! This search is used for texts that are too short for a reliable fingerprint, and for the many texts of a hot row. A
//! set x contains the token hashes of a text. If J(x, y) ≥ t, then |x ∩ y| ≥ t·|x ∪ y| ≥ t·|x|. So at most |x| −
//! ⌈t·|x|⌉ tokens of x are missing from y, and the first |x| − ⌈t·|x|⌉ + 1 tokens of x, in any fixed order, contain a
//! token of the intersection. If the order is the same for both sets, the first common token is in the *prefixes* of
//! both. With the rarest tokens first, the prefixes of unrelated sets seldom share a token. (Bayardo, Ma, Srikant 2007;
//! Chaudhuri, Ganti, Kaushik 2006.)

mod bitmap;
mod distinct;
mod filter;
mod order;
mod place;
mod prefix;
mod presence;
mod run;
#[cfg(test)]
mod tests;
mod young;

pub use bitmap::TokenBitmap;
pub use distinct::least_distinct;
pub use filter::PrefixFilter;
pub use order::TokenOrder;
pub use prefix::PrefixIndex;
pub use presence::TokenPresence;
