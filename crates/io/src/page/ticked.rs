//! Names in Markdown reports.

use super::visible;

/// The name in backticks, with its own backticks replaced and hidden characters shown.
pub fn ticked(name: &str) -> String {
    format!("`{}`", visible(name).replace('`', "ˋ"))
}
