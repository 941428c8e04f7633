//! The canonical member of a group. A policy chooses it, and the choice is updated whenever a member joins.
//!
//! A policy is a list of preferences. The first preference by which two members differ decides; if they do not differ,
//! the earlier document is better. A group has one canonical member, or one for each site (host or domain) if copies on
//! different sites are all to be kept.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The maximum number of sites of a group that have a canonical member. Members on further sites are ignored.
const MAX_SITES: usize = 256;

/// A criterion by which one member is better than another.
///
/// ```
/// use twinprint_cluster::groups::{Preference, UnknownPreference};
///
/// # fn main() -> Result<(), UnknownPreference> {
/// let policy: Vec<Preference> = "https,url-length".split(',').map(str::parse).collect::<Result<_, _>>()?;
/// assert_eq!(policy, [Preference::Https, Preference::UrlLength]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preference {
    /// The higher score. A member without a score comes last.
    Score,
    /// The member that was seen earlier.
    First,
    /// The member that was seen later.
    Last,
    /// The longer text.
    Longest,
    /// The member whose web address begins with https.
    Https,
    /// The shorter web address. A member without an address comes last.
    UrlLength,
}

impl Preference {
    /// Each preference with its name.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("score", Self::Score),
        ("first", Self::First),
        ("last", Self::Last),
        ("longest", Self::Longest),
        ("https", Self::Https),
        ("url-length", Self::UrlLength),
    ];

    /// Returns `Less` if this preference makes `a` better than `b`.
    fn compare(self, a: &Member, b: &Member) -> Ordering {
        match self {
            Self::Score => match (a.score, b.score) {
                (Some(a), Some(b)) => b.total_cmp(&a),
                (a, b) => b.is_some().cmp(&a.is_some()),
            },
            Self::First => (a.time, a.document).cmp(&(b.time, b.document)),
            Self::Last => (b.time, b.document).cmp(&(a.time, a.document)),
            Self::Longest => b.length.cmp(&a.length),
            Self::Https => b.https.cmp(&a.https),
            Self::UrlLength => a.url_length.cmp(&b.url_length),
        }
    }
}

/// The error for a name that is not a preference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a preference; the preferences are score, first, last, longest, https and url-length")]
pub struct UnknownPreference(String);

impl FromStr for Preference {
    type Err = UnknownPreference;

    fn from_str(name: &str) -> Result<Self, UnknownPreference> {
        let known = Self::NAMES.into_iter().find(|(known, _)| *known == name);
        known
            .map(|(_, preference)| preference)
            .ok_or_else(|| UnknownPreference(name.to_owned()))
    }
}

/// The properties of a member that a policy compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The number of the member's document in the stream.
    pub document: u64,
    /// The external name of the member, as the caller supplies it.
    pub name: Box<str>,
    /// The site on which the member competes with other members. It is empty if all members of a group compete with one
    /// another.
    pub site: Box<str>,
    /// The score of the member; `None` if it has no score.
    pub score: Option<f32>,
    /// The time at which the member was seen, in seconds.
    pub time: i64,
    /// Length of the member's text in bytes.
    pub length: u64,
    /// True if the member's web address begins with https.
    pub https: bool,
    /// Length of the member's web address in bytes; `u32::MAX` if it has no address.
    pub url_length: u32,
}

/// The canonical member of a group on each site.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Canonicals(BTreeMap<Box<str>, Member>);

impl Canonicals {
    /// Makes `member` the canonical member of its site if it is better than the current one by `policy`.
    pub(super) fn offer(&mut self, member: Member, policy: &[Preference]) {
        let full = self.0.len() >= MAX_SITES;
        match self.0.get_mut(&member.site) {
            Some(best) => {
                let order = policy
                    .iter()
                    .map(|preference| preference.compare(&member, best))
                    .find(|order| order.is_ne());
                if order.unwrap_or(member.document.cmp(&best.document)).is_lt() {
                    *best = member;
                }
            }
            None if full => {}
            None => {
                self.0.insert(member.site.clone(), member);
            }
        }
    }

    /// Merges the canonical members of another group: for each site, the better one stays.
    pub(super) fn merge(&mut self, other: Self, policy: &[Preference]) {
        for member in other.0.into_values() {
            self.offer(member, policy);
        }
    }

    /// The canonical members, in the order of their sites.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(document: u64, url: &str, score: Option<f32>) -> Member {
        Member {
            document,
            name: url.into(),
            site: "".into(),
            score,
            time: document as i64,
            length: 100 - document,
            https: url.starts_with("https"),
            url_length: url.len() as u32,
        }
    }

    fn best(policy: &[Preference]) -> u64 {
        let mut canonicals = Canonicals::default();
        for member in [
            member(1, "http://a.example/long/path", None),
            member(2, "https://a.example/x", Some(0.5)),
            member(3, "http://a.example/", Some(0.9)),
            member(4, "https://a.example/", None),
        ] {
            canonicals.offer(member, policy);
        }
        canonicals.members().next().map_or(0, |member| member.document)
    }

    #[test]
    fn the_first_preference_in_which_members_differ_decides() {
        use Preference::{First, Https, Last, Longest, Score, UrlLength};
        assert_eq!(best(&[Score]), 3);
        assert_eq!(best(&[First]), 1);
        assert_eq!(best(&[Last]), 4);
        assert_eq!(best(&[Longest]), 1);
        assert_eq!(best(&[Https]), 2);
        assert_eq!(best(&[Https, UrlLength]), 4);
        assert_eq!(best(&[UrlLength]), 3);
        assert_eq!(best(&[]), 1);
    }

    #[test]
    fn each_site_has_a_canonical_member() {
        let mut canonicals = Canonicals::default();
        for (document, site) in [(1, "a"), (2, "b"), (3, "a")] {
            let member = Member {
                site: site.into(),
                ..member(document, "", None)
            };
            canonicals.offer(member, &[Preference::Last]);
        }
        let best: Vec<u64> = canonicals.members().map(|member| member.document).collect();
        assert_eq!(best, [3, 2]);
    }

    #[test]
    fn names_parse_to_their_preference() {
        for (name, preference) in Preference::NAMES {
            assert_eq!(name.parse(), Ok(preference));
        }
        assert!("newest".parse::<Preference>().is_err());
    }
}
