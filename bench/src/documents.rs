//! Source documents, split where edits are natural.
//!
//! A **unit** is the text that one edit changes: a run of letters and digits, or one ideograph. A **sentence** runs up to a full stop
//! and the space after it, or to an empty line. Sentences follow each other without gaps, and no unit crosses the end of a sentence.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;

use anyhow::Context;
use rustc_hash::FxHashSet;
use serde::Deserialize;

/// A language, which decides the meaning of a unit and of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Words separated by spaces.
    English,
    /// Ideographs.
    Chinese,
}

impl Language {
    /// Returns the tag in a record.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }
}

/// A source document.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its id in the file it came from.
    pub id: String,
    /// Its language.
    pub language: Language,
    /// Its text.
    pub text: String,
    /// Byte ranges of the units, in order.
    pub units: Vec<Range<u32>>,
    /// Byte ranges of the sentences, in order, without gaps.
    pub sentences: Vec<Range<u32>>,
}

/// Documents by language.
#[derive(Debug)]
pub struct Pools<'d> {
    english: Vec<&'d Document>,
    chinese: Vec<&'d Document>,
}

impl<'d> Pools<'d> {
    /// Divides the documents by language.
    pub fn new(documents: &'d [Document]) -> Self {
        let (english, chinese) = documents.iter().partition(|d| d.language == Language::English);
        Self { english, chinese }
    }

    /// Returns the documents of a language.
    pub fn of(&self, language: Language) -> &[&'d Document] {
        match language {
            Language::English => &self.english,
            Language::Chinese => &self.chinese,
        }
    }
}

#[derive(Deserialize)]
struct Record {
    id: String,
    lang: String,
    text: String,
}

impl Document {
    /// Splits a text into units and sentences.
    pub fn new(id: String, language: Language, text: String) -> Self {
        let units = units(&text);
        let sentences = sentences(&text);
        Self {
            id,
            language,
            text,
            units,
            sentences,
        }
    }

    /// Returns the text of a byte range of this document.
    pub fn slice(&self, range: &Range<u32>) -> &str {
        &self.text[range.start as usize..range.end as usize]
    }

    /// Returns the units within a byte range.
    pub fn units_within(&self, range: &Range<u32>) -> &[Range<u32>] {
        let first = self.units.partition_point(|unit| unit.start < range.start);
        let end = self.units.partition_point(|unit| unit.start < range.end);
        &self.units[first..end]
    }
}

/// Reads the documents of a JSONL file with fields `id`, `lang` and `text`; documents without any unit are left out.
pub fn read(path: &Path) -> anyhow::Result<Vec<Document>> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let mut documents = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line?;
        let record: Record =
            serde_json::from_str(&line).with_context(|| format!("{}:{}", path.display(), number + 1))?;
        let language = if record.lang == "zh" {
            Language::Chinese
        } else {
            Language::English
        };
        let document = Document::new(record.id, language, record.text);
        if !document.units.is_empty() {
            documents.push(document);
        }
    }
    anyhow::ensure!(!documents.is_empty(), "{} holds no documents", path.display());
    Ok(documents)
}

/// Keeps each distinct sentence only in the first document that has it, drops sentences shorter than `least` or longer than `most` units,
/// and then drops documents with fewer than three sentences. The rest has the vocabulary of the sources without their repetitions.
pub fn keep_new_sentences(documents: &mut Vec<Document>, least: usize, most: usize) {
    let mut seen: FxHashSet<String> = FxHashSet::default();
    documents.retain_mut(|document| {
        let sentences = std::mem::take(&mut document.sentences);
        document.sentences = sentences
            .into_iter()
            .filter(|sentence| {
                (least..=most).contains(&document.units_within(sentence).len())
                    && seen.insert(document.slice(sentence).trim().to_owned())
            })
            .collect();
        document.sentences.len() >= 3
    });
}

/// Returns true if a character is an ideograph, which is a unit by itself.
pub fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFD}')
}

fn units(text: &str) -> Vec<Range<u32>> {
    let mut units: Vec<Range<u32>> = Vec::new();
    let mut word = None;
    for (at, c) in text.char_indices() {
        let at = at as u32;
        let letter = c.is_alphanumeric() && !is_ideograph(c);
        match word {
            None if letter => word = Some(at),
            Some(start) if !letter => {
                units.push(start..at);
                word = None;
            }
            _ => {}
        }
        if is_ideograph(c) {
            units.push(at..at + c.len_utf8() as u32);
        }
    }
    if let Some(start) = word {
        units.push(start..text.len() as u32);
    }
    units
}

fn sentences(text: &str) -> Vec<Range<u32>> {
    let mut sentences = Vec::new();
    let mut start = 0;
    // The state of the sentence: inside, after a stop, or in the white space after it.
    let (mut stopped, mut full_stop, mut line_ends) = (false, false, 0);
    for (at, c) in text.char_indices() {
        let over = full_stop || stopped && line_ends > 0 || line_ends > 1;
        if over && !c.is_whitespace() && !matches!(c, '”' | '」' | '）' | '"') {
            sentences.push(start..at as u32);
            start = at as u32;
            (stopped, full_stop) = (false, false);
        }
        match c {
            '\n' => line_ends += 1,
            '。' | '！' | '？' => full_stop = true,
            '.' | '!' | '?' => stopped = true,
            ' ' | '\t' if stopped => full_stop = true,
            _ if c.is_whitespace() => {}
            _ => stopped = false,
        }
        if !c.is_whitespace() {
            line_ends = 0;
        }
    }
    if start < text.len() as u32 {
        sentences.push(start..text.len() as u32);
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> (Vec<&str>, Vec<&str>) {
        let pick = |range: Range<u32>| &text[range.start as usize..range.end as usize];
        (
            units(text).into_iter().map(pick).collect(),
            sentences(text).into_iter().map(pick).collect(),
        )
    }

    #[test]
    fn units_are_words_and_ideographs() {
        assert_eq!(cut("Rust 语言, v1.0").0, ["Rust", "语", "言", "v1", "0"]);
        assert!(cut(" ,.").0.is_empty());
    }

    #[test]
    fn sentences_end_at_stops_and_empty_lines() {
        assert_eq!(
            cut("One v1.0. Two\nlines!\nThree\n\n# Four").1,
            ["One v1.0. ", "Two\nlines!\n", "Three\n\n", "# Four"]
        );
        assert_eq!(cut("甲。“乙。”丙").1, ["甲。", "“乙。”", "丙"]);
        assert!(cut("").1.is_empty());
    }

    #[test]
    fn a_sentence_stays_with_its_first_document() {
        let document = |id: &str, text: &str| Document::new(id.into(), Language::English, text.into());
        let mut documents = vec![
            document("a", "One two three. Four five six. Seven eight nine."),
            document("b", "One two three. Four five six. Ten eleven twelve."),
        ];
        keep_new_sentences(&mut documents, 2, 5);
        assert_eq!(documents.len(), 1);
        assert_eq!(documents[0].id, "a");
    }

    proptest::proptest! {
        #[test]
        fn sentences_leave_no_gaps(text in "[ab1 .!?\n。中“”]{0,60}") {
            let (units, sentences) = cut(&text);
            proptest::prop_assert_eq!(sentences.concat(), text.clone());
            let apart: usize = sentences.iter().map(|s| super::units(s).len()).sum();
            proptest::prop_assert_eq!(apart, units.len());
        }
    }
}
