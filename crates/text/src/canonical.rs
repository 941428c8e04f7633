//! Canonical text: the words of the normalised text, joined by single spaces.
//!
//! A word is a maximal run of letters, numbers and marks (general categories L, N and M). An underscore separates
//! words. Features, shingles and the comparison for equality use only the canonical text, so texts that differ only in
//! punctuation, case, width or spacing count as equal.
//!
//! Invariants: no leading, trailing or double space; canonicalising twice changes nothing.

use std::sync::LazyLock;

use twinprint_fingerprint::kernel::{CharacterEffect, SimpleCharacters, canonicalise};

use crate::chars::{Class, Classes};
use crate::normal::{Sink, step};

/// Returns the canonical text of `text`. Linear; characters that do not affect one another are processed in blocks.
///
/// ```
/// assert_eq!(twinprint_text::canonical("  Hello,\nＷｏｒｌｄ! snake_case 中文。"), "hello world snake case 中文");
/// ```
pub fn canonical(text: &str) -> String {
    let mut canonicaliser = Canonicaliser {
        text: String::with_capacity(text.len()),
        in_word: false,
    };
    canonicaliser.run(text);
    canonicaliser.text
}

/// Makes canonical texts, one after another, in a reused buffer.
#[derive(Debug, Default)]
pub(crate) struct Canonicaliser {
    text: String,
    /// True if the text in the buffer ends within a word, so that the next letter continues that word.
    in_word: bool,
}

impl Canonicaliser {
    /// Replaces the content of the buffer by the canonical text of `text`.
    pub(crate) fn run(&mut self, text: &str) -> &str {
        self.text.clear();
        self.in_word = false;
        let (simple, classes) = (&*SIMPLE, Classes::get());
        let mut rest = text;
        while !rest.is_empty() {
            let done = canonicalise(rest, self.in_word, simple, &mut self.text);
            self.in_word = done.in_word;
            rest = rest.split_at(done.read).1;
            if !rest.is_empty() {
                rest = step(rest, classes, self);
            }
        }
        // A space is written as soon as a word ends, so it may follow the last word. A canonical text has none there.
        if self.text.ends_with(' ') {
            self.text.pop();
        }
        &self.text
    }
}

/// The characters that neither normalisation nor their neighbours change.
static SIMPLE: LazyLock<SimpleCharacters> = LazyLock::new(|| {
    let classes = Classes::get();
    SimpleCharacters::new(|c| match classes.of(c) {
        Class::Word => Some(CharacterEffect::Word),
        Class::Gap | Class::MappedGap => Some(CharacterEffect::Gap),
        Class::Mapped | Class::Joiner | Class::Stripped => None,
    })
});

impl Sink for Canonicaliser {
    fn ascii(&mut self, run: &str) {
        for c in run.chars() {
            self.any(c.to_ascii_lowercase());
        }
    }

    fn word(&mut self, run: &str) {
        self.text.push_str(run);
        self.in_word = true;
    }

    fn gap(&mut self, _: &str) {
        if self.in_word {
            self.text.push(' ');
            self.in_word = false;
        }
    }

    fn mapped_gap(&mut self, _: char) {
        self.gap("");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::canonical;
    use crate::chars::is_word;
    use crate::normal::normalise;
    use crate::test_text::{any_text, plain_text, tricky_text};

    fn by_definition(text: &str) -> String {
        let normal = normalise(text);
        let words: Vec<&str> = normal
            .split(|c| !is_word(c))
            .filter(|word| !word.is_empty())
            .collect();
        words.join(" ")
    }

    #[test]
    fn examples() {
        for (text, expected) in [
            ("", ""),
            (" ,.!", ""),
            ("a", "a"),
            ("--a--b--", "a b"),
            ("Don’t “quote” me — please", "don t quote me please"),
            ("e\u{301}\u{200B}t\u{E9}", "été"),
            ("你好，世界。Hello", "你好 世界 hello"),
        ] {
            assert_eq!(canonical(text), expected);
        }
    }

    #[test]
    fn words_across_chunks() {
        for length in 0..200 {
            let text = format!("{}, {}", "x".repeat(length), "Y ".repeat(length));
            assert_eq!(canonical(&text), by_definition(&text));
        }
    }

    proptest! {
        #[test]
        fn equals_the_definition(text in prop_oneof![any_text(), tricky_text(), plain_text()]) {
            prop_assert_eq!(canonical(&text), by_definition(&text));
        }

        #[test]
        fn is_idempotent(text in prop_oneof![any_text(), tricky_text(), plain_text()]) {
            let once = canonical(&text);
            prop_assert_eq!(canonical(&once), once);
        }
    }
}
