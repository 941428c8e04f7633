//! Exact candidates for set similarity: two sets at Jaccard ≥ t share one of their rarest tokens.
//!
//! It is used for texts too short for a reliable fingerprint, and for crowds of texts on one fingerprint. A set x is
//! the token hashes of a text. If J(x, y) ≥ t then |x ∩ y| ≥ t·|x ∪ y| ≥ t·|x|, so at most |x| − ⌈t·|x|⌉ tokens of x
//! are missing from y, and the
//! |x| − ⌈t·|x|⌉ + 1 first tokens of x in any fixed order hold a token of the intersection. Taking the same order for both,
//! the first common token is in both *prefixes*. With the rarest tokens first, prefixes meet seldom by chance.
//! (Bayardo, Ma, Srikant 2007; Chaudhuri, Ganti, Kaushik 2006.)

mod order;
mod place;
mod prefix;
mod run;
#[cfg(test)]
mod tests;
mod young;

pub use order::TokenOrder;
pub use prefix::PrefixIndex;
