//! Tables of inverse document frequencies (idf): frozen weights for the rarity of words, which can be part of a
//! profile.
//!
//! A table is made once, from documents ([`IdfBuilder`]) or from a published list, and not from the documents that are
//! searched: otherwise the fingerprint of a document would depend on the other documents. Values are integers,
//! sixteenths of ln(N / df), so fingerprints are the same on every machine.
//!
//! ```text
//! magic 8 | name length 1, name | documents u64 | value of other words u8 | words u32
//! word: bytes shared with the word before u8, further bytes u8, these bytes, value u8        (words sorted by their bytes)
//! checksum u64: SipHash-1-3 of all before
//! ```
//! Numbers are little-endian.

use std::sync::Arc;

use crate::checksum::checksum;

mod builder;
mod error;
mod power;
#[cfg(test)]
mod tests;

pub use builder::IdfBuilder;
pub use error::IdfError;
pub use power::IdfPower;

const MAGIC: &[u8; 8] = b"TPIDF\x01\r\n";
/// The value that stands for an idf of 1: values count sixteenths.
const WEIGHT_UNITS: f64 = 16.0;
/// The maximum length of a word in a table, in bytes. The file stores the length in one byte.
const MAX_WORD_BYTES: usize = 255;

/// The inverse document frequencies of the words of a language or a field of knowledge.
///
/// ```
/// use twinprint_text::{IdfPower, IdfTable, Profile};
///
/// let words = [("the".to_owned(), 0.01), ("cat".to_owned(), 3.2)];
/// let table = IdfTable::new("pets", 1000, words)?;
/// assert_eq!(table.value("cat"), 51);
///
/// let profile = Profile::default_for(64)?.with_idf(table, IdfPower::Whole);
/// assert_eq!(profile.id(), "tp1-words-lntf.pets-64");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct IdfTable {
    name: String,
    documents: u64,
    /// Value of words that are not in the table.
    default_value: u8,
    /// The words of the table with their values, sorted by word.
    words: Arc<[(Box<str>, u8)]>,
    checksum: u64,
}

impl std::fmt::Debug for IdfTable {
    /// Prints only the name and the size of the table: the words would fill pages.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdfTable")
            .field("name", &self.name)
            .field("words", &self.words.len())
            .finish_non_exhaustive()
    }
}

impl IdfTable {
    /// Makes a table from words and their idf, ln(N / df). A word that is not in the table gets the largest value in
    /// the table, because it is rare. Empty words and words of more than 255 bytes are ignored.
    ///
    /// # Errors
    /// [`IdfError::Name`] if `name` cannot be part of a profile's id.
    pub fn new(
        name: &str,
        documents: u64,
        words: impl IntoIterator<Item = (String, f64)>,
    ) -> Result<Self, IdfError> {
        if !is_name(name) {
            return Err(IdfError::Name(name.to_owned()));
        }
        let value = |idf: f64| (idf * WEIGHT_UNITS).round().clamp(1.0, 255.0) as u8;
        let mut words: Vec<(Box<str>, u8)> = words
            .into_iter()
            .filter(|(word, _)| !word.is_empty() && word.len() <= MAX_WORD_BYTES)
            .map(|(word, idf)| (word.into_boxed_str(), value(idf)))
            .collect();
        words.sort_unstable();
        words.dedup_by(|a, b| a.0 == b.0);
        let default_value = words.iter().map(|word| word.1).max().unwrap_or(value(1.0));
        let mut table = Self {
            name: name.to_owned(),
            documents,
            default_value,
            words: words.into(),
            checksum: 0,
        };
        table.checksum = checksum(&table.body());
        Ok(table)
    }

    /// Reads a table that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// [`IdfError::Magic`] if the bytes are not a table, [`IdfError::Damaged`] if the checksum or the layout is wrong.
    pub fn read(bytes: &[u8]) -> Result<Self, IdfError> {
        if !bytes.starts_with(MAGIC) {
            return Err(IdfError::Magic);
        }
        let damaged = || IdfError::Damaged(bytes.len());
        let (body, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if checksum(body) != u64::from_le_bytes(*sum) {
            return Err(damaged());
        }
        let mut reader = FieldReader {
            bytes: body,
            position: MAGIC.len(),
        };
        let length = reader.byte()?;
        let name = reader.text(usize::from(length))?.to_owned();
        if !is_name(&name) {
            return Err(IdfError::Name(name));
        }
        let documents = u64::from_le_bytes(reader.array()?);
        let default_value = reader.byte()?;
        let count = u32::from_le_bytes(reader.array()?);
        let mut words: Vec<(Box<str>, u8)> = Vec::new();
        let mut word: Vec<u8> = Vec::new();
        for _ in 0..count {
            let (shared, further) = (reader.byte()?, reader.byte()?);
            word.truncate(shared.into());
            word.extend_from_slice(reader.take(further.into())?);
            let text = std::str::from_utf8(&word).map_err(|_| IdfError::Damaged(reader.position))?;
            words.push((text.into(), reader.byte()?));
        }
        if reader.position != body.len() || !words.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(IdfError::Damaged(reader.position));
        }
        Ok(Self {
            name,
            documents,
            default_value,
            words: words.into(),
            checksum: u64::from_le_bytes(*sum),
        })
    }

    /// Returns a table that is part of this crate. The only name is `zhen1`, a table for Chinese and English
    /// (`idf/README.md` lists its sources); any other name gives `None`.
    pub fn bundled(name: &str) -> Option<Self> {
        const ZHEN1: &[u8] = include_bytes!("../idf/zhen1.tpidf");
        // Cannot fail: a test reads the bundled table.
        (name == "zhen1").then(|| Self::read(ZHEN1).ok()).flatten()
    }

    /// Serializes the table as the bytes of its file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.body();
        bytes.extend_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    fn body(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        // The length of a name (at most 32 bytes) and of a word (at most 255) is stored in one byte.
        out.push(self.name.len() as u8);
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(&self.documents.to_le_bytes());
        out.push(self.default_value);
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

    /// The name of the table, which is part of the id of a profile with this table.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of documents that the table was made from; 0 if it is unknown.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Number of words in the table.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns `true` if the table has no words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Checksum of the table's file.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The value of a word, in sixteenths of ln(N / df). A word that is not in the table has the default value. O(log
    /// n).
    pub fn value(&self, word: &str) -> u8 {
        let found = self.words.binary_search_by(|entry| (*entry.0).cmp(word));
        found.map_or(self.default_value, |index| self.words[index].1)
    }

    /// All words with their values, sorted.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, u8)> {
        self.words.iter().map(|(word, value)| (&**word, *value))
    }

    /// The value of words that are not in the table.
    pub(crate) fn default_value(&self) -> u8 {
        self.default_value
    }
}

/// Reads the fields of a table's file one after another.
struct FieldReader<'b> {
    bytes: &'b [u8],
    position: usize,
}

impl<'b> FieldReader<'b> {
    fn take(&mut self, n: usize) -> Result<&'b [u8], IdfError> {
        let taken = self
            .bytes
            .get(self.position..self.position + n)
            .ok_or(IdfError::Damaged(self.position))?;
        self.position += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], IdfError> {
        let position = self.position;
        self.take(N)?.try_into().map_err(|_| IdfError::Damaged(position))
    }

    fn byte(&mut self) -> Result<u8, IdfError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn text(&mut self, n: usize) -> Result<&'b str, IdfError> {
        let position = self.position;
        std::str::from_utf8(self.take(n)?).map_err(|_| IdfError::Damaged(position))
    }
}

fn is_name(name: &str) -> bool {
    (1..=32).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric())
}
