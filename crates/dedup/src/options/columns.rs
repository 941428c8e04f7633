//! The fields that describe the cluster of a document, under the names that other tools use.

use serde::{Deserialize, Serialize};

/// A set of names for the fields that describe the cluster of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Columns {
    /// The names of twinprint: `cluster_id`, `cluster_size`, `is_leader`, `duplicate_of`, `hamming`, `jaccard`,
    /// `dup_count`.
    #[default]
    Twinprint,
    /// The names of DataTrove: `minhash_cluster_id` (-1 for a document without duplicates) and `minhash_cluster_size`.
    Datatrove,
    /// The names of text-dedup: `__CLUSTER__` and `__INDEX__`, which are equal for the kept document.
    TextDedup,
    /// The names of Duplodocus: `cc_id`, `cc_size` and `cc_idx` (0 for the kept document).
    Duplodocus,
    /// The field `dup_count` only.
    DupCount,
}
