//! Formats names in Markdown reports.

use super::visible;

/// Returns the name in backticks. Backticks in the name are replaced, and invisible characters are shown as their code
/// points.
pub fn ticked(name: &str) -> String {
    format!("`{}`", visible(name).replace('`', "ˋ"))
}
