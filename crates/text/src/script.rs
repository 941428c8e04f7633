//! Which script a character is of, as far as cutting a text into units asks, and how a text is to be measured.

/// How a document is cut where its overlap with another is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Character 5-grams: texts in scripts written without spaces.
    CharGrams,
    /// Word 3-grams: everything else.
    WordGrams,
}

impl Measure {
    /// The measure of a canonical text: [`Measure::CharGrams`] when ideographs are at least a tenth of ideographs
    /// and Latin letters together, or when letters of other scripts written without spaces are at least a tenth
    /// of those letters, ideographs and Latin letters together. Linear; a text of ASCII only is told at once.
    pub fn of(canonical: &str) -> Self {
        if canonical.is_ascii() {
            return Self::WordGrams;
        }
        let (mut ideographs, mut unspaced, mut latin) = (0usize, 0usize, 0usize);
        for c in canonical.chars() {
            match Script::of(c) {
                Script::Ideograph => ideographs += 1,
                Script::Unspaced => unspaced += 1,
                Script::Spaced => latin += usize::from(is_latin(c)),
            }
        }
        let chinese = ideographs > 0 && ideographs * 10 >= ideographs + latin;
        let other = unspaced > 0 && unspaced * 10 >= unspaced + ideographs + latin;
        if chinese || other {
            Self::CharGrams
        } else {
            Self::WordGrams
        }
    }

    /// The measure of a pair: by characters when either document is.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::WordGrams, Self::WordGrams) => Self::WordGrams,
            _ => Self::CharGrams,
        }
    }
}

/// How a character's script divides words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Han ideographs: no spaces, words found by dictionary.
    Ideograph,
    /// Kana, Thai, Lao, Khmer, Burmese: no spaces, no dictionary. (Tibetan parts its syllables by a mark.)
    Unspaced,
    /// Everything else, digits included: spaces part words.
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

/// Latin letters of a normalised text.
fn is_latin(c: char) -> bool {
    matches!(c,
        'a'..='z'
        | '\u{DF}'..='\u{F6}'
        | '\u{F8}'..='\u{2AF}'
        | '\u{1E00}'..='\u{1EFF}'
        | '\u{2C60}'..='\u{2C7F}'
        | '\u{A722}'..='\u{A7FF}'
        | '\u{AB30}'..='\u{AB6F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_ideographs_makes_a_text_chinese() {
        assert_eq!(Measure::of(""), Measure::WordGrams);
        assert_eq!(Measure::of("naïve 2024"), Measure::WordGrams);
        assert_eq!(Measure::of("abcdefghi 中"), Measure::CharGrams);
        assert_eq!(Measure::of("abcdefghij 中"), Measure::WordGrams);
        assert_eq!(Measure::of("123456789012345 中"), Measure::CharGrams);
    }

    #[test]
    fn other_scripts_without_spaces_count_likewise() {
        assert_eq!(Measure::of("ภาษาไทย"), Measure::CharGrams);
        assert_eq!(Measure::of("abcdefghi か"), Measure::CharGrams);
        assert_eq!(Measure::of("abcdefghij か"), Measure::WordGrams);
        assert_eq!(Measure::of("한국어 текст"), Measure::WordGrams);
    }

    #[test]
    fn a_pair_goes_by_characters_when_either_does() {
        use Measure::{CharGrams, WordGrams};
        assert_eq!(WordGrams.with(WordGrams), WordGrams);
        assert_eq!(WordGrams.with(CharGrams), CharGrams);
        assert_eq!(CharGrams.with(WordGrams), CharGrams);
    }
}
