//! Limits on the number of edges: by the corpus, above which rows become hot, and by the memory limit.

use crate::memory::EDGE_BYTES;
use crate::options::DedupOptions;

/// The maximum number of edges in memory, in addition to eight for each fingerprint.
const MAX_EDGES: u64 = 16_000_000;

/// The number of edges that fit into a quarter of the memory limit; unlimited without a memory limit.
pub(super) fn allowed_edges(options: &DedupOptions) -> u64 {
    options.memory.map_or(u64::MAX, |memory| memory / 4 / EDGE_BYTES)
}

/// The number of edges by which rows become hot, for a corpus of `fingerprints` distinct fingerprints.
pub(crate) fn edge_limit(fingerprints: u64) -> u64 {
    MAX_EDGES + 8 * fingerprints
}

/// The limits on the number of edges.
#[derive(Clone, Copy)]
pub(super) struct EdgeLimits {
    /// The limit by which rows become hot, which depends on the corpus alone.
    pub(super) all: u64,
    /// The number of edges that fit into memory. The set join replaces the others.
    pub(super) in_memory: u64,
}

impl EdgeLimits {
    /// The limits for a corpus of `fingerprints` distinct fingerprints.
    pub(super) fn new(fingerprints: u64, options: &DedupOptions) -> Self {
        let all = edge_limit(fingerprints);
        Self {
            all,
            in_memory: all.min(allowed_edges(options)),
        }
    }
}

/// The largest number of edges in memory for a corpus of `fingerprints` distinct fingerprints.
pub(crate) fn max_edges(fingerprints: u64, options: &DedupOptions) -> u64 {
    EdgeLimits::new(fingerprints, options).in_memory
}
