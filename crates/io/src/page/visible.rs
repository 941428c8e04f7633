//! Shows invisible characters in names as code points: control characters, and characters that change the direction of
//! text.
//!
//! Reports show file names and record ids, which come from the input. Without the replacement, a name could hide,
//! reorder or overwrite the text around it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The largest number of characters of a name that are shown.
const MAX_CHARS: usize = 240;

/// Returns true if a character is replaced by its code point.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61C}' | '\u{AD}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Returns the text with invisible characters replaced by their code points, such as `⟨U+202E⟩`. If the text is very
/// long, only its end is returned, because the end of a path is more specific than its beginning.
pub fn visible(text: &str) -> Cow<'_, str> {
    let shown: Cow<'_, str> = if text.contains(is_hidden) {
        let mut shown = String::with_capacity(text.len() + 8);
        for c in text.chars() {
            if is_hidden(c) {
                // Writing to a String cannot fail.
                let _ = write!(shown, "⟨U+{:04X}⟩", c as u32);
            } else {
                shown.push(c);
            }
        }
        Cow::Owned(shown)
    } else {
        Cow::Borrowed(text)
    };
    // A text has at most as many characters as bytes, so a text with few bytes need not be counted.
    if shown.len() <= MAX_CHARS {
        return shown;
    }
    let length = shown.chars().count();
    if length <= MAX_CHARS {
        return shown;
    }
    let end: String = shown.chars().skip(length - MAX_CHARS).collect();
    Cow::Owned(format!("…{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown_by_number() {
        assert_eq!(visible("a/文.txt"), "a/文.txt");
        assert_eq!(visible("a\u{202E}b\0c\n"), "a⟨U+202E⟩b⟨U+0000⟩c⟨U+000A⟩");
        let long = "x".repeat(1000) + "end";
        assert!(visible(&long).ends_with("xend") && visible(&long).chars().count() == MAX_CHARS + 1);
    }
}
