//! Classes of characters by their effect in normalisation: kept, separating words, mapped, joining or stripped.
//!
//! Normalisation (NFKC, lower case, NFC) is defined on the whole text, but most characters do not depend on their
//! neighbours. A character is *simple* when text may be cut before it: its decomposition starts with a starter
//! that never composes with what precedes (Unicode Standard Annex #15, section 9.1), before and after lower
//! casing. A character that is not simple is normalised together with the character before it, on the slow path.
//!
//! The classes of the basic plane and of the pictographs are tables built once from the Unicode crates; other
//! characters are classified when they occur. Invariant, tested for every character: the tables agree with the definitions.

use std::ops::Range;
use std::sync::LazyLock;

use unicode_general_category::{GeneralCategory as Category, get_general_category};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfc_quick};

/// The effect of normalisation on a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Simple, unchanged by normalisation, part of a word.
    Word,
    /// Simple, unchanged, separates words.
    Gap,
    /// Simple, normalised to other characters that all separate words.
    MappedGap,
    /// Simple, normalised to other characters.
    Mapped,
    /// May act on the character before it.
    Joiner,
    /// Invisible: removed before anything else.
    Stripped,
}

/// Returns `true` if a normalised character belongs to a word: letters, numbers and marks.
pub(crate) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    is_alphanumeric_category(get_general_category(c)) || is_mark(c)
}

/// Returns `true` if Unicode calls the character a letter or a number.
pub(crate) fn is_letter_or_number(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    is_alphanumeric_category(get_general_category(c))
}

fn is_alphanumeric_category(category: Category) -> bool {
    matches!(
        category,
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
            | Category::DecimalNumber
            | Category::LetterNumber
            | Category::OtherNumber
    )
}

/// Returns `true` if Unicode calls the character a combining mark.
pub(crate) fn is_mark(c: char) -> bool {
    matches!(
        get_general_category(c),
        Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark
    )
}

/// Returns `true` if the character is not visible on a page: format characters (zero-width space and joiners, soft hyphen,
/// byte order mark, directional marks), variation selectors and the blank fillers.
pub(crate) fn is_invisible(c: char) -> bool {
    match c {
        '\u{34F}'
        | '\u{115F}'..='\u{1160}'
        | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}'
        | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{FFA0}'
        | '\u{E0000}'..='\u{E0FFF}' => true,
        _ => !c.is_ascii() && get_general_category(c) == Category::Format,
    }
}

/// The normal form of a piece of text between two positions at which text may be cut: NFKC, lower case, NFC. The last step is
/// needed for idempotence: lower casing can create a letter and a mark that compose (J and a caron).
pub(crate) fn normal_form(piece: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    piece.nfkc().flat_map(char::to_lowercase).nfc()
}

/// Returns `true` if the character's decomposition begins with a starter: marks are never reordered across it.
pub(crate) fn is_starter(c: char) -> bool {
    let starts = |c: char| canonical_combining_class(c) == 0;
    std::iter::once(c).nfkd().next().is_some_and(starts)
        && normal_form(std::iter::once(c)).next().is_some_and(starts)
}

/// Returns `true` if text may be cut before this character without changing compositions.
fn is_composition_boundary(c: char) -> bool {
    let first = std::iter::once(c).nfkd().next().unwrap_or(c);
    canonical_combining_class(first) == 0 && is_nfc_quick(std::iter::once(first)) == IsNormalized::Yes
}

/// The class by definition. Costly; see [`Classes::of`].
fn classify(c: char) -> Class {
    if is_invisible(c) {
        return Class::Stripped;
    }
    let mut normal = normal_form(std::iter::once(c));
    let first = normal.next().unwrap_or(c);
    if !is_composition_boundary(c) || !is_composition_boundary(first) {
        return Class::Joiner;
    }
    match normal.next() {
        None if first == c && is_word(c) => Class::Word,
        None if first == c => Class::Gap,
        second => {
            let wordless = !is_word(first) && !second.is_some_and(is_word) && !normal.any(is_word);
            if wordless { Class::MappedGap } else { Class::Mapped }
        }
    }
}

/// Returns `true` if the character is in a block of word characters that normalisation does not change.
fn is_plain_block(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// Returns `true` if the character is in a block beyond the basic plane that normalisation does not change. All assigned
/// characters of these blocks are ideographs.
fn is_rare_ideograph_block(c: char) -> bool {
    matches!(c, '\u{20000}'..='\u{2F7FF}' | '\u{30000}'..='\u{3FFFD}')
}

/// The classes of all characters of a range.
fn table(range: Range<u32>) -> Box<[Class]> {
    range
        .map(|code| match char::from_u32(code) {
            Some(c) if is_plain_block(c) => Class::Word,
            Some('\u{E000}'..='\u{F8FF}') | None => Class::Gap,
            Some(c) => classify(c),
        })
        .collect()
}

/// The range of pictographs such as emoji, which are frequent in texts.
const PICTOGRAPHS: Range<u32> = 0x1_F000..0x1_FC00;

static BASIC_TABLE: LazyLock<Box<[Class]>> = LazyLock::new(|| table(0..0x1_0000));
static PICTOGRAPH_TABLE: LazyLock<Box<[Class]>> = LazyLock::new(|| table(PICTOGRAPHS));

/// The classes of all characters, from a table for the basic plane and the pictographs.
#[derive(Clone, Copy)]
pub(crate) struct Classes {
    basic: &'static [Class],
}

impl Classes {
    /// Builds the table on the first call of the process (a few milliseconds).
    pub(crate) fn get() -> Self {
        Self { basic: &BASIC_TABLE }
    }

    pub(crate) fn of(self, c: char) -> Class {
        self.basic
            .get(c as usize)
            .copied()
            .unwrap_or_else(|| beyond_basic_plane(c))
    }
}

#[cold]
fn beyond_basic_plane(c: char) -> Class {
    if is_rare_ideograph_block(c) {
        return if is_word(c) { Class::Word } else { Class::Gap };
    }
    let pictograph = (c as usize).checked_sub(PICTOGRAPHS.start as usize);
    pictograph
        .and_then(|index| PICTOGRAPH_TABLE.get(index))
        .copied()
        .unwrap_or_else(|| classify(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_equals_the_definition() {
        for c in '\0'..=char::MAX {
            assert_eq!(Classes::get().of(c), classify(c), "U+{:04X}", c as u32);
        }
    }

    #[test]
    fn normal_forms_contain_no_invisible_character_and_are_stable() {
        for c in '\0'..=char::MAX {
            if is_invisible(c) {
                continue;
            }
            let normal: String = normal_form(std::iter::once(c)).collect();
            assert!(!normal.chars().any(is_invisible), "U+{:04X}", c as u32);
            let again: String = normal_form(normal.chars()).collect();
            assert_eq!(normal, again, "U+{:04X}", c as u32);
        }
    }
}
