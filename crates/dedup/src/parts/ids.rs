//! The types of the numbers that the search for partial copies uses.

use crate::ids::define_id;

define_id! {
    /// The number of a distinct text of a run. Texts are in the input order of the documents that stand for them.
    pub(crate) struct TextId;
}

define_id! {
    /// The number of a winnowed fingerprint that at least two texts have, in ascending order of the fingerprints. On disk
    /// only common fingerprints are numbered.
    pub(crate) struct FingerprintId;
}

define_id! {
    /// The number of a passage that many texts share, in the order in which passages are found.
    pub(super) struct PassageId;
}
