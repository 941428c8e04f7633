//! The differences between the options of a state and those of a run.

use std::fmt;

/// A property of a stream that differs between its state and this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDifference {
    /// The name of the property; for an option in snake case, such as `story_threshold`.
    pub name: String,
    /// True if the property is an option, false if the version of this crate determines it.
    pub is_option: bool,
    /// The value in the state.
    pub stored: String,
    /// The value in this run.
    pub asked: String,
}

impl fmt::Display for StateDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name, stored, asked, ..
        } = self;
        write!(f, "{name} was {stored}, now {asked}")
    }
}

/// The differences between two descriptions of options, which have the same properties in the same order.
pub(super) fn differences(stored: &str, asked: &str) -> Vec<StateDifference> {
    let lines = stored.lines().zip(asked.lines());
    let differences = lines.filter(|(stored, asked)| stored != asked);
    let differences = differences.filter_map(|(stored, asked)| {
        let (name, stored) = stored.split_once(": ")?;
        let (_, asked) = asked.split_once(": ")?;
        let option = name.strip_prefix("--");
        Some(StateDifference {
            name: option.map_or_else(|| name.to_owned(), |name| name.replace('-', "_")),
            is_option: option.is_some(),
            stored: stored.to_owned(),
            asked: asked.to_owned(),
        })
    });
    differences.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_distinguished_from_limits() {
        let stored = "--threshold: 0.8\n--half-life: none\n--live: 50\nwords known: 100\n";
        let asked = "--threshold: 0.8\n--half-life: 12h\n--live: 50\nwords known: 200\n";
        let differences = differences(stored, asked);
        let sentences: Vec<String> = differences.iter().map(ToString::to_string).collect();
        assert_eq!(
            sentences,
            ["half_life was none, now 12h", "words known was 100, now 200"]
        );
        let are_options: Vec<bool> = differences
            .iter()
            .map(|difference| difference.is_option)
            .collect();
        assert_eq!(are_options, [true, false]);
    }
}
