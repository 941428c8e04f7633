//! SimHash fingerprints of weighted features and of vectors, and the SIMD kernels that make and compare them.
//!
//! A *feature* is a hash and a weight. A *fingerprint* is the sign of the weighted sum of the features' hashes
//! read as ±1 rows (Charikar 2002): similar feature sets get fingerprints at a small *Hamming distance*. This
//! crate makes feature hashes ([`hash_features`]) and fingerprints ([`simhash`], [`Votes`], [`hyperplane`]), and
//! compares fingerprints ([`Width::distance`], [`kernel`]).
//!
//! Everything here is integer arithmetic in a fixed order, so that the results are the same on every CPU and at
//! every SIMD level. Unsafe code is in [`kernel`] only, behind safe slice functions.
//!
//! ```
//! use twinprint_fingerprint::{HashKey, Span, Width, hash_features, simhash};
//!
//! /// The fingerprint of a text's words, each of weight 1.
//! fn fingerprint(text: &str) -> u64 {
//!     let mut spans = Vec::new();
//!     for word in text.split_ascii_whitespace() {
//!         let start = (word.as_ptr() as usize - text.as_ptr() as usize) as u32;
//!         spans.push(Span { start, end: start + word.len() as u32 });
//!     }
//!     let mut hashes = Vec::new();
//!     hash_features(&HashKey::PUBLIC, text.as_bytes(), &spans, &mut hashes);
//!     simhash(&hashes, &vec![1; hashes.len()])
//! }
//!
//! let a = fingerprint("the quick brown fox jumps over the lazy dog and runs into the wood");
//! let b = fingerprint("the quick brown fox jumps over the lazy cat and runs into the wood");
//! let c = fingerprint("stock markets fell sharply on Monday after weak data from China");
//! assert!(a.distance(b) < a.distance(c));
//! ```
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    expect(
        clippy::missing_panics_doc,
        reason = "clippy checks private items here, and tests panic on purpose"
    )
)]

mod feature;
mod hits;
pub mod hyperplane;
#[expect(
    unsafe_code,
    reason = "the only module with intrinsics; everything it exports is safe"
)]
pub mod kernel;
mod key;
mod level;
pub mod rabin;
mod short_feature;
mod votes;
mod width;
mod window_feature;

pub use feature::{
    Span, hash_features, hash_features_64, hash_features_at, hash_one, hash_windows_64, hash_windows_64_at,
};
pub use key::HashKey;
pub use short_feature::{ShortFeature, hash_short_features, hash_short_features_at};
pub use votes::{Votes, accumulate, simhash};
pub use width::{ParseError, Width};
pub use window_feature::WindowFeature;

/// The example of the README, compiled as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
