//! A dictionary of words with frequencies, which finds the most likely segmentation of a run of characters into words.
//!
//! The segmentation is the path of maximum probability of jieba (<https://github.com/fxsjy/jieba>): the weight of a
//! word is the logarithm of its share of all frequencies, and the sum of weights is maximised. jieba-rs and cppjieba
//! find the same paths, except for ties and unknown characters; [`Rules`] states these differences. Sums are taken in
//! the order of both libraries, so that rounding is the same.
//!
//! A run is processed once, from its end: the best sum from each character on is known when the words that begin before
//! that character need it. Therefore no graph of words is stored, only one number and one length for each character.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use node::Node;
use twinprint_fingerprint::kernel::prefetch_read;

#[expect(dead_code, reason = "the build script writes nodes, the library reads them")]
mod node;
#[cfg(test)]
mod tests;
mod writer;

/// The code of a character that no word of the dictionary contains.
const UNKNOWN: u16 = 0;
/// The code of a character at which a run ends. The next run starts after it.
const BARRIER: u16 = u16::MAX;

/// The bundled dictionary: the words of ideographs in the dictionary of jieba 0.42, which jieba-rs 0.11.0 contains.
pub(super) static JIEBA: LazyLock<Dictionary> = LazyLock::new(shipped);

/// The rules in which two implementations of jieba's segmentation differ.
pub(crate) trait Rules {
    /// True if the longer of two equally likely first words is used.
    const PREFERS_LONGER_ON_TIE: bool;
    /// True if a character that begins a word of the dictionary, but is not a word itself, may be a word in the
    /// segmentation.
    const ALLOWS_LONE_PREFIX: bool;
    /// Returns `true` if a character is in no word and splits the run, so that the sums start from 0 at it.
    fn is_barrier(c: char) -> bool;
}

/// The rules of jieba-rs, for runs of ideographs.
pub(super) struct JiebaRs;

impl Rules for JiebaRs {
    const PREFERS_LONGER_ON_TIE: bool = true;
    const ALLOWS_LONE_PREFIX: bool = false;

    /// Returns `true` for ideographs that jieba-rs does not treat as ideographs: those of later extensions, and those
    /// between the blocks.
    fn is_barrier(c: char) -> bool {
        c >= '\u{2A6E0}'
            && !matches!(c, '\u{2A700}'..='\u{2B73F}' | '\u{2B740}'..='\u{2B81F}' | '\u{2B820}'..='\u{2CEAF}'
                | '\u{2CEB0}'..='\u{2EBEF}' | '\u{2F800}'..='\u{2FA1F}')
    }
}

/// A dictionary: a trie of words, and their weights.
pub(crate) struct Dictionary {
    alphabet: Alphabet,
    nodes: Vec<Node>,
    /// The weight for each weight number. Number 0 stands for "no word".
    weights: Vec<f64>,
    /// The weight of a character that is not a word of the dictionary.
    unknown: f64,
}

/// Maps characters to 16-bit codes.
pub(crate) struct Alphabet {
    /// The codes of the characters below U+10000, indexed by character.
    basic: Box<[u16]>,
    others: BTreeMap<char, u16>,
}

impl Alphabet {
    /// Gives the characters the codes 1, 2, …, in the order of the iterator.
    pub(crate) fn new(characters: impl Iterator<Item = char>) -> Self {
        let mut basic = vec![UNKNOWN; 1 << 16].into_boxed_slice();
        let mut others = BTreeMap::new();
        for (c, code) in characters.zip(1..) {
            match basic.get_mut(c as usize) {
                Some(slot) => *slot = code,
                None => _ = others.insert(c, code),
            }
        }
        Self { basic, others }
    }

    #[inline]
    pub(crate) fn code(&self, c: char) -> u16 {
        match self.basic.get(c as usize) {
            Some(&code) => code,
            None => self.others.get(&c).copied().unwrap_or(UNKNOWN),
        }
    }
}

/// The best segmentation of a run of characters into words, and the dictionary's codes of these characters. The buffers
/// are reused from run to run.
#[derive(Debug, Default)]
pub(crate) struct Path {
    codes: Vec<u16>,
    /// The best segmentation from each character on, and an empty one for the end of the run.
    best: Vec<BestFrom>,
}

/// The best segmentation of a run from one character to the end, by its first word.
#[derive(Clone, Copy, Debug)]
struct BestFrom {
    /// Sum of the weights of the words.
    sum: f64,
    /// Length of the first word, in characters.
    length: u32,
}

impl Dictionary {
    /// Makes a dictionary from words with positive frequencies. If a word is repeated, its last frequency counts. The
    /// weight of a word is the logarithm of its share of all frequencies. A character that is not a word has the
    /// smallest of these weights.
    ///
    /// # Errors
    /// Returns a description of the limit that `words` exceed.
    pub(crate) fn new(words: &[(&str, f64)]) -> Result<Self, &'static str> {
        let total: f64 = words.iter().map(|(_, frequency)| frequency).sum();
        // The bits of positive floating-point numbers are in the same order as the numbers.
        let words: Vec<(&str, u64)> = words.iter().map(|(word, n)| (*word, n.to_bits())).collect();
        let written = writer::write(&words).map_err(|writer::TooLarge(reason)| reason)?;
        let logarithms = written
            .weights
            .iter()
            .map(|&bits| (f64::from_bits(bits) / total).ln());
        let weights: Vec<f64> = std::iter::once(0.0).chain(logarithms).collect();
        Ok(Self {
            alphabet: Alphabet::new(written.characters.into_iter()),
            nodes: written.nodes,
            unknown: weights.get(1).copied().unwrap_or_default(),
            weights,
        })
    }

    /// Finds the most likely words of a run of at most 2³² characters and stores them in `path`. O(characters × longest
    /// word), nearly linear in practice.
    pub(crate) fn find<R: Rules>(&self, run: impl Iterator<Item = char>, path: &mut Path) {
        let Path { codes, best } = path;
        codes.clear();
        codes.extend(run.map(|c| {
            if R::is_barrier(c) {
                BARRIER
            } else {
                self.alphabet.code(c)
            }
        }));
        // The trie is larger than the caches of a core. The nodes of two characters are most of those that are read, so they
        // are all fetched at the same time.
        for &[code, next] in codes.array_windows() {
            let node = self.node(usize::from(code));
            if node.may_have_child(next) {
                prefetch_read(&self.nodes, node.base() + usize::from(next));
            }
        }
        best.clear();
        best.resize(codes.len() + 1, BestFrom { sum: 0.0, length: 1 });
        for i in (0..codes.len()).rev() {
            let (Some(&code), Some(&BestFrom { sum: after, .. })) = (codes.get(i), best.get(i + 1)) else {
                continue;
            };
            let found = match code {
                BARRIER => Some(BestFrom { sum: 0.0, length: 1 }),
                UNKNOWN => None,
                code => self.best_word::<R>(
                    code,
                    codes.get(i + 1..).unwrap_or_default(),
                    best.get(i + 1..).unwrap_or_default(),
                ),
            };
            if let Some(best) = best.get_mut(i) {
                *best = found.unwrap_or(BestFrom {
                    sum: self.unknown + after,
                    length: 1,
                });
            }
        }
    }

    /// The best segmentation whose first word begins with the character of `code`; `None` if no word does. `following`
    /// are the codes of the characters after it. `best` are the best segmentations from each of these characters on,
    /// and from the end of the run.
    #[inline]
    fn best_word<R: Rules>(&self, code: u16, following: &[u16], best: &[BestFrom]) -> Option<BestFrom> {
        let mut node = self.node(usize::from(code));
        let mut found: Option<BestFrom> = None;
        if node.code() != code {
            return found;
        }
        if R::ALLOWS_LONE_PREFIX && node.weight() == 0 {
            found = best.first().map(|after| BestFrom {
                sum: self.unknown + after.sum,
                length: 1,
            });
        }
        let mut following = following.iter();
        for (after, length) in best.iter().zip(1..) {
            if node.weight() != 0 {
                let sum = self
                    .weights
                    .get(usize::from(node.weight()))
                    .copied()
                    .unwrap_or_default()
                    + after.sum;
                let better = |other: &BestFrom| {
                    if R::PREFERS_LONGER_ON_TIE {
                        sum >= other.sum
                    } else {
                        sum > other.sum
                    }
                };
                if found.as_ref().is_none_or(better) {
                    found = Some(BestFrom { sum, length });
                }
            }
            let Some(&code) = following.next() else { break };
            if !node.may_have_child(code) {
                break;
            }
            node = self.node(node.base() + usize::from(code));
            if node.code() != code {
                break;
            }
        }
        found
    }

    /// The node of the trie at `index`; an empty node if the index is beyond the end.
    #[inline]
    fn node(&self, index: usize) -> Node {
        self.nodes.get(index).copied().unwrap_or_default()
    }
}

impl Path {
    /// The number of characters of the run.
    pub(crate) fn len(&self) -> usize {
        self.codes.len()
    }

    /// The lengths of the words that were found, in characters.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = usize> {
        let mut position = 0;
        std::iter::from_fn(move || {
            let first = self.best.get(position).filter(|_| position < self.codes.len())?;
            let length = first.length as usize;
            position += length;
            Some(length)
        })
    }
}

/// Loads the bundled dictionary, which the build script converted.
fn shipped() -> Dictionary {
    let characters = include_bytes!(concat!(env!("OUT_DIR"), "/characters"))
        .as_chunks()
        .0
        .iter();
    let characters = characters.filter_map(|&bytes| char::from_u32(u32::from_le_bytes(bytes)));
    let frequencies = include_bytes!(concat!(env!("OUT_DIR"), "/frequencies"))
        .as_chunks()
        .0
        .iter();
    let mut frequencies = frequencies.map(|&bytes| u64::from_le_bytes(bytes) as f64);
    let total = frequencies.next().unwrap_or_default().ln();
    let nodes = include_bytes!(concat!(env!("OUT_DIR"), "/nodes"))
        .as_chunks()
        .0
        .iter();
    Dictionary {
        alphabet: Alphabet::new(characters),
        nodes: nodes.map(|&bytes| Node::from_le_bytes(bytes)).collect(),
        weights: std::iter::once(0.0)
            .chain(frequencies.map(|frequency| frequency.ln() - total))
            .collect(),
        unknown: 0.0 - total,
    }
}
