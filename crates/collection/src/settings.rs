//! The settings of a collection. They are chosen when the collection is created, and never change.

use serde::{Deserialize, Serialize};
use twinprint_text::Profile;

use super::error::CollectionError;

/// The default radius in which candidates are searched. It suits fingerprints of 128 bits whose candidates are
/// verified.
///
/// On the labelled sets of revisions, newswire and web pages, 97 to 99.9 % of the pairs with a Jaccard of 0.8 or more
/// are within this radius.
const DEFAULT_RADIUS: u32 = 16;
/// The default of `max_texts`: the largest number of texts that one document is compared with.
const DEFAULT_MAX_TEXTS: u32 = 64;
/// The default of `story_live`: the largest number of live stories. Memory, and the time to place a document, grow with
/// the number of live stories.
const DEFAULT_STORY_LIVE: u32 = 10_000;

/// The part of each document's text that a collection stores and on which it verifies duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Store))]
pub enum StoredContent {
    /// The whole text, compressed to about half its size. Duplicates are verified, and documents can be read, explained
    /// and exported with their texts.
    #[default]
    Text,
    /// The hashes of the text's shingles, 8 bytes per shingle, under a secret key of the collection. Duplicates are
    /// verified, although the text itself is not stored. Chinese texts are compared with Chinese texts only.
    Shingles,
    /// Nothing except the fingerprint. Verdicts are based on the Hamming distance alone and are not verified.
    None,
}

/// The rule that chooses the canonical document of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum CanonicalBy {
    /// The document of the group that was added first.
    #[default]
    First,
    /// The document of the group with the highest score.
    Score,
    /// The document of the group with the latest time.
    Newest,
    /// The document of the group with the shortest URL.
    ShortestUrl,
}

/// The settings of a collection, chosen when the collection is created.
///
/// # Examples
///
/// ```
/// use twinprint_collection::{CanonicalBy, Settings, StoredContent};
///
/// # fn main() -> Result<(), twinprint_collection::CollectionError> {
/// // Documents expire after 30 days, and no text is stored.
/// let settings = Settings {
///     store: StoredContent::Shingles,
///     canonical: CanonicalBy::Newest,
///     ttl: Some(30 * 86_400),
///     ..Settings::default()
/// };
/// let profile = settings.check()?;
/// assert_eq!(profile.bits(), 128);
///
/// let wide = Settings { k: 25, ..Settings::default() };
/// assert!(wide.check().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Settings {
    /// The id of the profile that makes the fingerprints. Their width must be 64 or 128 bits.
    #[cfg_attr(feature = "openapi", schema(example = "tp1-words-lntf-128"))]
    pub profile: String,
    /// The radius in which candidates are searched: at most 12 for fingerprints of 64 bits, and 24 for those of 128
    /// bits.
    #[cfg_attr(feature = "openapi", schema(maximum = 24))]
    pub k: u32,
    /// The minimum Jaccard of a duplicate: above 0 and at most 1.
    #[cfg_attr(feature = "openapi", schema(exclusive_minimum = 0.0, maximum = 1.0))]
    pub threshold: f64,
    /// The part of each document's text that the collection stores.
    pub store: StoredContent,
    /// The rule that chooses the canonical document of a group.
    pub canonical: CanonicalBy,
    /// The largest number of texts that one document is compared with, the nearest first. If a document has more
    /// candidates, its answer is marked as `limited`.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10000))]
    pub max_texts: u32,
    /// The seconds after which a document expires that has no time to live of its own. If it is absent, such a document
    /// never expires.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub ttl: Option<u64>,
    /// If true, the collection refuses texts without features, which are empty or have only punctuation. If false, each
    /// such text is new and leads a group of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reject_empty: bool,
    /// If true, fingerprints are made under a secret key, so that nobody can write a page that gets a chosen
    /// fingerprint. The collection then never returns fingerprints.
    pub keyed: bool,
    /// If true, the collection keeps stories: loose clusters of documents by terms and time. Every added document then
    /// needs a text, even if the collection does not store it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stories: bool,
    /// The minimum cosine between a document and the centre of a story that it may join: above 0 and at most 1. If it is
    /// absent, it is estimated from the first 2,000 documents that are placed by their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(exclusive_minimum = 0.0, maximum = 1.0))]
    pub story_threshold: Option<f64>,
    /// The minimum cosine between the centres of two stories at which they are merged: above 0 and at most 1. With 1,
    /// stories are never merged. If it is absent, it is estimated as `story_threshold` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(exclusive_minimum = 0.0, maximum = 1.0))]
    pub story_merge: Option<f64>,
    /// A story ends after this number of seconds without new members. The clock is the latest time of any document. If
    /// it is absent, stories do not end by time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub story_window: Option<u64>,
    /// The seconds after which the weight of a document in the centre of its story is halved. If it is absent, weights
    /// do not decay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub story_half_life: Option<u64>,
    /// The largest number of live stories. If there are more, the stories that have had no new members for the longest
    /// time end.
    #[serde(skip_serializing_if = "is_default_live")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000_000))]
    pub story_live: u32,
}

// Default values of the story settings are not written. So older versions of twinprint can read the settings of a
// collection without stories.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_default_live(live: &u32) -> bool {
    *live == DEFAULT_STORY_LIVE
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            profile: "tp1-words-lntf-128".to_owned(),
            k: DEFAULT_RADIUS,
            threshold: 0.8,
            store: StoredContent::Text,
            canonical: CanonicalBy::First,
            max_texts: DEFAULT_MAX_TEXTS,
            ttl: None,
            reject_empty: false,
            keyed: false,
            stories: false,
            story_threshold: None,
            story_merge: None,
            story_window: None,
            story_half_life: None,
            story_live: DEFAULT_STORY_LIVE,
        }
    }
}

impl Settings {
    /// Checks that all settings are valid and returns the profile of the fingerprints.
    ///
    /// # Errors
    /// [`CollectionError::Invalid`] or [`CollectionError::Limit`] for the first setting that is not allowed. The
    /// message states the allowed values.
    pub fn check(&self) -> Result<Profile, CollectionError> {
        let invalid = |why: String| CollectionError::Invalid(why);
        let profile = Profile::parse(&self.profile).map_err(|error| invalid(error.to_string()))?;
        let profile = if self.keyed {
            profile
                .with_key_id("collection")
                .map_err(|error| invalid(error.to_string()))?
        } else {
            profile
        };
        let widest = match profile.bits() {
            64 => 12,
            128 => 24,
            bits => {
                return Err(invalid(format!(
                    "profile: its fingerprints have {bits} bits, but a collection needs 64 or 128; give another profile"
                )));
            }
        };
        if self.k > widest {
            return Err(CollectionError::Limit {
                what: "k",
                limit: widest.into(),
                got: self.k.into(),
            });
        }
        if !(self.threshold > 0.0 && self.threshold <= 1.0) {
            return Err(invalid(format!(
                "threshold: {} is not allowed; give a number above 0 and at most 1",
                self.threshold
            )));
        }
        if !(1..=10_000).contains(&self.max_texts) {
            return Err(invalid(format!(
                "max_texts: {} is not allowed; give a number from 1 to 10000",
                self.max_texts
            )));
        }
        if self.ttl == Some(0) {
            return Err(invalid(
                "ttl: with 0 seconds every document would expire at once; give at least 1, or no ttl"
                    .to_owned(),
            ));
        }
        self.check_stories()?;
        Ok(profile)
    }

    /// True if a collection with these settings is what `asked` asks for. A story threshold that `asked` leaves to the
    /// documents may have any value here: collections of earlier versions have a given one.
    pub fn satisfy(&self, asked: &Self) -> bool {
        let asked = Self {
            story_threshold: asked.story_threshold.or(self.story_threshold),
            story_merge: asked.story_merge.or(self.story_merge),
            ..asked.clone()
        };
        *self == asked
    }

    /// True if the collection estimates a story threshold.
    pub(crate) fn estimates_stories(&self) -> bool {
        self.stories && (self.story_threshold.is_none() || self.story_merge.is_none())
    }

    /// Gives the story thresholds that earlier versions used if none were given.
    pub(crate) fn with_former_thresholds(self) -> Self {
        Self {
            story_threshold: self.story_threshold.or(Some(0.3)),
            story_merge: self.story_merge.or(Some(0.65)),
            ..self
        }
    }

    fn check_stories(&self) -> Result<(), CollectionError> {
        let invalid = |why: &str| Err(CollectionError::invalid(why));
        for (name, cosine) in [
            ("story_threshold", self.story_threshold),
            ("story_merge", self.story_merge),
        ] {
            if let Some(cosine) = cosine.filter(|&cosine| !(cosine > 0.0 && cosine <= 1.0)) {
                return Err(CollectionError::Invalid(format!(
                    "{name}: {cosine} is not allowed; give a number above 0 and at most 1"
                )));
            }
        }
        if self.story_window == Some(0) {
            return invalid(
                "story_window: with 0 seconds every story would end at once; give at least 1, or none",
            );
        }
        if self.story_half_life == Some(0) {
            return invalid(
                "story_half_life: with 0 seconds no document would have weight; give at least 1, or none",
            );
        }
        if !(1..=1_000_000).contains(&self.story_live) {
            return invalid("story_live: the number is not allowed; give one from 1 to 1000000");
        }
        let chosen = |s: &Self| {
            (
                s.story_threshold,
                s.story_merge,
                s.story_window,
                s.story_half_life,
                s.story_live,
            )
        };
        if !self.stories && chosen(self) != chosen(&Self::default()) {
            return invalid(
                "story_…: these settings have no effect without stories; give stories = true as well",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_settings_are_refused_with_their_names() {
        assert!(Settings::default().check().is_ok());
        let refuse = |change: fn(&mut Settings), name: &str| {
            let mut settings = Settings::default();
            change(&mut settings);
            let error = settings.check().unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        };
        refuse(|s| s.k = 25, "k: 25");
        refuse(|s| s.threshold = f64::NAN, "threshold");
        refuse(|s| s.threshold = 0.0, "threshold");
        refuse(|s| s.max_texts = 0, "max_texts");
        refuse(|s| s.ttl = Some(0), "ttl");
        refuse(|s| s.profile = "tp1-words-lntf-32".to_owned(), "64 or 128");
        refuse(|s| s.story_window = Some(60), "stories = true");
        refuse(|s| (s.stories, s.story_window) = (true, Some(0)), "story_window");
        refuse(
            |s| (s.stories, s.story_half_life) = (true, Some(0)),
            "story_half_life",
        );
        refuse(
            |s| (s.stories, s.story_threshold) = (true, Some(0.0)),
            "story_threshold",
        );
        refuse(|s| (s.stories, s.story_merge) = (true, Some(1.5)), "story_merge");
        refuse(|s| (s.stories, s.story_live) = (true, 0), "story_live");
        refuse(|s| s.profile = "nonsense".to_owned(), "not a profile");
    }
}
