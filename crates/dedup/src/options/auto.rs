//! Options whose value the program may choose.

use serde::{Deserialize, Serialize};

/// A number that is given, or that the program chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Auto {
    /// The program chooses the number from the data.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// The caller gives the number.
    Fixed(u32),
}
