//! Profiles from their names.

use pyo3::prelude::*;
use twinprint::Profile;

use crate::errors::argument;

/// The profile that `name` names, at a width of `bits` bits. The name may state the width itself.
///
/// # Errors
/// `ValueError` for an unknown profile or width, and for a name with another width than `bits`.
pub(crate) fn profile(name: &str, bits: Option<u32>) -> PyResult<Profile> {
    let recipe_end = name.find('+').unwrap_or(name.len());
    let (recipe, options) = name.split_at(recipe_end);
    let whole = match (recipe.split('-').count(), bits) {
        (3, bits) => format!("{recipe}-{}{options}", bits.unwrap_or(64)),
        _ => name.to_owned(),
    };
    let profile = Profile::parse(&whole).map_err(|error| argument("profile", error))?;
    match bits {
        Some(bits) if profile.bits() != bits => Err(argument(
            "bits",
            format_args!("{bits}, but the profile {name} has {}", profile.bits()),
        )),
        _ => Ok(profile),
    }
}
