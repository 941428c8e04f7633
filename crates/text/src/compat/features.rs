//! Features of other libraries, as substrings of a text or as strings made from it.

use unicode_general_category::{GeneralCategory, get_general_category};

/// The words of `mfonda/simhash`: the matches of Go's regular expression `[\w']+(://[\w./]+)?`, in which `\w` is ASCII
/// only. `lower` is the text in lower case.
pub(super) fn words_and_addresses(lower: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = lower;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c| !(is_word(c) || c == '\''));
        let after = rest.trim_start_matches(|c| is_word(c) || c == '\'');
        if after.len() == rest.len() {
            return None;
        }
        let after = match after.strip_prefix("://") {
            Some(address) if address.starts_with(|c| is_word(c) || c == '.' || c == '/') => {
                address.trim_start_matches(|c| is_word(c) || c == '.' || c == '/')
            }
            _ => after,
        };
        let (word, later) = rest.split_at(rest.len() - after.len());
        rest = later;
        Some(word)
    })
}

/// The text in lower case by Go's rules: each character is mapped by itself, to exactly one character.
pub(super) fn lower_one_by_one(text: &str) -> String {
    text.chars().filter_map(|c| c.to_lowercase().next()).collect()
}

/// All overlapping windows of `n` bytes, except the last window, which `AllenDang/simhash` ignores.
pub(super) fn byte_windows_but_the_last(text: &str, n: usize) -> impl Iterator<Item = &[u8]> {
    let windows = (text.len() + 1).saturating_sub(n);
    text.as_bytes().windows(n).take(windows.saturating_sub(1))
}

/// All overlapping windows of `n` characters; the last one is left out if `without_the_last` is true. A text of fewer
/// than `n` characters has no window.
pub(super) fn char_windows(text: &str, n: usize, without_the_last: bool) -> impl Iterator<Item = &str> {
    let ends = text
        .char_indices()
        .map(|(offset, _)| offset)
        .chain([text.len()])
        .skip(n);
    let count = (text.chars().count() + 1).saturating_sub(n);
    let windows = text.char_indices().zip(ends);
    let take = count.saturating_sub(usize::from(without_the_last));
    windows
        .take(take)
        .map(|((from, _), to)| text.get(from..to).unwrap_or_default())
}

/// All pairs of neighbouring UTF-16 units, as Java's `charAt` returns them, each converted to UTF-8. A lone surrogate
/// becomes a question mark.
pub(super) fn utf16_pairs(text: &str) -> impl Iterator<Item = String> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let count = units.len().saturating_sub(1);
    (0..count).map(move |i| {
        let pair = units.get(i..i + 2).unwrap_or_default().iter().copied();
        char::decode_utf16(pair).map(|c| c.unwrap_or('?')).collect()
    })
}

/// The characters of a text in lower case, without those that are neither matched by Python's `\w` nor from U+4E00 to
/// U+9FCC.
pub(super) fn word_characters(text: &str) -> String {
    let lower = text.to_lowercase();
    lower
        .chars()
        .filter(|&c| c == '_' || is_alphanumeric_in_python(c))
        .collect()
}

/// Returns `true` if Python counts the character as a letter or a number; unlike in Unicode's definition, marks are
/// not.
fn is_alphanumeric_in_python(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    matches!(
        get_general_category(c),
        GeneralCategory::UppercaseLetter
            | GeneralCategory::LowercaseLetter
            | GeneralCategory::TitlecaseLetter
            | GeneralCategory::ModifierLetter
            | GeneralCategory::OtherLetter
            | GeneralCategory::DecimalNumber
            | GeneralCategory::LetterNumber
            | GeneralCategory::OtherNumber
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_mfonda() {
        let words: Vec<&str> =
            words_and_addresses("it's at http://a.b/c?d or http:// or été, über x_1").collect();
        let expected = [
            "it's",
            "at",
            "http://a.b/c",
            "d",
            "or",
            "http",
            "or",
            "t",
            "ber",
            "x_1",
        ];
        assert_eq!(words, expected);
        assert_eq!(lower_one_by_one("ABC ÉİK"), "abc éik");
    }

    #[test]
    fn windows() {
        let bytes = |text| byte_windows_but_the_last(text, 4).count();
        assert_eq!(
            [bytes(""), bytes("abc"), bytes("abcd"), bytes("abcde")],
            [0, 0, 0, 1]
        );
        let windows = |text, last| char_windows(text, 2, last).collect::<Vec<_>>();
        assert_eq!(windows("中文字", false), ["中文", "文字"]);
        assert_eq!(windows("中文字", true), ["中文"]);
        assert_eq!(windows("中", false), [""; 0]);
        assert_eq!(windows("", true), [""; 0]);
        assert_eq!(utf16_pairs("a中𠀀").collect::<Vec<_>>(), ["a中", "中?", "𠀀"]);
        assert_eq!(utf16_pairs("a").count() + utf16_pairs("").count(), 0);
    }

    #[test]
    fn characters_of_python() {
        assert_eq!(word_characters("Ab_1 中-文 e\u{301}² Ⅷ!"), "ab_1中文e²ⅷ");
    }
}
