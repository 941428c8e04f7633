//! Makes the invisible visible: control characters, and those that turn the direction of text.
//!
//! Names of files and ids of records are shown beside words of ours; what could hide, reorder or overwrite these is shown by its
//! number instead.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters shown of a name.
const LONGEST: usize = 240;

/// Whether a character is not shown as itself.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61C}' | '\u{AD}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

/// The text with hidden characters by number, such as `⟨U+202E⟩`; the end of a very long one, which tells more than its beginning.
pub fn visible(text: &str) -> Cow<'_, str> {
    let shown: Cow<'_, str> = if text.contains(hidden) {
        let mut shown = String::with_capacity(text.len() + 8);
        for c in text.chars() {
            if hidden(c) {
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
    // Bytes are an upper bound of characters, and cheap.
    if shown.len() <= LONGEST {
        return shown;
    }
    let length = shown.chars().count();
    if length <= LONGEST {
        return shown;
    }
    let end: String = shown.chars().skip(length - LONGEST).collect();
    Cow::Owned(format!("…{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_shown() {
        assert_eq!(visible("a/文.txt"), "a/文.txt");
        assert_eq!(visible("a\u{202E}b\0c\n"), "a⟨U+202E⟩b⟨U+0000⟩c⟨U+000A⟩");
        let long = "x".repeat(1000) + "end";
        assert!(visible(&long).ends_with("xend") && visible(&long).chars().count() == LONGEST + 1);
    }
}
