#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`dedup`](fn@dedup) is the main job; [`forecast`] estimates its memory and disk space. [`source`] reads documents,
//! [`sink`] writes records and results, and [`radius`] chooses the Hamming radius. Files of fingerprints are read by
//! [`raw`], and searched as [`segment`]s of a [`store`].
#![forbid(unsafe_code)]

#[cfg(feature = "collections")]
mod collection_store;
mod main_job;

#[cfg(feature = "collections")]
pub use collection_store::Collections;
pub use main_job::{dedup, dedup_stage, dedup_to_objects, find, forecast};
pub use twinprint_cluster::{Group, Similarity, VerifiedPair, groups_of_pairs};
#[cfg(feature = "collections")]
pub use twinprint_collection as collection;
pub use twinprint_dedup::{
    AgainstForecast, AgainstProblem, Auto, ClusterFiles, Columns, DedupError, DedupJob, DedupOptions,
    EmptyTexts, Fate, FindInput, Forecast, Found, FoundDocument, FoundPair, FoundRecord, Keep, MAX_PAIR_ROWS,
    MAX_RADIUS, Mode, OnDisk, Order, PairRows, RejectedRecord, Room, Shortage, Stage, StageDamage,
    StageStatus, TaskShare, dedup_status, radius,
};
#[cfg(feature = "eval")]
pub use twinprint_eval::{self as eval, calibrate};
pub use twinprint_fingerprint::{HashKey, Width, hash_one, hyperplane};
pub use twinprint_index::{join, naive, plan, planner, segment, sort, store};
pub use twinprint_io::guard::catches_panics;
pub use twinprint_io::jobs::explanations::explanations;
pub use twinprint_io::jobs::fingerprints::{
    EntriesError, RecordVotes, RowFingerprint, Subject, Vector, fingerprints, parse_features, parse_vector,
};
pub use twinprint_io::jobs::idf::{IdfTableSize, build_idf};
pub use twinprint_io::jobs::keywords::keywords;
pub use twinprint_io::jobs::{RecordRow, TextFingerprints, index_export, index_join, text_fingerprints};
pub use twinprint_io::progress::{Progress, Silent, Unit, peak_memory};
pub use twinprint_io::results::{PartsReport, RecallReport, Report};
pub use twinprint_io::runs::Appended;
pub use twinprint_io::{
    JobError, OptionError, ProfileLabel, ProfilesDiffer, number, raw, results, sink, source, threads, work,
};
#[cfg(feature = "stream")]
pub use twinprint_stream as stream;
pub use twinprint_text::compare::{
    BitVotes, Comparison, EstimatedAngle, Explanation, FeatureComparison, FeatureWeights,
    FingerprintComparison, VectorComparison, compare, compare_features, compare_fingerprints,
    compare_vectors, estimated_angle,
};
pub use twinprint_text::measures;
pub use twinprint_text::{
    Analyzer, FeatureHash, FeatureVotes, Features, GivenFeatures, GivenFeaturesError, IdfError, IdfPower,
    IdfTable, MIN_FEATURES, Profile, StopWords, VotingFeature, Weight, WeightedFeature, compat,
    fingerprint_hex, parse_hash_number,
};

/// The example of the repository's README, compiled as a doctest.
#[cfg(doctest)]
#[expect(
    rustdoc::invalid_codeblock_attributes,
    reason = "the README names the files of its examples"
)]
#[doc = include_str!("../../../README.md")]
struct Readme;
