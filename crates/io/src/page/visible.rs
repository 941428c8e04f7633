//! Replaces invisible characters in names: control characters and characters that change the direction of text.
//!
//! Reports show names of files and ids of records within their own text. Characters that could hide, reorder or overwrite that text are shown
//! by their numbers.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The largest number of characters that are shown of a name.
const MAX_CHARS: usize = 240;

/// True if a character is shown by its number.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61C}' | '\u{AD}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

/// The text with hidden characters replaced by their numbers, such as `⟨U+202E⟩`. Of a very long text only the end is returned, which is more
/// specific than its beginning.
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
    // The number of bytes is an upper bound of the number of characters.
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
