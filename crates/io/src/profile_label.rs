//! Profile labels: the id and the checksum of the profile that made stored fingerprints.
//!
//! A label is written as the id, a space and the checksum. A label without a checksum, as earlier versions wrote it, is compared by its id
//! alone.

use std::fmt;

use twinprint_text::Profile;
use twinprint_text::compat::Recipe;

/// The id and the checksum of a profile of this engine, or of a recipe of another library.
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

/// Two different profiles, whose fingerprints cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fingerprints of different profiles cannot be compared: {left} and {right}")]
pub struct ProfilesDiffer {
    left: ProfileLabel,
    right: ProfileLabel,
}

impl ProfileLabel {
    /// The label of a profile.
    pub fn of_profile(profile: &Profile) -> Self {
        Self {
            id: profile.id(),
            checksum: Some(profile.checksum()),
        }
    }

    /// The label of a recipe of another library. The dictionaries are not part of it, because they are not known for fingerprints that the
    /// library made.
    pub fn of_recipe(recipe: Recipe) -> Self {
        Self {
            id: recipe.name(),
            checksum: Some(recipe.checksum()),
        }
    }

    /// Reads a written label; `None` for an empty string.
    pub fn read(written: &str) -> Option<Self> {
        let (id, checksum) = match written.rsplit_once(' ') {
            Some((id, digits)) if digits.len() == 16 => (id, u64::from_str_radix(digits, 16).ok()),
            _ => (written, None),
        };
        // A space that is not followed by a checksum is part of the id.
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

    /// The checksum, if it is known.
    pub fn checksum(&self) -> Option<u64> {
        self.checksum
    }

    /// Checks that fingerprints of both profiles can be compared.
    ///
    /// # Errors
    /// [`ProfilesDiffer`] with both labels.
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

    /// The written form, which [`ProfileLabel::read`] reads.
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
