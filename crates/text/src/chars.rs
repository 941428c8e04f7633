//! Classes of characters by the effect of normalisation: unchanged in a word, separating words, mapped, joining or
//! stripped.
//!
//! Normalisation (NFKC, lower case, NFC) is defined on the whole text, but most characters do not depend on their
//! neighbours. A character is *simple* if the text may be cut before it and both pieces normalised separately: its
//! decomposition starts with a starter that never composes with the character before it (Unicode Standard Annex #15,
//! section 9.1), both before and after lower casing. A character that is not simple is normalised together with the
//! character before it, which is slower.
//!
//! The classes of the basic plane and of the pictographs are read from tables, which are computed from the Unicode
//! crates once per process. The classes of other characters are computed at each occurrence. Invariant, tested for
//! every character: the tables agree with the definitions.

use std::ops::Range;
use std::sync::LazyLock;

use unicode_general_category::{GeneralCategory as Category, get_general_category};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfc_quick};

/// The effect of normalisation on a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Simple; part of a word; unchanged by normalisation.
    Word,
    /// Simple; separates words; unchanged by normalisation.
    Gap,
    /// Simple; normalisation maps it to other characters, all of which separate words.
    MappedGap,
    /// Simple; normalisation maps it to other characters.
    Mapped,
    /// Not simple: may change the normal form of the character before it.
    Joiner,
    /// Invisible: removed before all other steps of normalisation.
    Stripped,
}

/// Returns `true` if a normalised character is part of a word, as letters, numbers and marks are.
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

/// Returns `true` if the character is not visible on a page: format characters (zero-width space and joiners, soft
/// hyphen, byte order mark, directional marks), variation selectors and the blank fillers.
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

/// The normal form of a piece of text between two positions at which the text may be cut: NFKC, lower case, NFC.
/// Without the last step a second normalisation could change the result: lower casing can turn a letter and a mark that
/// do not compose into ones that do (J and a caron).
pub(crate) fn normal_form(piece: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    piece.nfkc().flat_map(char::to_lowercase).nfc()
}

/// Returns `true` if the character's decomposition begins with a starter. Normalisation never moves marks across a
/// starter.
pub(crate) fn is_starter(c: char) -> bool {
    let starts = |c: char| canonical_combining_class(c) == 0;
    std::iter::once(c).nfkd().next().is_some_and(starts)
        && normal_form(std::iter::once(c)).next().is_some_and(starts)
}

/// Returns `true` if the character never composes with the one before it, so that text may be cut between the two.
fn is_composition_boundary(c: char) -> bool {
    let first = std::iter::once(c).nfkd().next().unwrap_or(c);
    canonical_combining_class(first) == 0 && is_nfc_quick(std::iter::once(first)) == IsNormalized::Yes
}

/// Computes the class of a character from the definitions. Slow; [`Classes::of`] reads it from a table where possible.
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

/// Returns `true` if the character is in one of the Unicode blocks that consist of word characters and that
/// normalisation does not change.
fn is_plain_block(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// Returns `true` if the character is in one of the blocks beyond the basic plane whose assigned characters are all
/// ideographs, and which normalisation does not change.
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

/// The range of pictographs such as emoji. Their classes are in a table, because they are frequent in texts.
const PICTOGRAPHS: Range<u32> = 0x1_F000..0x1_FC00;

static BASIC_TABLE: LazyLock<Box<[Class]>> = LazyLock::new(|| table(0..0x1_0000));
static PICTOGRAPH_TABLE: LazyLock<Box<[Class]>> = LazyLock::new(|| table(PICTOGRAPHS));

/// Returns the class of any character: from tables for the basic plane and the pictographs, computed for other
/// characters.
#[derive(Clone, Copy)]
pub(crate) struct Classes {
    basic: &'static [Class],
}

impl Classes {
    /// Returns the tables. The first call in a process builds them, in a few milliseconds.
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

/// The number of ASCII bytes before the first byte that is not ASCII.
pub(crate) fn ascii_prefix(bytes: &[u8]) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (chunks, _) = bytes.as_chunks::<32>();
    let mut length = chunks.iter().take_while(|chunk| chunk.is_ascii()).count() * 32;
    let (eights, tail) = bytes.get(length..).unwrap_or_default().as_chunks::<8>();
    for eight in eights {
        let beyond = u64::from_le_bytes(*eight) & HIGH;
        if beyond != 0 {
            return length + beyond.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    length + tail.iter().position(|&b| b >= 0x80).unwrap_or(tail.len())
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
