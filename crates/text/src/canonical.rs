//! Canonical text: the words of the normalised text, joined by single spaces.
//!
//! A word is a maximal run of letters, numbers and marks (general categories L, N and M). An underscore separates
//! words. Features, shingles and the comparison for equality use only the canonical text, so texts that differ only in
//! punctuation, case, width or spacing count as equal.
//!
//! Invariants: no leading, trailing or double space; canonicalising twice changes nothing.

use crate::normal::{Sink, walk};

/// Returns the canonical text of `text`. Linear; runs of ASCII are processed in chunks.
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
        walk(text, self);
        // A space is written as soon as a word ends, so it may follow the last word. A canonical text has none there.
        if self.text.ends_with(' ') {
            self.text.pop();
        }
        &self.text
    }
}

/// Number of ASCII bytes that are processed at a time.
const CHUNK: usize = 64;
/// Size of the output buffer of a chunk, in bytes. The output of a chunk may be one byte longer than the chunk: the
/// space after a word that ended with the chunk before. The size is a power of two, so that the compiler can see that a
/// masked index is in bounds.
const BUFFER: usize = 2 * CHUNK;

/// The output of each ASCII byte: letters in lower case, digits unchanged, everything else a space.
const ASCII_OUTPUT: [u8; 256] = {
    let mut table = [b' '; 256];
    let mut b = 0u8;
    while b < 128 {
        if b.is_ascii_alphanumeric() {
            table[b as usize] = b.to_ascii_lowercase();
        }
        b += 1;
    }
    table
};

impl Sink for Canonicaliser {
    /// Branch-free: every output byte is written, but the write position advances only past letters, digits and the
    /// first space after a word.
    fn ascii(&mut self, run: &str) {
        let mut buffer = [0u8; BUFFER];
        let mut in_word = usize::from(self.in_word);
        for chunk in run.as_bytes().chunks(CHUNK) {
            let mut length = 0;
            for &b in chunk {
                let lowered = ASCII_OUTPUT[b as usize];
                buffer[length % BUFFER] = lowered;
                let word = usize::from(lowered != b' ');
                length += word | in_word;
                in_word = word;
            }
            let written = buffer.get(..length).unwrap_or_default();
            self.text
                .push_str(str::from_utf8(written).expect("the table holds ASCII only"));
        }
        self.in_word = in_word == 1;
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
