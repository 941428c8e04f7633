//! The numberings of the search for partial copies.

use crate::ids::define_id;

define_id! {
    /// One of the different texts of a run, in the input order of the documents that stand for them.
    pub(super) struct TextId;
}

define_id! {
    /// A winnowed fingerprint that two texts or more have, in the order of the values.
    pub(super) struct FingerprintId;
}

define_id! {
    /// A passage of many texts, in the order in which passages are found.
    pub(super) struct PassageId;
}
