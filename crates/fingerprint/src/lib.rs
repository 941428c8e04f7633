//! Fingerprints of documents and vectors, and the kernels that make and compare them.
//!
//! A *feature* is a hash and a weight. A *fingerprint* is the sign of the weighted sum of the features'
//! hashes read as ±1 rows (Charikar 2002): similar feature sets get fingerprints at a small *Hamming
//! distance*. This crate makes feature hashes ([`hash_features`]), fingerprints ([`simhash`], [`Votes`],
//! [`hyperplane`]) and compares fingerprints ([`Width::distance`], [`kernel`]).
//!
//! Everything here is integer arithmetic in a fixed order, so the results are the same on every CPU and at
//! every SIMD level. Unsafe code lives in [`kernel`] alone, behind safe slice functions.
//!
//! ```
//! use twinprint_fingerprint::{HashKey, Span, Width, hash_features, simhash};
//!
//! let text = b"the cat sat";
//! let spans = [Span { start: 0, end: 3 }, Span { start: 4, end: 7 }, Span { start: 8, end: 11 }];
//! let mut hashes = Vec::new();
//! hash_features(&HashKey::PUBLIC, text, &spans, &mut hashes);
//! let f: u64 = simhash(&hashes, &[1, 2, 1]);
//! assert_eq!(f.distance(f), 0);
//! assert_eq!(u64::from_hex(&f.to_hex()), Ok(f));
//! ```
#![deny(unsafe_code)]

mod feature;
pub mod hyperplane;
#[expect(unsafe_code, reason = "the one home of intrinsics; all it exports is safe")]
pub mod kernel;
mod key;
mod votes;
mod width;

pub use feature::{
    Span, hash_features, hash_features_64, hash_features_at, hash_one, hash_windows_64, hash_windows_64_at,
};
pub use key::HashKey;
pub use votes::{Votes, accumulate, simhash};
pub use width::{ParseError, Width};
