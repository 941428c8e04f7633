//! Comparisons of two documents, as JSON.

use pyo3::prelude::*;
use pyo3::types::PyString;
use twinprint::hyperplane::Hyperplanes;
use twinprint::measures::TermVector;
use twinprint::{
    GivenFeatures, HashKey, Vector, compare, compare_features, compare_fingerprints, compare_vectors,
    parse_features, parse_vector,
};

use crate::errors::argument;
use crate::json::to_json;
use crate::profile::profile;

/// The width of the fingerprints of vectors if no argument gives it.
const DEFAULT_BITS: u32 = 64;

/// Refuses a width that fingerprints cannot have.
fn check_width(bits: u32) -> PyResult<()> {
    if matches!(bits, 16 | 32 | 64 | 128) {
        return Ok(());
    }
    let problem = format!("{bits} is not a width; give 16, 32, 64 or 128");
    Err(argument("bits", problem))
}

/// Compares two texts.
#[pyfunction]
pub(crate) fn compare_two_texts(
    py: Python<'_>,
    a: &Bound<'_, PyString>,
    b: &Bound<'_, PyString>,
    profile_id: &str,
    bits: Option<u32>,
    explain: bool,
) -> PyResult<String> {
    let profile = profile(profile_id, bits)?;
    let (a, b) = (a.to_string_lossy(), b.to_string_lossy());
    to_json(&py.detach(|| compare(&a, &b, &profile, explain)))
}

/// Compares two fingerprints, which are given in hexadecimal.
#[pyfunction]
pub(crate) fn compare_two_fingerprints(a: &str, b: &str, bits: u32) -> PyResult<String> {
    check_width(bits)?;
    let read = |name, text| {
        let number = u128::from_str_radix(text, 16).map_err(|error| argument(name, error))?;
        if number > u128::MAX >> (128 - bits) {
            return Err(argument(
                name,
                format!("the fingerprint has more than {bits} bits"),
            ));
        }
        Ok(number)
    };
    to_json(&compare_fingerprints(read("a", a)?, read("b", b)?, bits))
}

/// Compares two sets of weighted features, which are given as JSON.
#[pyfunction]
pub(crate) fn compare_two_features(
    py: Python<'_>,
    a: &str,
    b: &str,
    profile_id: &str,
    bits: Option<u32>,
) -> PyResult<String> {
    let profile = profile(profile_id, bits)?;
    let votes = |name, json| {
        let features = parse_features(json).map_err(|error| argument(name, error))?;
        let rules = GivenFeatures::of_profile(&profile, HashKey::PUBLIC);
        rules.votes(features).map_err(|error| argument(name, error))
    };
    let compared = py.detach(|| PyResult::Ok(compare_features(&votes("a", a)?, &votes("b", b)?)))?;
    to_json(&compared)
}

/// Compares two vectors, which are given as JSON.
#[pyfunction]
pub(crate) fn compare_two_vectors(py: Python<'_>, a: &str, b: &str, bits: Option<u32>) -> PyResult<String> {
    let bits = bits.unwrap_or(DEFAULT_BITS);
    check_width(bits)?;
    let read = |name, json| {
        let vector = parse_vector(json).map_err(|error| argument(name, error))?;
        let votes = Hyperplanes::new(HashKey::PUBLIC, bits).of(&vector.components);
        let votes = votes.map_err(|error| argument(name, error))?;
        PyResult::Ok((components(&vector), votes.fingerprint))
    };
    let compared = py.detach(|| {
        let ((a, x), (b, y)) = (read("a", a)?, read("b", b)?);
        PyResult::Ok(compare_vectors(&a, &b, compare_fingerprints(x, y, bits)))
    })?;
    to_json(&compared)
}

fn components(vector: &Vector) -> TermVector {
    let components = vector.components.iter();
    TermVector::of_components(components.map(|(dimension, value)| (dimension.hash(&HashKey::PUBLIC), *value)))
}
