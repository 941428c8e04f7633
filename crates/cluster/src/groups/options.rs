//! The options of duplicate groups.

use super::canonical::Preference;

/// Options of duplicate groups.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupOptions {
    /// An item that joins a group becomes a further leader if its Jaccard with its leader is below this value.
    pub lead_below: f64,
    /// A group is retired if it gains no member for this number of seconds; `None` keeps all groups live.
    pub window: Option<i64>,
    /// The maximum number of live groups. If there are more, the groups that gained no member for the longest time are
    /// retired.
    pub live: usize,
    /// The maximum number of leaders that an item is compared with. The nearest leaders are used.
    pub compared: usize,
    /// The preferences that choose a group's canonical member, the most important first.
    pub policy: Vec<Preference>,
}

impl Default for GroupOptions {
    fn default() -> Self {
        Self {
            lead_below: 0.9,
            window: None,
            live: 1_000_000,
            compared: 64,
            policy: vec![Preference::First],
        }
    }
}
