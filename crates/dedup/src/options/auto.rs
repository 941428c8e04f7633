//! Options whose value the program may choose.

use serde::{Deserialize, Serialize};

/// A number, or the program's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Auto {
    /// Chosen from the data.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// The number that the caller gave.
    Fixed(u32),
}
