//! Scripts of characters, by which texts are segmented into words, and the measure of a text, which follows from its
//! scripts.

/// The unit of the shingles in which two documents are compared.
///
/// ```
/// use twinprint_text::Measure;
///
/// assert_eq!(Measure::of("the cat sat"), Measure::WordGrams);
/// assert_eq!(Measure::of("猫坐在垫子上"), Measure::CharGrams);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Character 5-grams, for texts in scripts that are written without spaces.
    CharGrams,
    /// Word 3-grams, for all other texts.
    WordGrams,
}

impl Measure {
    /// The measure of a canonical text. It is [`Measure::CharGrams`] if ideographs are at least a tenth of all
    /// ideographs and Latin letters. It is also `CharGrams` if letters of other scripts without spaces are at least a
    /// tenth of those letters, ideographs and Latin letters together. Otherwise it is [`Measure::WordGrams`]. Linear.
    pub fn of(canonical: &str) -> Self {
        if !may_be_unspaced(canonical) {
            return Self::WordGrams;
        }
        let Census {
            latin,
            ideographs,
            unspaced,
        } = Census::of(canonical);
        let chinese = ideographs > 0 && ideographs * 10 >= ideographs + latin;
        let other = unspaced > 0 && unspaced * 10 >= unspaced + ideographs + latin;
        if chinese || other {
            Self::CharGrams
        } else {
            Self::WordGrams
        }
    }

    /// The measure in which a pair of documents is compared: by characters if at least one of them is measured by
    /// characters.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::WordGrams, Self::WordGrams) => Self::WordGrams,
            _ => Self::CharGrams,
        }
    }
}

/// The way in which a script marks the boundaries of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Han ideographs: written without spaces; a dictionary finds the words.
    Ideograph,
    /// Kana, Thai, Lao, Khmer, Burmese: written without spaces, and the segmenter has no dictionary for them. (Tibetan
    /// is not one of them: it separates syllables by a mark.)
    Unspaced,
    /// All other scripts, and digits: spaces separate words.
    Spaced,
}

impl Script {
    pub(crate) fn of(c: char) -> Self {
        match c {
            '\u{4E00}'..='\u{9FFF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFD}' => Self::Ideograph,
            '\u{E00}'..='\u{EFF}'
            | '\u{1000}'..='\u{109F}'
            | '\u{1780}'..='\u{17FF}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30FF}'
            | '\u{31F0}'..='\u{31FF}'
            | '\u{A9E0}'..='\u{A9FF}'
            | '\u{AA60}'..='\u{AA7F}'
            | '\u{1AFF0}'..='\u{1B16F}' => Self::Unspaced,
            _ => Self::Spaced,
        }
    }
}

/// False if all characters of a text are below U+0800. All scripts below it, such as Latin, Greek and Cyrillic, are written with
/// spaces. This test is several times faster than the [`Census`].
pub(crate) fn may_be_unspaced(text: &str) -> bool {
    /// The first byte of U+0800 in UTF-8.
    const FIRST_BYTE: u8 = 0xE0;
    /// The number of bytes of which the largest is computed without a branch, in vectors.
    const CHUNK: usize = 256;
    let largest = |chunk: &[u8]| chunk.iter().fold(0, |largest, &b| b.max(largest));
    text.as_bytes()
        .chunks(CHUNK)
        .any(|chunk| largest(chunk) >= FIRST_BYTE)
}

/// The number of characters of each kind in a canonical text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Census {
    latin: usize,
    ideographs: usize,
    unspaced: usize,
}

impl Census {
    /// Counts characters by their first UTF-8 byte, which identifies the kind of most characters, because a canonical
    /// text has only letters, numbers, marks and spaces. Of these, `a` to `z` and all from U+00C0 to U+02BF (first byte
    /// C3 to CA) are Latin, and all from U+4000 to U+9FFF (E4 to E9) are ideographs. Characters with the first byte E0
    /// to E3 or from EA on are decoded to find their kind.
    fn of(canonical: &str) -> Self {
        /// Number of bytes counted at a time. The counts of a chunk fit into a byte, so the compiler can sum them in
        /// vectors.
        const CHUNK: usize = 128;
        let bytes = canonical.as_bytes();
        let mut census = Self::default();
        for (number, chunk) in bytes.chunks(CHUNK).enumerate() {
            let (mut latin, mut ideographs, mut others) = (0u8, 0u8, 0u8);
            for &b in chunk {
                latin += u8::from(b.is_ascii_lowercase()) + u8::from(matches!(b, 0xC3..=0xCA));
                ideographs += u8::from(matches!(b, 0xE4..=0xE9));
                others += u8::from(b >= 0xE0);
            }
            census.latin += usize::from(latin);
            census.ideographs += usize::from(ideographs);
            if others > ideographs {
                for (i, _) in chunk
                    .iter()
                    .enumerate()
                    .filter(|&(_, &b)| matches!(b, 0xE0..=0xE3 | 0xEA..))
                {
                    let rest = canonical.get(number * CHUNK + i..).unwrap_or_default();
                    rest.chars().next().into_iter().for_each(|c| census.count(c));
                }
            }
        }
        census
    }

    fn count(&mut self, c: char) {
        match Script::of(c) {
            Script::Ideograph => self.ideographs += 1,
            Script::Unspaced => self.unspaced += 1,
            Script::Spaced => self.latin += usize::from(is_latin(c)),
        }
    }
}

/// Returns `true` if the character is a Latin letter in a normalised text.
fn is_latin(c: char) -> bool {
    matches!(c,
        'a'..='z'
        | '\u{C0}'..='\u{2BF}'
        | '\u{1E00}'..='\u{1EFF}'
        | '\u{2C60}'..='\u{2C7F}'
        | '\u{A722}'..='\u{A7FF}'
        | '\u{AB30}'..='\u{AB6F}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canonical::canonical;
    use crate::test_text::{any_text, plain_text, tricky_text};

    #[test]
    fn a_tenth_of_ideographs_makes_a_text_chinese() {
        assert_eq!(Measure::of(""), Measure::WordGrams);
        assert_eq!(Measure::of("naïve 2024"), Measure::WordGrams);
        assert_eq!(Measure::of("abcdefghi 中"), Measure::CharGrams);
        assert_eq!(Measure::of("abcdefghij 中"), Measure::WordGrams);
        assert_eq!(Measure::of("123456789012345 中"), Measure::CharGrams);
    }

    #[test]
    fn other_scripts_without_spaces_count_like_ideographs() {
        assert_eq!(Measure::of("ภาษาไทย"), Measure::CharGrams);
        assert_eq!(Measure::of("abcdefghi か"), Measure::CharGrams);
        assert_eq!(Measure::of("abcdefghij か"), Measure::WordGrams);
        assert_eq!(Measure::of("한국어 текст"), Measure::WordGrams);
    }

    proptest! {
        #[test]
        fn the_census_counts_every_character(text in prop_oneof![any_text(), tricky_text(), plain_text()]) {
            let canonical = canonical(&text.repeat(3));
            let mut expected = Census::default();
            canonical.chars().for_each(|c| expected.count(c));
            prop_assert_eq!(Census::of(&canonical), expected);
        }
    }

    #[test]
    fn scripts_below_u0800_are_spaced() {
        for c in '\0'..'\u{800}' {
            let mut bytes = [0; 4];
            let text = c.encode_utf8(&mut bytes);
            assert!(!may_be_unspaced(text));
            assert_eq!(Script::of(c), Script::Spaced, "U+{:04X}", c as u32);
        }
    }

    #[test]
    fn the_census_classifies_every_character() {
        for c in '\0'..=char::MAX {
            let canonical = canonical(&format!("{c}"));
            let mut expected = Census::default();
            canonical.chars().for_each(|c| expected.count(c));
            assert_eq!(Census::of(&canonical), expected, "U+{:04X}", c as u32);
            if expected.ideographs + expected.unspaced > 0 {
                assert!(may_be_unspaced(&canonical), "U+{:04X}", c as u32);
            }
        }
    }

    #[test]
    fn a_pair_is_compared_by_characters_if_either_text_is() {
        use Measure::{CharGrams, WordGrams};
        assert_eq!(WordGrams.with(WordGrams), WordGrams);
        assert_eq!(WordGrams.with(CharGrams), CharGrams);
        assert_eq!(CharGrams.with(WordGrams), CharGrams);
    }
}
