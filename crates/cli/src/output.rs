//! Options about an output directory.

use twinprint::sink::Existing;

/// Converts the option `--overwrite`: whether an earlier result in the output directory may be replaced.
pub(crate) fn existing(overwrite: bool) -> Existing {
    if overwrite {
        Existing::Replace
    } else {
        Existing::Refuse
    }
}
