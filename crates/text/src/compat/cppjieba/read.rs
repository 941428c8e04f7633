//! Reads cppjieba's dictionary files from a directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::hmm::{Hmm, LOG_ZERO, STATES};
use super::{Dictionaries, Idf};
use crate::segment::dictionary::{Alphabet, Dictionary};

/// File name of the dictionary: words with frequencies and parts of speech.
const WORDS: &str = "jieba.dict.utf8";
const MODEL: &str = "hmm_model.utf8";
const IDF: &str = "idf.utf8";
const STOP_WORDS: &str = "stop_words.utf8";

/// The reason why cppjieba's dictionaries cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DictionaryError {
    /// A file is missing, cannot be read, or is not UTF-8.
    #[error("{}: {source} (a dictionary is a directory with the files {WORDS}, {MODEL}, {IDF} and {STOP_WORDS})", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A line has the wrong form.
    #[error("{}, line {line}: expected {expected}", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// The number of the line, from 1. If a line is missing at the end of the file, it is the number of the missing
        /// line.
        line: usize,
        /// The expected content of the line, in words.
        expected: &'static str,
    },
    /// The file exceeds a limit.
    #[error("{}: {why}", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// A description of the limit.
        why: &'static str,
    },
}

impl Dictionaries {
    /// Reads the dictionaries from the files `jieba.dict.utf8`, `hmm_model.utf8`, `idf.utf8` and `stop_words.utf8` in a
    /// directory.
    ///
    /// # Errors
    /// [`DictionaryError`] names the file, and the number of the line if a line is wrong.
    pub fn open(directory: &Path) -> Result<Self, DictionaryError> {
        let idf = DictionaryFile::read(directory, IDF)?.idf(&DictionaryFile::read(directory, STOP_WORDS)?)?;
        Ok(Self {
            words: DictionaryFile::read(directory, WORDS)?.words()?,
            hmm: DictionaryFile::read(directory, MODEL)?.model()?,
            idf,
        })
    }
}

/// The content of a dictionary file, and its path for error messages.
struct DictionaryFile {
    path: PathBuf,
    text: String,
}

impl DictionaryFile {
    fn read(directory: &Path, name: &str) -> Result<Self, DictionaryError> {
        let path = directory.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Self { path, text }),
            Err(source) => Err(DictionaryError::Read { path, source }),
        }
    }

    fn line(&self, line: usize, expected: &'static str) -> DictionaryError {
        let path = self.path.clone();
        DictionaryError::Line { path, line, expected }
    }

    fn too_large(&self, why: &'static str) -> DictionaryError {
        let path = self.path.clone();
        DictionaryError::TooLarge { path, why }
    }

    fn words(&self) -> Result<Dictionary, DictionaryError> {
        let mut words = Vec::new();
        for (line, number) in self.text.lines().zip(1..) {
            let mut fields = line.split(' ');
            let entry = (
                fields.next(),
                fields.next().map(str::parse),
                fields.next(),
                fields.next(),
            );
            match entry {
                (Some(word), Some(Ok(frequency)), Some(_), None)
                    if f64::is_normal(frequency) && frequency > 0.0 =>
                {
                    words.push((word, frequency));
                }
                _ => return Err(self.line(number, "a word, a frequency above 0 and a part of speech")),
            }
        }
        if words.is_empty() {
            return Err(self.line(1, "a word"));
        }
        Dictionary::new(&words).map_err(|why| self.too_large(why))
    }

    /// Reads the idf table. As in cppjieba, the mean is taken over all lines, including lines that make no entry.
    fn idf(&self, stop_words: &Self) -> Result<Idf, DictionaryError> {
        let mut table = Vec::new();
        let (mut sum, mut lines) = (0.0, 0);
        for (line, number) in self.text.lines().zip(1..) {
            lines = number;
            let mut fields = line.split(' ');
            let (Some(word), Some(idf), None) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let finite = idf.parse().ok().filter(|idf: &f64| idf.is_finite());
            let idf = finite.ok_or_else(|| self.line(number, "a word and a number"))?;
            table.push((word, idf));
            sum += idf;
        }
        if sum > 0.0 {
            Ok(Idf::new(table, sum / lines as f64, stop_words.text.lines()))
        } else {
            Err(self.line(1, "words and numbers whose mean is above 0"))
        }
    }

    fn model(&self) -> Result<Hmm, DictionaryError> {
        let lines = self.text.lines().zip(1..);
        let mut lines = lines.filter(|(line, _)| !line.trim().is_empty() && !line.trim().starts_with('#'));
        let mut next = |expected| {
            let end = self.text.lines().count() + 1;
            lines.next().ok_or_else(|| self.line(end, expected))
        };
        let mut numbers = || {
            let expected = "four numbers";
            let (line, number) = next(expected)?;
            let row: Option<Vec<f64>> = line.split(' ').map(|part| part.trim().parse().ok()).collect();
            let row = row.and_then(|row| <[f64; STATES]>::try_from(row).ok());
            row.ok_or_else(|| self.line(number, expected))
        };
        let start = numbers()?;
        let transition = [numbers()?, numbers()?, numbers()?, numbers()?];
        let mut rows: BTreeMap<char, [f64; STATES]> = BTreeMap::new();
        for state in 0..STATES {
            let expected = "characters with numbers, as in 中:-8.1,文:-9.2";
            let (line, number) = next(expected)?;
            for entry in line.trim().split(',') {
                let entry = entry.split_once(':').and_then(|(c, weight)| {
                    let mut c = c.chars();
                    Some((c.next()?, c.next(), weight.parse().ok()?))
                });
                let Some((c, None, weight)) = entry else {
                    return Err(self.line(number, expected));
                };
                rows.entry(c).or_insert([LOG_ZERO; STATES])[state] = weight;
            }
        }
        if rows.len() >= usize::from(u16::MAX) {
            return Err(self.too_large("it has more than 65,534 different characters"));
        }
        Ok(Hmm {
            start,
            transition,
            characters: Alphabet::new(rows.keys().copied()),
            emission: std::iter::once([LOG_ZERO; STATES])
                .chain(rows.into_values())
                .collect(),
        })
    }
}
