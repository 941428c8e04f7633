//! Makes the shingle sets of canonical texts.

use std::fmt;

use twinprint_fingerprint::kernel::{ByteKinds, byte_kinds, code_points};
use twinprint_fingerprint::{HashKey, ShortFeature, Span, hash_one, hash_short_features};

use super::sorting::Sorter;
use crate::chars;
use crate::product_hash::{NumberFeature, fold};
use crate::script::{Measure, Script};
use crate::spaces::Splitter;

/// Number of characters of a shingle, in texts measured by characters.
pub const CHAR_GRAM: usize = 5;
/// Number of words of a shingle, in texts measured by words.
pub const WORD_GRAM: usize = 3;

const BLOCK: usize = ByteKinds::BLOCK_BYTES;

/// Number of words that are hashed at a time.
const WORDS_PER_BATCH: usize = 256;

/// The first byte of U+0300 in UTF-8. No character with a smaller first byte is a mark or an ideograph.
const FIRST_BYTE_OF_MARKS: u8 = 0xCC;

/// Number of bits that any Unicode character fits into.
const CHAR_BITS: u32 = 21;

/// The hash of a word in the shingles of words.
#[derive(Clone, Copy)]
enum WordHash {
    /// SipHash.
    Sip,
    /// The hash of characters: a multiplication, for words of at most [`ShortFeature::MAX_BYTES`] bytes.
    Product,
}

/// Makes shingle sets under one key. Reuses its buffers; use one for each thread.
pub struct Shingler {
    key: HashKey,
    secrets: [u64; 2],
    word_hash: WordHash,
    splitter: Splitter,
    blocks: Vec<ByteKinds>,
    words: Vec<Span>,
    /// The hashes of a batch of words.
    batch: Vec<u64>,
    /// The hashes of all words of the current text.
    hashes: Vec<u64>,
    /// The hashed shingles of the current text, repeats included.
    grams: Vec<u64>,
    sorter: Sorter,
}

impl fmt::Debug for Shingler {
    /// Prints no field: they all depend on the secret key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shingler").finish_non_exhaustive()
    }
}

impl Shingler {
    /// Creates a shingler for `key`. Sets that were made under different keys cannot be compared. The hash stays the same in later
    /// versions, so sets may be stored.
    pub fn new(key: HashKey) -> Self {
        Self::with(key, WordHash::Sip)
    }

    /// Creates a shingler for the sets of one run. It is faster than that of [`new`](Self::new), and its sets cannot be compared with
    /// those. Another version may hash differently, so the sets must not be stored for longer than the run.
    ///
    /// ```
    /// use twinprint_fingerprint::HashKey;
    /// use twinprint_text::Measure;
    /// use twinprint_text::overlap::{Shingler, overlap};
    ///
    /// let mut shingler = Shingler::for_one_run(HashKey::PUBLIC);
    /// let [a, b] = ["to be or not to be", "to be or not"].map(|text| shingler.shingle(text, Measure::WordGrams));
    /// assert_eq!(overlap(&a, &b).jaccard(), 0.5);
    /// ```
    pub fn for_one_run(key: HashKey) -> Self {
        Self::with(key, WordHash::Product)
    }

    fn with(key: HashKey, word_hash: WordHash) -> Self {
        let secret = hash_one(&key, b"secrets of character grams");
        let secrets = [secret as u64, (secret >> 64) as u64];
        Self {
            key,
            secrets,
            word_hash,
            splitter: Splitter::default(),
            blocks: Vec::new(),
            words: Vec::new(),
            batch: Vec::new(),
            hashes: Vec::new(),
            grams: Vec::new(),
            sorter: Sorter::default(),
        }
    }

    /// Makes the shingle set of a canonical text. Only the first 4 GiB of the text are used. The set is sorted and
    /// distinct; it is empty if and only if the text has neither letters nor numbers. Expected linear time.
    ///
    /// Measured by characters, a shingle is [`CHAR_GRAM`] consecutive letters and numbers; marks and spaces are
    /// skipped. Measured by words, it is [`WORD_GRAM`] consecutive words, where a word is a run of letters and numbers,
    /// or one ideograph. A text that is too short for a shingle is one shingle as a whole.
    pub fn shingle(&mut self, canonical: &str, measure: Measure) -> Vec<u64> {
        self.hash_grams(canonical, measure);
        self.sort_grams().to_vec()
    }

    /// Makes the hashed shingles of a canonical text in the order of the text, repeats included. They are the members of
    /// [`Shingler::shingle`], without the cost of sorting them. Linear time.
    ///
    /// ```
    /// use twinprint_fingerprint::HashKey;
    /// use twinprint_text::Measure;
    /// use twinprint_text::overlap::Shingler;
    ///
    /// let mut shingler = Shingler::new(HashKey::PUBLIC);
    /// assert_eq!(shingler.grams("to be or not to be or not", Measure::WordGrams).len(), 6);
    /// assert_eq!(shingler.shingle("to be or not to be or not", Measure::WordGrams).len(), 4);
    /// ```
    pub fn grams(&mut self, canonical: &str, measure: Measure) -> &[u64] {
        self.hash_grams(canonical, measure);
        &self.grams
    }

    /// Returns the shingle set of the text that was last passed to [`grams`](Self::grams) or [`shingle`](Self::shingle); it is empty
    /// before the first text. Expected linear time.
    ///
    /// ```
    /// use twinprint_fingerprint::HashKey;
    /// use twinprint_text::Measure;
    /// use twinprint_text::overlap::Shingler;
    ///
    /// let mut shingler = Shingler::new(HashKey::PUBLIC);
    /// let text = "to be or not to be or not";
    /// let repeats = shingler.grams(text, Measure::WordGrams).len();
    /// let set = shingler.sort_grams().to_vec();
    /// assert!(set.len() < repeats);
    /// assert_eq!(set, shingler.shingle(text, Measure::WordGrams));
    /// ```
    pub fn sort_grams(&mut self) -> &[u64] {
        self.sorter.sort_distinct(&mut self.grams)
    }

    fn hash_grams(&mut self, canonical: &str, measure: Measure) {
        let mut grams = std::mem::take(&mut self.grams);
        grams.clear();
        let end = canonical.floor_char_boundary(u32::MAX as usize);
        let text = canonical.get(..end).unwrap_or_default();
        match measure {
            Measure::CharGrams => self.char_grams(text, &mut grams),
            Measure::WordGrams => self.word_grams(text, &mut grams),
        }
        self.grams = grams;
    }

    fn char_grams(&mut self, text: &str, out: &mut Vec<u64>) {
        let [x, y] = self.secrets;
        let gram = |&[a, b, c, d, e]: &[u32; CHAR_GRAM]| {
            let [a, b, c, d, e] = [a, b, c, d, e].map(u64::from);
            let (first, last) = (a | b << CHAR_BITS | c << (2 * CHAR_BITS), d | e << CHAR_BITS);
            fold(first ^ x, last ^ y)
        };
        // `buffer` begins with the last few characters of the part before, because shingles overlap; the letters and numbers of
        // this part follow.
        let mut buffer = [0; CHAR_GRAM + ByteKinds::MAX_BYTES];
        let mut count = 0;
        for part in (0..=text.len()).step_by(ByteKinds::MAX_BYTES) {
            byte_kinds(text, part, &mut self.blocks);
            for (block, position) in self.blocks.iter().zip((part..).step_by(BLOCK)) {
                count += letters(text, position, *block, &mut buffer[count..]);
            }
            out.extend(buffer[..count].array_windows().map(gram));
            let carried = count.min(CHAR_GRAM - 1);
            buffer.copy_within(count - carried..count, 0);
            count = carried;
        }
        if out.is_empty() && count > 0 {
            // The missing characters of a short text count as zeros. No text contains the character zero, so a short
            // text never equals five characters of another text.
            buffer[count..CHAR_GRAM].fill(0);
            out.extend(buffer[..CHAR_GRAM].array_windows().map(gram));
        }
    }

    fn word_grams(&mut self, text: &str, out: &mut Vec<u64>) {
        self.words.clear();
        self.splitter
            .split(text, &mut self.words, |word, _, offset, words| {
                mixed_word(word, offset, words);
            });
        match self.word_hash {
            WordHash::Sip => self.hash_words(text.as_bytes()),
            WordHash::Product => self.multiply_words(text.as_bytes()),
        }
        match *self.hashes.as_slice() {
            [] => {}
            [only] => out.push(only),
            [first, second] => out.push(word_gram(first, second, 0)),
            _ => out.extend(self.hashes.array_windows().map(|&[a, b, c]| word_gram(a, b, c))),
        }
    }

    /// Replaces the content of `hashes` by the hashes of the words of a text, by [`WordHash::Product`].
    fn multiply_words(&mut self, text: &[u8]) {
        self.hashes.clear();
        let (key, secrets) = (self.key, self.secrets);
        let hash = |&word: &Span| match ShortFeature::cut(text, word) {
            Some(word) => word.product_hash(secrets),
            None => long_word(&key, text, word),
        };
        self.hashes.extend(self.words.iter().map(hash));
    }

    /// Replaces the content of `hashes` by the hashes of the words of a text, by [`WordHash::Sip`]. Batch by batch, so that a batch
    /// stays in the first-level cache.
    fn hash_words(&mut self, text: &[u8]) {
        self.hashes.clear();
        let mut features = [ShortFeature::default(); WORDS_PER_BATCH];
        for words in self.words.chunks(WORDS_PER_BATCH) {
            let mut any_long = false;
            for (feature, &word) in features.iter_mut().zip(words) {
                let short = ShortFeature::cut(text, word);
                any_long |= short.is_none();
                *feature = short.unwrap_or_default();
            }
            hash_short_features(&self.key, &features[..words.len()], &mut self.batch);
            if any_long {
                for (&word, hash) in words.iter().zip(&mut self.batch) {
                    if (word.end - word.start) as usize > ShortFeature::MAX_BYTES {
                        *hash = long_word(&self.key, text, word);
                    }
                }
            }
            self.hashes.extend_from_slice(&self.batch);
        }
    }
}

/// The hash of a word that is no [`ShortFeature`].
#[cold]
fn long_word(key: &HashKey, text: &[u8], Span { start, end }: Span) -> u64 {
    hash_one(key, text.get(start as usize..end as usize).unwrap_or_default()) as u64
}

/// Writes the letters and numbers that begin in a block of a canonical text to `out`, as code points, and returns their number.
/// The block begins at byte `position`. `out` has at least [`BLOCK`] elements.
#[inline]
fn letters(text: &str, position: usize, block: ByteKinds, out: &mut [u32]) -> usize {
    let ByteKinds {
        spaces,
        high,
        ideographs,
    } = block;
    let bytes = text.as_bytes();
    let rest = bytes.get(position..).unwrap_or_default();
    let ideograph_bytes = ideographs | ideographs << 1 | ideographs << 2;
    // The first bytes that are not ASCII may belong to a character of the block before.
    let begun = rest.iter().take(2).take_while(|&&b| b & 0xC0 == 0x80).count();
    let others = high & !ideograph_bytes & u64::MAX << begun;
    let begins = (!(high | spaces)) | ideographs;
    match (rest.first_chunk(), out.first_chunk_mut()) {
        (Some(bytes), Some(out)) if others == 0 => code_points(bytes, begins, out),
        _ => any_letters(text, position, out),
    }
}

/// [`letters`] of any characters.
#[inline(never)]
fn any_letters(text: &str, position: usize, out: &mut [u32]) -> usize {
    let start = text.ceil_char_boundary(position);
    let rest = text.get(start..).unwrap_or_default();
    let mut count = 0;
    for (at, c) in rest.char_indices() {
        if start + at >= position + BLOCK {
            break;
        }
        // Every character is written, but only letters and numbers advance the position: a branch would be unpredictable.
        // In bounds: a block has at most as many characters as bytes.
        out[count] = u32::from(c);
        count += usize::from(is_letter_or_number(c));
    }
    count
}

/// The hash of three consecutive words, from the hashes of the words. These are uniform and secret, so a sum is a good
/// hash; the rotations distinguish the positions of the words.
fn word_gram(first: u64, second: u64, third: u64) -> u64 {
    first
        .wrapping_add(second.rotate_left(21))
        .wrapping_add(third.rotate_left(42))
}

/// Appends the words of letters and numbers of a word of the canonical text to `words`, as byte ranges. `word` begins at
/// byte `offset`. A mark separates words, and each ideograph is a word.
pub(crate) fn mixed_word(word: &str, offset: u32, words: &mut Vec<Span>) {
    if word.bytes().all(|b| b < FIRST_BYTE_OF_MARKS) {
        words.push(Span {
            start: offset,
            end: offset + word.len() as u32,
        });
        return;
    }
    let mut start = None;
    for (position, c) in word.char_indices() {
        let ideograph = Script::of(c) == Script::Ideograph;
        let in_word = !ideograph && is_letter_or_number(c);
        if let Some(from) = start.filter(|_| !in_word) {
            words.push(Span {
                start: offset + from as u32,
                end: offset + position as u32,
            });
            start = None;
        }
        if ideograph {
            words.push(Span {
                start: offset + position as u32,
                end: offset + (position + c.len_utf8()) as u32,
            });
        } else if in_word && start.is_none() {
            start = Some(position);
        }
    }
    if let Some(from) = start {
        words.push(Span {
            start: offset + from as u32,
            end: offset + word.len() as u32,
        });
    }
}

/// Returns `true` if a character of a canonical text is a letter or a number. Characters below U+0300, the first mark,
/// and those of two blocks that have only letters are recognised without a table.
pub(crate) fn is_letter_or_number(c: char) -> bool {
    match c {
        ' ' => false,
        '\0'..='\u{2FF}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' => true,
        _ => chars::is_letter_or_number(c),
    }
}

#[cfg(test)]
mod tests;
