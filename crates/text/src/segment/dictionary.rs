//! Dictionaries of words with frequencies, and the likeliest way to cut a run of characters into their words.
//!
//! The likeliest path through all words found in a run is that of jieba (<https://github.com/fxsjy/jieba>): each word weighs the logarithm of
//! its share of all frequencies. jieba-rs and cppjieba find the same paths but where words tie or characters are unknown; [`Rules`]
//! has what they do then, and sums are taken in their order, so that no rounding differs.
//!
//! A run is read once, from its end: of each character, the best sum from there on is known before the words that begin further left ask
//! for it. So no graph of words is kept, and what is held is one number and one length a character.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use node::Node;

#[expect(dead_code, reason = "the build script's part")]
mod node;
#[cfg(test)]
mod tests;
mod writer;

/// The code of a character in no word.
const UNKNOWN: u16 = 0;
/// The code of a character that ends the run before it and begins a new one after it.
const BARRIER: u16 = u16::MAX;

/// The dictionary of jieba 0.42, as it is embedded in jieba-rs 0.11.0: its words of ideographs alone.
pub(super) static JIEBA: LazyLock<Dictionary> = LazyLock::new(shipped);

/// What two segmenters do differently.
pub(crate) trait Rules {
    /// Whether of equally likely words the longer one is taken.
    const LONGER_AMONG_EQUALS: bool;
    /// Whether a character that is no word, but begins one, may stand alone.
    const ANY_MAY_STAND_ALONE: bool;
    /// Whether a character can be in no word and parts the run, so that sums begin anew.
    fn is_barrier(c: char) -> bool;
}

/// The rules of jieba-rs, on runs of ideographs.
pub(super) struct JiebaRs;

impl Rules for JiebaRs {
    const LONGER_AMONG_EQUALS: bool = true;
    const ANY_MAY_STAND_ALONE: bool = false;

    /// Ideographs that it does not take for such: in later extensions, and between them.
    fn is_barrier(c: char) -> bool {
        c >= '\u{2A6E0}'
            && !matches!(c, '\u{2A700}'..='\u{2B73F}' | '\u{2B740}'..='\u{2B81F}' | '\u{2B820}'..='\u{2CEAF}'
                | '\u{2CEB0}'..='\u{2EBEF}' | '\u{2F800}'..='\u{2FA1F}')
    }
}

/// Words and what they weigh.
pub(crate) struct Dictionary {
    alphabet: Alphabet,
    nodes: Vec<Node>,
    /// By number; none has number 0.
    weights: Vec<f64>,
    /// What a character weighs that is no word.
    unknown: f64,
}

/// The codes of characters.
pub(crate) struct Alphabet {
    /// Of the characters below U+10000.
    basic: Box<[u16]>,
    others: BTreeMap<char, u16>,
}

impl Alphabet {
    /// Characters in the order of their codes, from code 1.
    pub(crate) fn new(characters: impl Iterator<Item = char>) -> Self {
        let mut basic = vec![UNKNOWN; 1 << 16].into_boxed_slice();
        let mut others = BTreeMap::new();
        for (c, code) in characters.zip(1..) {
            match basic.get_mut(c as usize) {
                Some(place) => *place = code,
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

/// A run and the best way through it.
#[derive(Debug, Default)]
pub(crate) struct Path {
    codes: Vec<u16>,
    /// For each character, and for the end: the best sum from there on, and the characters of the word it begins with.
    best: Vec<(f64, u32)>,
}

impl Dictionary {
    /// A dictionary of words with frequencies, positive numbers, of which the last counts where a word comes again. Each weighs the logarithm
    /// of its share of all; a character that is no word, as much as the least of them.
    ///
    /// # Errors
    /// Says what there is too much of.
    pub(crate) fn new(words: &[(&str, f64)]) -> Result<Self, &'static str> {
        let total: f64 = words.iter().map(|(_, frequency)| frequency).sum();
        // The bits of positive numbers are in the order of the numbers.
        let words: Vec<(&str, u64)> = words.iter().map(|(word, n)| (*word, n.to_bits())).collect();
        let written = writer::write(&words).map_err(|writer::TooLarge(why)| why)?;
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

    /// Finds the likeliest words of a run of at most 2³² characters. O(characters × the longest word), near linear in practice.
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
        best.clear();
        best.resize(codes.len() + 1, (0.0, 1));
        for at in (0..codes.len()).rev() {
            let (Some(&code), Some(&(after, _))) = (codes.get(at), best.get(at + 1)) else {
                continue;
            };
            let found = match code {
                BARRIER => Some((0.0, 1)),
                UNKNOWN => None,
                code => self.best_word::<R>(
                    code,
                    codes.get(at + 1..).unwrap_or_default(),
                    best.get(at + 1..).unwrap_or_default(),
                ),
            };
            if let Some(place) = best.get_mut(at) {
                *place = found.unwrap_or((self.unknown + after, 1));
            }
        }
    }

    /// The best word that begins with `code`: what it and all behind it weigh, and its length. `best` is that of `following` and of the end.
    #[inline]
    fn best_word<R: Rules>(&self, code: u16, following: &[u16], best: &[(f64, u32)]) -> Option<(f64, u32)> {
        let mut node = self.node(usize::from(code));
        let mut found: Option<(f64, u32)> = None;
        if node.code() != code {
            return found;
        }
        if R::ANY_MAY_STAND_ALONE && node.weight() == 0 {
            found = best.first().map(|&(after, _)| (self.unknown + after, 1));
        }
        let mut following = following.iter();
        for (&(after, _), length) in best.iter().zip(1..) {
            if node.weight() != 0 {
                let sum = self
                    .weights
                    .get(usize::from(node.weight()))
                    .copied()
                    .unwrap_or_default()
                    + after;
                let better = |&(other, _): &(f64, u32)| {
                    if R::LONGER_AMONG_EQUALS {
                        sum >= other
                    } else {
                        sum > other
                    }
                };
                if found.as_ref().is_none_or(better) {
                    found = Some((sum, length));
                }
            }
            let Some(&code) = following.next() else { break };
            if !node.may_lead(code) {
                break;
            }
            node = self.node(node.base() + usize::from(code));
            if node.code() != code {
                break;
            }
        }
        found
    }

    /// What is in a place of the trie.
    #[inline]
    fn node(&self, place: usize) -> Node {
        self.nodes.get(place).copied().unwrap_or_default()
    }
}

impl Path {
    /// The lengths of the words in characters.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = usize> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let &(_, length) = self.best.get(at).filter(|_| at < self.codes.len())?;
            at += length as usize;
            Some(length as usize)
        })
    }
}

/// The dictionary that the build script has written.
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
