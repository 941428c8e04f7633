//! Tables of inverse document frequencies: how rare words are, frozen so that they can be part of a profile.
//!
//! A table is made once, from documents ([`IdfBuilder`]) or a published list, and never from the documents it is then used on: a
//! fingerprint must not change with its neighbours. Values are integers, sixteenths of ln(N / df), so that fingerprints are the
//! same on every machine.
//!
//! ```text
//! magic 8 | name length 1, name | documents u64 | value of other words u8 | words u32
//! word: bytes shared with the word before u8, further bytes u8, these bytes, value u8        (words sorted by their bytes)
//! checksum u64: SipHash-1-3 of all before
//! ```
//! Numbers are little-endian.

use std::collections::HashMap;
use std::sync::Arc;

use crate::analyzer::Feature;
use crate::profile::checksum;

const MAGIC: &[u8; 8] = b"TPIDF\x01\r\n";
/// Units of a value in 1.
const UNIT: f64 = 16.0;
/// Bytes of the longest word in a table.
const LONGEST: usize = 255;

/// How rare the words of a language or a field are.
#[derive(Clone, PartialEq, Eq)]
pub struct IdfTable {
    name: String,
    documents: u64,
    /// Value of words that are not in the table.
    others: u8,
    /// Sorted by word.
    words: Arc<[(Box<str>, u8)]>,
    checksum: u64,
}

impl std::fmt::Debug for IdfTable {
    /// Its name and size; the words would fill pages.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdfTable")
            .field("name", &self.name)
            .field("words", &self.words.len())
            .finish_non_exhaustive()
    }
}

/// A file that is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdfError {
    /// Another kind of file.
    #[error("not a table of idf weights (twinprint idf build makes one)")]
    Magic,
    /// Cut off, or changed.
    #[error("the table is damaged at byte {0}; make it anew")]
    Damaged(usize),
    /// A name that a profile's id cannot hold.
    #[error("a table's name has 1 to 32 ASCII letters and digits: {0:?}")]
    Name(String),
    /// Too little to tell what is rare.
    #[error("{0} documents are too few for a table of idf weights")]
    TooFew(u64),
}

impl IdfTable {
    /// A table of words with their idf, in natural logarithms; words of no entry weigh as the rarest of them.
    ///
    /// # Errors
    /// A name that a profile's id cannot hold.
    pub fn new(
        name: &str,
        documents: u64,
        words: impl IntoIterator<Item = (String, f64)>,
    ) -> Result<Self, IdfError> {
        if !is_name(name) {
            return Err(IdfError::Name(name.to_owned()));
        }
        let value = |idf: f64| (idf * UNIT).round().clamp(1.0, 255.0) as u8;
        let mut words: Vec<(Box<str>, u8)> = words
            .into_iter()
            .filter(|(word, _)| !word.is_empty() && word.len() <= LONGEST)
            .map(|(word, idf)| (word.into_boxed_str(), value(idf)))
            .collect();
        words.sort_unstable();
        words.dedup_by(|a, b| a.0 == b.0);
        let others = words.iter().map(|word| word.1).max().unwrap_or(value(1.0));
        let mut table = Self {
            name: name.to_owned(),
            documents,
            others,
            words: words.into(),
            checksum: 0,
        };
        table.checksum = checksum(&table.body());
        Ok(table)
    }

    /// Reads a table.
    ///
    /// # Errors
    /// A file that is none, or was damaged.
    pub fn read(bytes: &[u8]) -> Result<Self, IdfError> {
        if !bytes.starts_with(MAGIC) {
            return Err(IdfError::Magic);
        }
        let damaged = || IdfError::Damaged(bytes.len());
        let (body, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if checksum(body) != u64::from_le_bytes(*sum) {
            return Err(damaged());
        }
        let mut reader = Reader {
            bytes: body,
            at: MAGIC.len(),
        };
        let length = reader.byte()?;
        let name = reader.text(usize::from(length))?.to_owned();
        if !is_name(&name) {
            return Err(IdfError::Name(name));
        }
        let documents = u64::from_le_bytes(reader.array()?);
        let others = reader.byte()?;
        let count = u32::from_le_bytes(reader.array()?);
        let mut words: Vec<(Box<str>, u8)> = Vec::new();
        let mut word: Vec<u8> = Vec::new();
        for _ in 0..count {
            let (shared, further) = (reader.byte()?, reader.byte()?);
            word.truncate(shared.into());
            word.extend_from_slice(reader.take(further.into())?);
            let text = std::str::from_utf8(&word).map_err(|_| IdfError::Damaged(reader.at))?;
            words.push((text.into(), reader.byte()?));
        }
        if reader.at != body.len() || !words.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(IdfError::Damaged(reader.at));
        }
        Ok(Self {
            name,
            documents,
            others,
            words: words.into(),
            checksum: u64::from_le_bytes(*sum),
        })
    }

    /// A table that comes with the program: `zhen1`, for Chinese and English (`idf/README.md` names its sources).
    pub fn shipped(name: &str) -> Option<Self> {
        const ZHEN1: &[u8] = include_bytes!("../idf/zhen1.tpidf");
        // A test reads it.
        (name == "zhen1").then(|| Self::read(ZHEN1).ok()).flatten()
    }

    /// The table as a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.body();
        bytes.extend_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    fn body(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        // A name has 32 bytes at most, a word 255.
        out.push(self.name.len() as u8);
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(&self.documents.to_le_bytes());
        out.push(self.others);
        out.extend_from_slice(&(self.words.len() as u32).to_le_bytes());
        let mut before: &[u8] = b"";
        for (word, value) in &*self.words {
            let word = word.as_bytes();
            let shared = word.iter().zip(before).take_while(|(a, b)| a == b).count();
            out.extend_from_slice(&[shared as u8, (word.len() - shared) as u8]);
            out.extend_from_slice(&word[shared..]);
            out.push(*value);
            before = word;
        }
        out
    }

    /// What it is called in a profile's id.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Documents it was made from; 0 where that is not known.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Words in it.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether it has no words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// A checksum of all of it.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The value of a word, in sixteenths of ln(N / df).
    pub fn value(&self, word: &str) -> u8 {
        let found = self.words.binary_search_by(|entry| (*entry.0).cmp(word));
        found.map_or(self.others, |at| self.words[at].1)
    }

    /// All words with their values, sorted.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, u8)> {
        self.words.iter().map(|(word, value)| (&**word, *value))
    }

    /// The value of words that are not in the table.
    pub(crate) fn others(&self) -> u8 {
        self.others
    }
}

/// How the idf takes part in a weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IdfPower {
    /// The weight is multiplied by it.
    #[default]
    Whole,
    /// By its square root: rare words count for more, but not so much that a few of them decide.
    Root,
}

impl IdfPower {
    /// What a weight is multiplied by, in sixteenths: at most 255.
    pub(crate) fn factor(self, value: u8) -> u16 {
        match self {
            Self::Whole => value.into(),
            // 16 √(v / 16) = √(16 v), rounded: √255·16 < 64.
            Self::Root => {
                let square = u16::from(value) * 16;
                let root = square.isqrt();
                root + u16::from(square - root * root > root)
            }
        }
    }
}

/// Counts in how many documents each word occurs.
#[derive(Debug, Default)]
pub struct IdfBuilder {
    documents: u64,
    counts: HashMap<String, u32>,
}

impl IdfBuilder {
    /// Counts a document in, by its distinct features.
    pub fn add(&mut self, features: &[Feature]) {
        self.documents += 1;
        for feature in features {
            match self.counts.get_mut(&feature.text) {
                Some(count) => *count += 1,
                None => {
                    self.counts.insert(feature.text.clone(), 1);
                }
            }
        }
    }

    /// The table of at most `most` words, those that occur in most documents, none in fewer than two: a word that
    /// is not in it is rare.
    ///
    /// # Errors
    /// Fewer than ten documents; a name that a profile's id cannot hold.
    pub fn finish(self, name: &str, most: usize) -> Result<IdfTable, IdfError> {
        if self.documents < 10 {
            return Err(IdfError::TooFew(self.documents));
        }
        let n = self.documents as f64;
        let mut counts: Vec<(String, u32)> =
            self.counts.into_iter().filter(|&(_, count)| count > 1).collect();
        counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.truncate(most);
        let idf = |count: u32| (n / f64::from(count)).ln();
        IdfTable::new(
            name,
            self.documents,
            counts.into_iter().map(|(word, count)| (word, idf(count))),
        )
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn take(&mut self, n: usize) -> Result<&'b [u8], IdfError> {
        let taken = self
            .bytes
            .get(self.at..self.at + n)
            .ok_or(IdfError::Damaged(self.at))?;
        self.at += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], IdfError> {
        let at = self.at;
        self.take(N)?.try_into().map_err(|_| IdfError::Damaged(at))
    }

    fn byte(&mut self) -> Result<u8, IdfError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn text(&mut self, n: usize) -> Result<&'b str, IdfError> {
        let at = self.at;
        std::str::from_utf8(self.take(n)?).map_err(|_| IdfError::Damaged(at))
    }
}

fn is_name(name: &str) -> bool {
    (1..=32).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table() -> IdfTable {
        let words = [("the", 0.01), ("cat", 3.2), ("cats", 5.0), ("猫", 7.5)];
        IdfTable::new("own", 1000, words.map(|(word, idf)| (word.to_owned(), idf))).unwrap()
    }

    #[test]
    fn a_table_is_read_back_and_answers() {
        let table = table();
        let read = IdfTable::read(&table.to_bytes()).unwrap();
        assert_eq!((&read, read.checksum()), (&table, table.checksum()));
        assert_eq!(
            ["the", "cat", "cats", "猫", "dog"].map(|word| read.value(word)),
            [1, 51, 80, 120, 120]
        );
        assert_eq!((read.name(), read.documents(), read.len()), ("own", 1000, 4));
    }

    proptest! {
        #[test]
        fn damage_is_noticed(at in 0usize..70, flip in 1u8..) {
            let bytes = table().to_bytes();
            let mut damaged = bytes.clone();
            let at = at % bytes.len();
            damaged[at] ^= flip;
            prop_assert!(IdfTable::read(&damaged).is_err());
            prop_assert!(IdfTable::read(&bytes[..at]).is_err());
        }
    }

    #[test]
    fn the_shipped_table_knows_both_languages() {
        let table = IdfTable::shipped("zhen1").unwrap();
        assert_eq!(table.name(), "zhen1");
        for (common, rare) in [("the", "python"), ("的", "编译器")] {
            assert!(table.value(common) < table.value(rare), "{common} {rare}");
        }
        assert!(IdfTable::shipped("zhen2").is_none());
    }

    #[test]
    fn roots_are_rounded() {
        for value in 1..=255u8 {
            let exact = (f64::from(value) * 16.0).sqrt();
            assert!(
                (f64::from(IdfPower::Root.factor(value)) - exact).abs() <= 0.5,
                "{value}"
            );
        }
    }

    #[test]
    fn words_of_one_document_are_rare_and_few_documents_tell_nothing() {
        let feature = |text: &str| Feature {
            text: text.to_owned(),
            hash: 0,
            tf: 1,
            weight: 1,
        };
        let mut builder = IdfBuilder::default();
        for i in 0..20 {
            let mut features = vec![feature("all"), feature(&format!("w{i}"))];
            features.extend((i % 2 == 0).then(|| feature("half")));
            builder.add(&features);
        }
        let table = builder.finish("t", 100).unwrap();
        assert_eq!(table.len(), 2);
        assert_eq!(["all", "half", "w3"].map(|word| table.value(word)), [1, 11, 11]);
        assert_eq!(IdfBuilder::default().finish("t", 9), Err(IdfError::TooFew(0)));
        assert!(matches!(IdfTable::new("no name", 1, []), Err(IdfError::Name(_))));
    }
}
