//! Profiles from their names.

use pyo3::prelude::*;
use twinprint::Profile;

use crate::errors::argument;

/// The profile that `name` names, at a width of `bits` bits. The name may state the width itself.
///
/// # Errors
/// `ValueError` for an unknown profile or width, and for a name with another width than `bits`.
pub(crate) fn profile(name: &str, bits: u32) -> PyResult<Profile> {
    let profile = Profile::parse_or_width(name, bits).map_err(|error| argument("profile", error))?;
    if profile.bits() == bits {
        Ok(profile)
    } else {
        let problem = format_args!("{bits}, but the profile {name} has {}", profile.bits());
        Err(argument("bits", problem))
    }
}
