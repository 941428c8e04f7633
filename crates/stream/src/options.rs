//! The options of a stream.

use serde::{Deserialize, Serialize};
use twinprint_cluster::groups::GroupOptions;
use twinprint_cluster::stories::{Method, StoryOptions, Threshold};
use twinprint_text::{Features, Profile, ProfileError, Weight};

use super::time;
use twinprint_io::OptionError;

use crate::StreamError;

/// The description of a threshold that is estimated from the documents.
const ESTIMATED: &str = "estimated";

/// The part of a group for which one canonical member is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// The whole group has one canonical member.
    #[default]
    None,
    /// Each host has a canonical member, chosen among the members on that host.
    Host,
    /// Each registered domain has a canonical member, chosen among the members on that domain.
    Domain,
}

/// The options of a stream. Together with the documents they determine all groups and stories.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamOptions {
    /// The profile of the fingerprints, at 128 bits.
    pub profile: Profile,
    /// The minimum Jaccard between a duplicate and its leader, in (0, 1].
    pub threshold: f64,
    /// The largest Hamming distance, of 128 bits, at which a document is compared with a leader; at most 24.
    pub radius: u32,
    /// The options of groups.
    pub groups: GroupOptions,
    /// The options of stories.
    pub stories: StoryOptions,
    /// The part of a group for which one canonical member is chosen.
    pub scope: Scope,
}

impl StreamOptions {
    /// Returns the default options: words weighted 1 + ln tf, a Jaccard of 0.8, a radius of 20.
    ///
    /// # Errors
    /// A [`ProfileError`] if the default profile is invalid, which does not happen.
    pub fn new() -> Result<Self, ProfileError> {
        Ok(Self {
            profile: Profile::new(Features::Words, Weight::LogTf, 128)?,
            threshold: 0.8,
            radius: 20,
            groups: GroupOptions::default(),
            stories: StoryOptions::default(),
            scope: Scope::None,
        })
    }

    /// Checks that every option is in its range.
    ///
    /// # Errors
    /// An [`OptionError`] that names the first option out of its range.
    pub fn check(&self) -> Result<(), StreamError> {
        let share = |x: f64| x > 0.0 && x <= 1.0;
        let cosine = |threshold: Threshold| threshold.given().is_none_or(share);
        let checks = [
            (
                share(self.threshold),
                "threshold",
                "give a Jaccard above 0 and at most 1",
            ),
            (
                cosine(self.stories.threshold),
                "story_threshold",
                "give a cosine above 0 and at most 1",
            ),
            (
                self.stories.merge.is_none_or(cosine),
                "merge",
                "give a cosine above 0 and at most 1, or none",
            ),
            (self.radius <= 24, "radius", "give at most 24 bits (of 128)"),
            (
                !matches!(self.stories.method, Method::EqualBits(bits) if !(8..=24).contains(&bits)),
                "equal_bits",
                "give 8 to 24",
            ),
        ];
        match checks.into_iter().find(|(holds, ..)| !holds) {
            Some((_, option, problem)) => Err(OptionError::new(option, problem).into()),
            None => Ok(()),
        }
    }

    /// Replaces thresholds that these options leave to the documents by those that were given in `described`, the text
    /// of the options of a state. So a stream keeps the thresholds that it started with.
    pub(super) fn with_thresholds_of(mut self, described: &str) -> Self {
        let given = |option: &str| {
            let value = described.lines().find_map(|line| line.strip_prefix(option));
            value.and_then(|value| value.parse::<f64>().ok())
        };
        let stories = &mut self.stories;
        if let (Threshold::Estimated, Some(cosine)) = (stories.threshold, given("--story-threshold: ")) {
            stories.threshold = Threshold::Given(cosine);
        }
        if let (Some(Threshold::Estimated), Some(cosine)) = (stories.merge, given("--merge: ")) {
            stories.merge = (cosine < 1.0).then_some(Threshold::Given(cosine));
        }
        self
    }

    /// Formats the options as text, one per line. State files store this text and compare it when they are read, so its
    /// form is part of their format.
    pub(super) fn describe(&self) -> String {
        let span = |seconds: Option<i64>| seconds.map_or("none".to_owned(), time::span);
        let Self {
            profile,
            threshold,
            radius,
            groups,
            stories,
            scope,
        } = self;
        let bits = match stories.method {
            Method::Nearest => "none".to_owned(),
            Method::EqualBits(bits) => bits.to_string(),
        };
        let threshold_of = |threshold: Threshold| {
            threshold
                .given()
                .map_or(ESTIMATED.to_owned(), |cosine| cosine.to_string())
        };
        let live = if groups.live == stories.live {
            groups.live.to_string()
        } else {
            format!("{} groups, {} stories", groups.live, stories.live)
        };
        // Two dashes mark the options. Limits that the version determines have none.
        let options = [
            ("profile", profile.id()),
            ("threshold", threshold.to_string()),
            ("hamming", radius.to_string()),
            ("canonical", format!("{:?}", groups.policy)),
            ("canonical-scope", format!("{scope:?}")),
            ("group-window", span(groups.window)),
            ("story-threshold", threshold_of(stories.threshold)),
            ("merge", stories.merge.map_or("1".to_owned(), threshold_of)),
            ("window", span(stories.window)),
            ("half-life", span(stories.half_life)),
            ("equal-bits", bits),
            ("live", live),
        ];
        let limits = [
            ("centres compared", stories.compared.to_string()),
            ("words known", stories.vocabulary.to_string()),
            ("leaders from", groups.lead_below.to_string()),
            ("leaders compared", groups.compared.to_string()),
        ];
        let line = |(name, value): (&str, String)| format!("{name}: {}\n", value.to_lowercase());
        options.map(line).map(|line| format!("--{line}")).concat() + &limits.map(line).concat()
    }
}
