//! Profiles from their names.

use pyo3::prelude::*;
use twinprint::Profile;

use crate::errors::argument;

/// The profile that `name` names. The name may state its width; `bits` is the width that the caller wants, 64 if the name
/// decides.
///
/// # Errors
/// `ValueError` for an unknown profile or width, and for a name with another width than `bits`.
pub(crate) fn profile(name: &str, bits: Option<u32>) -> PyResult<Profile> {
    let profile =
        Profile::parse_or_width(name, bits.unwrap_or(64)).map_err(|error| argument("profile", error))?;
    match bits {
        Some(bits) if profile.bits() != bits => {
            let problem = format_args!("{bits}, but the profile {name} has {}", profile.bits());
            Err(argument("bits", problem))
        }
        _ => Ok(profile),
    }
}
