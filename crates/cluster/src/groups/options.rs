//! The options of duplicate groups.

use super::canonical::Preference;

/// Options of duplicate groups.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupOptions {
    /// An item whose Jaccard with its leader is below this becomes a leader itself.
    pub lead_below: f64,
    /// Seconds after which a group without a new member is retired; `None` to keep all groups.
    pub window: Option<i64>,
    /// The most live groups; above that, those without a new member for longest are retired.
    pub live: usize,
    /// The maximum number of leaders compared with an item: the nearest of those found.
    pub compared: usize,
    /// The preferences by which a group's canonical member is chosen, the most important first.
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
