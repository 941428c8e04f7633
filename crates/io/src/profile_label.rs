//! Profile labels: the id and the checksum of the profile that made stored fingerprints.
//!
//! A label is stored as the id, a space and the checksum. Earlier versions stored labels without a checksum. Such a
//! label is equal to every label with the same id.

use std::fmt;

use twinprint_text::Profile;
use twinprint_text::compat::Recipe;

/// Identifies the profile that made a fingerprint, by id and checksum. Fingerprints of another SimHash library are
/// identified by the recipe that reproduces it.
///
/// ```
/// use twinprint_io::ProfileLabel;
/// use twinprint_text::Profile;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let label = ProfileLabel::of_profile(&Profile::default_for(64)?);
/// let stored = label.written();
/// let read = ProfileLabel::read(&stored).ok_or("no label")?;
/// read.check_same(&label)?;
///
/// let other = ProfileLabel::of_profile(&Profile::default_for(128)?);
/// assert!(other.check_same(&label).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileLabel {
    id: String,
    checksum: Option<u64>,
}

/// The error of comparing fingerprints that were made with two different profiles.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "fingerprints of the profiles {left} and {right} cannot be compared; make both with the same profile"
)]
pub struct ProfilesDiffer {
    left: ProfileLabel,
    right: ProfileLabel,
}

impl ProfileLabel {
    /// Returns the label of a profile.
    pub fn of_profile(profile: &Profile) -> Self {
        Self {
            id: profile.id(),
            checksum: Some(profile.checksum()),
        }
    }

    /// Returns the label of a recipe of another library. The label does not identify the word dictionaries of the
    /// recipe, because it is unknown which dictionaries the other library used.
    pub fn of_recipe(recipe: Recipe) -> Self {
        Self {
            id: recipe.name(),
            checksum: Some(recipe.checksum()),
        }
    }

    /// Returns the label of fingerprints of vectors, of `bits` bits, by Gaussian hyperplanes under the public key.
    pub fn of_vectors(bits: u32) -> Self {
        Self {
            id: format!("vectors-gaussian-{bits}"),
            checksum: None,
        }
    }

    /// Parses a stored label. Returns `None` for an empty string.
    pub fn read(written: &str) -> Option<Self> {
        let (id, checksum) = match written.rsplit_once(' ') {
            Some((id, digits)) if digits.len() == 16 => (id, u64::from_str_radix(digits, 16).ok()),
            _ => (written, None),
        };
        // If no checksum follows the last space, the space is part of the id.
        let id = if checksum.is_some() { id } else { written };
        (!written.is_empty()).then(|| Self {
            id: id.to_owned(),
            checksum,
        })
    }

    /// The id of the profile.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The checksum of the profile, or `None` for a label of an earlier version, which has none.
    pub fn checksum(&self) -> Option<u64> {
        self.checksum
    }

    /// Checks that fingerprints with the labels `self` and `other` can be compared, because they were made with the
    /// same profile.
    ///
    /// # Errors
    /// [`ProfilesDiffer`] with both labels, if the profiles differ.
    pub fn check_same(&self, other: &Self) -> Result<(), ProfilesDiffer> {
        let checksums = self.checksum.zip(other.checksum);
        if self.id == other.id && checksums.is_none_or(|(left, right)| left == right) {
            return Ok(());
        }
        Err(ProfilesDiffer {
            left: self.clone(),
            right: other.clone(),
        })
    }

    /// Returns the label in its stored form, which [`ProfileLabel::read`] parses.
    pub fn written(&self) -> String {
        match self.checksum {
            Some(checksum) => format!("{} {checksum:016x}", self.id),
            None => self.id.clone(),
        }
    }
}

impl fmt::Display for ProfileLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.checksum {
            Some(checksum) => write!(f, "{} (checksum {checksum:016x})", self.id),
            None => f.write_str(&self.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_label_is_read_back() {
        let own = ProfileLabel::of_profile(&Profile::default_for(64).unwrap());
        let other = ProfileLabel::of_recipe(Recipe::Leon);
        let bare = ProfileLabel::read("tp1-words-lntf-64").unwrap();
        for label in [&own, &other, &bare, &ProfileLabel::read("my own 12").unwrap()] {
            assert_eq!(ProfileLabel::read(&label.written()).as_ref(), Some(label));
        }
        assert_eq!(ProfileLabel::read(""), None);
        assert_eq!((bare.id(), bare.checksum()), ("tp1-words-lntf-64", None));
        assert_eq!(own.id(), "tp1-words-lntf-64");
    }

    #[test]
    fn the_error_of_different_profiles_names_both() {
        let own = ProfileLabel::of_profile(&Profile::default_for(64).unwrap());
        let other = ProfileLabel::of_recipe(Recipe::Leon);
        let error = own.check_same(&other).unwrap_err().to_string();
        assert!(
            error.contains("tp1-words-lntf-64 (checksum") && error.contains("1e0ng (checksum"),
            "{error}"
        );
        // A label of an earlier version has an id only, and is accepted. Another checksum with the same id is not.
        let bare = ProfileLabel::read("tp1-words-lntf-64").unwrap();
        assert_eq!((own.check_same(&bare), bare.check_same(&own)), (Ok(()), Ok(())));
        let changed = ProfileLabel::read("tp1-words-lntf-64 0123456789abcdef").unwrap();
        assert!(own.check_same(&changed).is_err());
    }
}
