//! The canonical form of characters that do not affect one another: words in lower case, joined by single spaces.
//!
//! A block of 64 bytes is classified into bytes of words and bytes between words, as masks of 64 bits. The bytes of
//! words and the first byte between two words are kept and moved together. ASCII characters and the ideographs from
//! U+4E00 to U+9FFF are recognised by comparing all bytes at once; other characters are looked up in sets that the
//! caller provides.
//!
//! Invariant: whole characters are kept or dropped, except that the first byte of a character between words becomes a
//! space. So the output is UTF-8.

use super::dispatch::dispatch;
use super::lanes::ByteBlock;
use crate::level::{Level, level};

/// The number of bytes of a block.
const BLOCK: usize = 64;

/// The effect of a character on a canonical text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CharacterEffect {
    /// The character is part of a word and is copied.
    Word,
    /// The character separates words.
    Gap,
}

/// The ideographs whose bytes are compared instead of looked up.
const IDEOGRAPHS: std::ops::RangeInclusive<char> = '\u{4E00}'..='\u{9FFF}';

/// The effects of characters of the basic plane. The characters are *simple*: the effect does not depend on other
/// characters, and no effect of another character depends on them.
pub struct SimpleCharacters {
    words: Box<[u64]>,
    gaps: Box<[u64]>,
}

impl std::fmt::Debug for SimpleCharacters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimpleCharacters").finish_non_exhaustive()
    }
}

impl SimpleCharacters {
    /// Creates the sets. `effect` returns the effect of a character, or `None` if the character is not simple. It is
    /// called for the characters of the basic plane. ASCII characters and the ideographs from U+4E00 to U+9FFF are simple
    /// whatever it returns: letters, digits and ideographs are parts of words.
    #[must_use]
    pub fn new(effect: impl Fn(char) -> Option<CharacterEffect>) -> Self {
        let words_of_set = (1 << 16) / 64;
        let mut words = vec![0; words_of_set].into_boxed_slice();
        let mut gaps = words.clone();
        for (code, c) in ('\0'..='\u{FFFF}').map(|c| (c as usize, c)) {
            let ideograph = IDEOGRAPHS.contains(&c).then_some(CharacterEffect::Word);
            match ideograph.or_else(|| effect(c)) {
                Some(CharacterEffect::Word) => words[code / 64] |= 1 << (code % 64),
                Some(CharacterEffect::Gap) => gaps[code / 64] |= 1 << (code % 64),
                None => {}
            }
        }
        Self { words, gaps }
    }

    /// Returns the length in bytes and the effect of the character at the beginning of `text`, if it is a complete
    /// character of two or three bytes and simple.
    #[inline(always)]
    fn effect(&self, text: &[u8]) -> Option<(usize, CharacterEffect)> {
        let (length, code) = match *text {
            [a @ 0xC2..=0xDF, b, ..] => (2, usize::from(a & 0x1F) << 6 | usize::from(b & 0x3F)),
            [a @ 0xE0..=0xEF, b, c, ..] => {
                let code = usize::from(a & 0x0F) << 12 | usize::from(b & 0x3F) << 6;
                (3, code | usize::from(c & 0x3F))
            }
            _ => return None,
        };
        let bit = |set: &[u64]| {
            set.get(code / 64)
                .is_some_and(|word| word >> (code % 64) & 1 == 1)
        };
        if bit(&self.words) {
            Some((length, CharacterEffect::Word))
        } else if bit(&self.gaps) {
            Some((length, CharacterEffect::Gap))
        } else {
            None
        }
    }
}

/// The result of [`canonicalise`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Canonicalised {
    /// The number of bytes of the text that were read.
    pub read: usize,
    /// True if the last character that was read is part of a word. If none was read, the value given by the caller.
    pub in_word: bool,
}

/// Appends the canonical form of the beginning of `text` to `out`, up to the last character before the first one that is
/// not simple. That last character is not read either, because the other one may act on it. Linear.
///
/// Letters of ASCII become lower case. A character between words becomes a space if it follows a word, and is dropped
/// otherwise. `in_word` is true if `out` ends within a word.
///
/// ```
/// use twinprint_fingerprint::kernel::{CharacterEffect, SimpleCharacters, canonicalise};
///
/// let simple = SimpleCharacters::new(|c| (c == '。').then_some(CharacterEffect::Gap));
/// let mut out = String::new();
/// let text = "Hello, -- World。中文 cafe\u{301}";
/// let done = canonicalise(text, false, &simple, &mut out);
/// assert_eq!(out, "hello world 中文 caf");
/// assert_eq!(&text[done.read..], "e\u{301}");
/// ```
pub fn canonicalise(text: &str, in_word: bool, simple: &SimpleCharacters, out: &mut String) -> Canonicalised {
    canonicalise_at(level(), text, in_word, simple, out)
}

/// [`canonicalise`] at a given SIMD level.
pub fn canonicalise_at(
    level: Level,
    text: &str,
    in_word: bool,
    simple: &SimpleCharacters,
    out: &mut String,
) -> Canonicalised {
    let mut done = Canonicalised { read: 0, in_word };
    run(level, text, simple, &mut done, out);
    done
}

dispatch!(run [] [] (text: &str, simple: &SimpleCharacters, done: &mut Canonicalised, out: &mut String)
    = run_body::<Bytes>);

/// The classification of the bytes of a block.
struct Classified {
    /// The bytes of words.
    words: u64,
    /// The bytes of characters between words. The bytes before the first one that is in neither mask are classified.
    gaps: u64,
    /// True if the first character after the classified ones is not simple.
    stops: bool,
}

/// Processes `text` from `done.read` on. See [`canonicalise`].
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn run_body<V: ByteBlock>(
    text: &str,
    simple: &SimpleCharacters,
    done: &mut Canonicalised,
    out: &mut String,
) {
    let text = text.as_bytes();
    // SAFETY: the bytes that are appended below are UTF-8; see the invariant of the module.
    let out = unsafe { out.as_mut_vec() };
    // A block writes at most 64 bytes, of which at most as many are kept as it has bytes.
    out.reserve(text.len() - done.read + BLOCK);
    let mut length = out.len();
    while done.read < text.len() {
        let rest = &text[done.read..];
        let valid = rest.len().min(BLOCK);
        let mut padded = [0; BLOCK];
        let from = if valid == BLOCK {
            rest.as_ptr()
        } else {
            padded[..valid].copy_from_slice(rest);
            padded.as_ptr()
        };
        // SAFETY: the caller guarantees that the CPU has the instructions of V. 64 bytes are readable at `from`.
        let block = unsafe { V::load(from) };
        let (mut kept, letters) = block.ascii();
        let high = block.high();
        let Classified { words, gaps, stops } = if high == 0 {
            Classified {
                words: letters,
                gaps: !letters,
                stops: false,
            }
        } else {
            let classified = classify(block, letters, high, rest, simple);
            kept = kept.with_spaces(classified.gaps);
            classified
        };
        let mut taken = ((words | gaps).trailing_ones() as usize).min(valid);
        // The next character may act on the last one, unless it is ASCII or an ideograph.
        if taken < rest.len() && !matches!(rest[taken], 0..=0x7F | 0xE4..=0xE9) {
            taken = rest[..taken].iter().rposition(|&b| b & 0xC0 != 0x80).unwrap_or(0);
        }
        if taken == 0 {
            break;
        }
        let used = u64::MAX >> (BLOCK - taken);
        let after_word = words << 1 | u64::from(done.in_word);
        let keep = (words | gaps & after_word) & used;
        // SAFETY: `out` has room for the bytes of the text that were not read yet and 64 more; at most as many bytes
        // were appended as were read.
        length += unsafe { kept.store_kept(keep, out.as_mut_ptr().add(length)) };
        done.in_word = words >> (taken - 1) & 1 == 1;
        done.read += taken;
        if stops {
            break;
        }
    }
    // SAFETY: the first `length` bytes are initialised: each was in the vector before or was stored.
    unsafe { out.set_len(length) };
}

/// Classifies the bytes of a block that is not all ASCII. `letters` are its ASCII letters and digits, and `high` its
/// bytes that are not ASCII. `rest` begins with the block.
#[inline(always)]
fn classify<V: ByteBlock>(
    block: V,
    letters: u64,
    high: u64,
    rest: &[u8],
    simple: &SimpleCharacters,
) -> Classified {
    // The first byte of U+4000 to U+4FFF is E4; the second byte of U+4E00 to U+4FFF is B8 or larger.
    let from_4e00 = block.equal(0xE4) & block.in_range(0xB8, 0xBF) >> 1;
    // A character that the block cuts off is left for the next block.
    let ideographs = (from_4e00 | block.in_range(0xE5, 0xE9)) & u64::MAX >> 2;
    let ideograph_bytes = ideographs | ideographs << 1 | ideographs << 2;
    let mut words = letters | ideograph_bytes;
    let mut gaps = !(letters | high);
    let mut others = high & !ideograph_bytes;
    let mut stops = false;
    while others != 0 {
        let at = others.trailing_zeros() as usize;
        let Some((length, effect)) = simple.effect(&rest[at..]) else {
            stops = true;
            break;
        };
        if at + length > BLOCK {
            break;
        }
        let bytes = ((1 << length) - 1) << at;
        match effect {
            CharacterEffect::Word => words |= bytes,
            CharacterEffect::Gap => gaps |= bytes,
        }
        others &= !bytes;
    }
    Classified { words, gaps, stops }
}
