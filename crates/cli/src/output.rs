//! The flags of an output directory.

use twinprint::sink::Existing;

/// The treatment of an earlier result, by `--overwrite`.
pub(crate) fn existing(overwrite: bool) -> Existing {
    if overwrite {
        Existing::Replace
    } else {
        Existing::Refuse
    }
}
