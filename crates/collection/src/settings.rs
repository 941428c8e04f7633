//! What is laid down when a collection is made and does not change after.

use serde::{Deserialize, Serialize};
use twinprint_text::Profile;

use super::error::CollectionError;

/// How far apart fingerprints may lie to be compared, where the text decides (128 bits).
///
/// On the labelled sets of revisions, newswire and web pages this radius holds 97 to 99.9 % of the pairs at Jaccard 0.8 or more.
const DEFAULT_RADIUS: u32 = 16;
/// Texts looked at for one document at most.
const DEFAULT_MAX_TEXTS: u32 = 64;
/// Stories that live at most. What they take in memory and the time to place a document grow with them.
const DEFAULT_STORY_LIVE: u32 = 10_000;

/// What is kept of a text, and so what a verdict rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Store))]
pub enum StoredContent {
    /// The text itself, compressed: about half its bytes. Verdicts are verified, and documents can be read back, explained and exported.
    #[default]
    Text,
    /// The hashes of its shingles, 8 bytes a shingle, under a key that never leaves the collection. Verdicts are verified; the text is not
    /// kept. A Chinese text is compared with Chinese texts alone.
    Shingles,
    /// The fingerprint alone. Verdicts go by Hamming distance and are not verified.
    None,
}

/// Which member of a group stands for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum CanonicalBy {
    /// The one that came first.
    #[default]
    First,
    /// The one with the highest score.
    Score,
    /// The one with the latest time.
    Newest,
    /// The one with the shortest URL.
    ShortestUrl,
}

/// The settings of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Settings {
    /// Id of the profile of the fingerprints, 64 or 128 bits wide.
    #[cfg_attr(feature = "openapi", schema(example = "tp1-words-lntf-128"))]
    pub profile: String,
    /// Radius of the candidates: up to 12 at 64 bits, 24 at 128.
    #[cfg_attr(feature = "openapi", schema(maximum = 24))]
    pub k: u32,
    /// Least Jaccard of a duplicate, in (0, 1].
    #[cfg_attr(feature = "openapi", schema(exclusive_minimum = 0.0, maximum = 1.0))]
    pub threshold: f64,
    /// What is kept of a text.
    pub store: StoredContent,
    /// Which member of a group stands for it.
    pub canonical: CanonicalBy,
    /// Texts looked at for one document at most, the nearest first; an answer that reached it says so.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10000))]
    pub max_texts: u32,
    /// Seconds after which documents expire that have no time of their own; nothing keeps them for good.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub ttl: Option<u64>,
    /// Texts without features (empty, or punctuation alone) are refused. Otherwise each is new, in a group of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reject_empty: bool,
    /// Fingerprints are made under a secret key, which nobody outside can steer pages by; they are then never given out.
    pub keyed: bool,
    /// Stories are kept: loose clusters of the documents by terms and time. Needs a text of every document, whatever is kept of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stories: bool,
    /// Least cosine of a document and the centre of its story, in (0, 1].
    #[serde(skip_serializing_if = "is_default_threshold")]
    #[cfg_attr(feature = "openapi", schema(exclusive_minimum = 0.0, maximum = 1.0))]
    pub story_threshold: f64,
    /// Least cosine of the centres of two stories that become one; 1 keeps them apart.
    #[serde(skip_serializing_if = "is_default_merge")]
    #[cfg_attr(feature = "openapi", schema(exclusive_minimum = 0.0, maximum = 1.0))]
    pub story_merge: f64,
    /// Seconds after which a story ends that gained nothing, by the latest time of any document; nothing lets them live.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub story_window: Option<u64>,
    /// Seconds in which the weight of a document in its story's centre halves; nothing keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub story_half_life: Option<u64>,
    /// Stories that live at most; those idle for longest end beyond that.
    #[serde(skip_serializing_if = "is_default_live")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000_000))]
    pub story_live: u32,
}

// What is as always is not written, so that older versions read the settings of collections without stories.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::float_cmp,
    reason = "as serde calls it, and the very number"
)]
fn is_default_threshold(threshold: &f64) -> bool {
    *threshold == Settings::default().story_threshold
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::float_cmp,
    reason = "as serde calls it, and the very number"
)]
fn is_default_merge(merge: &f64) -> bool {
    *merge == Settings::default().story_merge
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
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
            story_threshold: 0.3,
            story_merge: 0.65,
            story_window: None,
            story_half_life: None,
            story_live: DEFAULT_STORY_LIVE,
        }
    }
}

impl Settings {
    /// The profile, once everything else makes sense as well.
    ///
    /// # Errors
    /// What cannot be, with what can.
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
                    "profile: a collection's fingerprints have 64 or 128 bits, not {bits}"
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
                "threshold: {} is not above 0 and at most 1",
                self.threshold
            )));
        }
        if !(1..=10_000).contains(&self.max_texts) {
            return Err(invalid(format!(
                "max_texts: {} is not between 1 and 10000",
                self.max_texts
            )));
        }
        if self.ttl == Some(0) {
            return Err(invalid("ttl: 0 seconds would keep nothing".to_owned()));
        }
        self.check_stories()?;
        Ok(profile)
    }

    /// Whether what stands beside a text decides anything: its time and title a story, its time, url or score who stands for a group.
    pub fn uses_details(&self) -> bool {
        self.stories || self.canonical != CanonicalBy::First
    }

    fn check_stories(&self) -> Result<(), CollectionError> {
        let invalid = |why: &str| Err(CollectionError::invalid(why));
        for (name, cosine) in [
            ("story_threshold", self.story_threshold),
            ("story_merge", self.story_merge),
        ] {
            if !(cosine > 0.0 && cosine <= 1.0) {
                return Err(CollectionError::Invalid(format!(
                    "{name}: {cosine} is not above 0 and at most 1"
                )));
            }
        }
        if self.story_window == Some(0) {
            return invalid("story_window: 0 seconds would end every story at once");
        }
        if self.story_half_life == Some(0) {
            return invalid("story_half_life: 0 seconds would leave a story without a centre");
        }
        if !(1..=1_000_000).contains(&self.story_live) {
            return invalid("story_live: not between 1 and 1000000");
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
                "story_…: these settings are for a collection that keeps stories; give stories = true as well",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_be_are_refused_by_name() {
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
            |s| (s.stories, s.story_threshold) = (true, 0.0),
            "story_threshold",
        );
        refuse(|s| (s.stories, s.story_merge) = (true, 1.5), "story_merge");
        refuse(|s| (s.stories, s.story_live) = (true, 0), "story_live");
        refuse(|s| s.profile = "nonsense".to_owned(), "not a profile");
    }
}
