//! Original ranges of passages: the text that a range selects in a record is exactly the passage, in any spelling or markup.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use twinprint_dedup::{DedupJob, DedupOptions, Mode, dedup};
use twinprint_io::progress::Silent;
use twinprint_io::source::SourceOptions;
use twinprint_text::canonical;

/// The number of passages with four holders each, and the number of holders of one further passage.
const PASSAGES: usize = 900;
const HOLDERS: usize = 4;
const HOLDERS_OF_ONE: usize = 100;

/// A pseudorandom generator, which depends on the seed only.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        ((self.0 >> 33) as usize) % n
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// One word in its canonical spelling.
fn word(random: &mut Random, chinese: bool) -> String {
    const ENGLISH: &[&str] = &[
        "fi", "fl", "ffi", "a", "re", "tion", "st", "é", "ü", "ç", "ï", "mo", "na", "ke", "ß", "ox", "7",
        "42", "ñ", "gr",
    ];
    const CHINESE: &[&str] = &[
        "市", "议", "会", "轨", "电", "车", "线", "路", "港", "口", "大", "学", "园", "争", "论", "年", "月",
        "日", "𠀀", "𪚥", "か", "が", "3", "漢", "豈", "更", "金", "女", "落", "北", "京",
    ];
    if chinese {
        return random.of(CHINESE).to_owned();
    }
    let syllables = 2 + random.below(3);
    (0..syllables).map(|_| random.of(ENGLISH)).collect()
}

/// The word in a random spelling with the same canonical text.
fn written(random: &mut Random, word: &str) -> String {
    let mut written = String::new();
    let style = random.below(7);
    let ligatures = word.replace("ffi", "ﬃ").replace("fi", "ﬁ").replace("fl", "ﬂ");
    for c in if style == 0 { ligatures.as_str() } else { word }.chars() {
        match (style, c) {
            (1, _) => written.extend(c.to_uppercase()),
            (2, '!'..='~') => written.extend(char::from_u32(c as u32 + 0xFEE0)),
            // Mathematical letters, which are two UTF-16 units each.
            (3, 'a'..='z') => written.extend(char::from_u32(0x1D41A + c as u32 - 'a' as u32)),
            (4, 'é') => written.push_str("e\u{301}"),
            (4, 'ü') => written.push_str("u\u{308}"),
            (4, 'ñ') => written.push_str("n\u{303}"),
            (4, 'が') => written.push_str("か\u{3099}"),
            (4, '豈') => written.push('\u{F900}'),
            (4, '更') => written.push('\u{F901}'),
            _ => written.push(c),
        }
        if style == 5 && random.below(3) == 0 {
            written.push_str(random.of(&["\u{AD}", "\u{200B}", "\u{200D}", "\u{FEFF}"]));
        }
    }
    // Upper case changes some letters, such as ß. Such a spelling is not used.
    if canonical(&written) == word {
        written
    } else {
        word.to_owned()
    }
}

/// The words in random spellings with spaces and punctuation between them, which are optional in Chinese.
fn text(random: &mut Random, words: &[String], chinese: bool) -> String {
    const SEPARATORS: &[&str] = &[
        " ", " ", " ", ", ", "\r\n", " — ", "…", ": “", "” (", ") ", "\n\n", "。", "，", "　", " 🎉 ",
        " \u{AD} ", "_", "/", "\t",
    ];
    let mut text = String::new();
    for word in words {
        text.push_str(&written(random, word));
        if !chinese || random.below(6) == 0 {
            text.push_str(random.of(SEPARATORS));
        }
    }
    text
}

/// The text as HTML, with character references, elements and comments.
fn markup(random: &mut Random, text: &str) -> String {
    let mut markup = String::new();
    for c in text.chars() {
        match random.below(12) {
            _ if c == '&' || c == '<' => markup.push_str(if c == '&' { "&amp;" } else { "&lt;" }),
            0 if !c.is_whitespace() => write!(markup, "&#{};", c as u32).unwrap(),
            1 if !c.is_whitespace() => write!(markup, "&#x{:X};", c as u32).unwrap(),
            2 => write!(markup, "<b class='x y'>{c}</b>").unwrap(),
            3 => write!(markup, "<!-- {} -->{c}", random.below(9)).unwrap(),
            _ if c == 'é' => markup.push_str("&eacute;"),
            _ => markup.push(c),
        }
    }
    markup
}

/// The original texts of all records.
fn originals(as_markup: bool) -> Vec<String> {
    let mut random = Random(20);
    let mut originals = Vec::new();
    for passage in 0..=PASSAGES {
        let chinese = passage % 2 == 1;
        let words = |random: &mut Random, n: usize| (0..n).map(|_| word(random, chinese)).collect::<Vec<_>>();
        // Long enough for the minimum containment even with the most words around it.
        let length = if chinese { 90 } else { 60 } + random.below(60);
        let passage_words = words(&mut random, length);
        for _ in 0..if passage == 0 { HOLDERS_OF_ONE } else { HOLDERS } {
            let (before, after) = (random.below(60), random.below(60));
            let own = [words(&mut random, before), words(&mut random, after)];
            let all_words = [&own[0][..], &passage_words, &own[1]].concat();
            let original = text(&mut random, &all_words, chinese);
            originals.push(if as_markup {
                markup(&mut random, &original)
            } else {
                original
            });
        }
    }
    originals
}

/// The rows of `parts.jsonl` and `passages.jsonl` of a run over the records.
fn rows(dir: &Path, originals: &[String], options: &SourceOptions) -> (Vec<Value>, Vec<Value>) {
    let mut lines = String::new();
    for (id, original) in originals.iter().enumerate() {
        // Blank lines and rejected records between the documents must not shift the ranges.
        if id % 97 == 0 {
            lines += "\n{\"id\": \"no text\"}\n";
        }
        writeln!(lines, "{}", json!({"id": id.to_string(), "text": original})).unwrap();
    }
    let input = dir.join("in.jsonl");
    fs::write(&input, lines).unwrap();
    let mut run = DedupOptions::new().unwrap();
    run.parts = Some(0.3);
    run.mode = Mode::Report;
    let out = dir.join("out");
    let inputs = [input.to_str().unwrap().to_owned()];
    let job = DedupJob {
        inputs: &inputs,
        source: options,
        options: &run,
        out: &out,
    };
    let report = dedup(&job, &Silent, &Arc::default()).unwrap();
    assert_eq!(report.parts.unwrap().unplaced, 0);
    let read = |name: &str| {
        let text = fs::read_to_string(out.join(name)).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    (read("parts.jsonl"), read("passages.jsonl"))
}

/// A range in one record, in characters of the canonical text, and in characters and bytes of the original text.
struct Range {
    record: usize,
    canonical: [usize; 2],
    chars: [usize; 2],
    bytes: [usize; 2],
}

/// All ranges in the rows.
fn ranges((pairs, holders): &(Vec<Value>, Vec<Value>)) -> Vec<Range> {
    let id = |value: &Value| value.as_str().unwrap().parse().unwrap();
    let numbers = |value: &Value, from: usize| [from, from + 1].map(|i| value[i].as_u64().unwrap() as usize);
    let mut ranges = Vec::new();
    for row in pairs {
        for (i, canonical) in row["passages"].as_array().unwrap().iter().enumerate() {
            for (side, from) in [("a", 0), ("b", 2)] {
                ranges.push(Range {
                    record: id(&row[side]),
                    canonical: numbers(canonical, from),
                    chars: numbers(&row["original_chars"][i], from),
                    bytes: numbers(&row["original_bytes"][i], from),
                });
            }
        }
    }
    for row in holders {
        for (i, canonical) in row["canonical_chars"].as_array().unwrap().iter().enumerate() {
            ranges.push(Range {
                record: id(&row["id"]),
                canonical: numbers(canonical, 0),
                chars: numbers(&row["original_chars"][i], 0),
                bytes: numbers(&row["original_bytes"][i], 0),
            });
        }
    }
    ranges
}

/// Checks every range. `shown` returns the text of a part of an original text.
fn check(originals: &[String], ranges: &[Range], shown: impl Fn(&str) -> String) {
    for range in ranges {
        let original = &originals[range.record];
        let [from, to] = range.canonical;
        let passage: String = canonical(&shown(original))
            .chars()
            .skip(from)
            .take(to - from)
            .collect();
        let cut = &original[range.bytes[0]..range.bytes[1]];
        assert_eq!(canonical(&shown(cut)), passage, "{cut}");
        let by_chars: String = original
            .chars()
            .skip(range.chars[0])
            .take(range.chars[1] - range.chars[0])
            .collect();
        assert_eq!(cut, by_chars);
        // The range is the shortest: without its first or last character, a part of the passage is missing.
        let mut inner = cut.chars();
        inner.next();
        let after_first = inner.as_str();
        inner = cut.chars();
        inner.next_back();
        assert_ne!(canonical(&shown(after_first)), passage, "{cut}");
        // A character reference has the same meaning without its semicolon.
        if !cut.ends_with(';') {
            assert_ne!(canonical(&shown(inner.as_str())), passage, "{cut}");
        }
    }
}

#[test]
fn original_ranges_select_the_passage() {
    let originals = originals(false);
    let dir = tempfile::tempdir().unwrap();
    let rows = rows(dir.path(), &originals, &SourceOptions::default());
    assert_eq!(rows.0.len(), PASSAGES * HOLDERS * (HOLDERS - 1) / 2);
    assert_eq!(rows.1.len(), HOLDERS_OF_ONE);
    let ranges = ranges(&rows);
    assert!(ranges.len() >= 10_000, "{}", ranges.len());
    check(&originals, &ranges, str::to_owned);
}

#[cfg(feature = "html")]
#[test]
fn original_ranges_in_html_select_the_passage() {
    let originals = originals(true);
    let dir = tempfile::tempdir().unwrap();
    let options = SourceOptions {
        html: true,
        ..SourceOptions::default()
    };
    let rows = rows(dir.path(), &originals, &options);
    let ranges = ranges(&rows);
    assert!(ranges.len() >= 10_000, "{}", ranges.len());
    let shown = |markup: &str| {
        let mut extractor = twinprint_text::html::Extractor::new();
        extractor.extract(markup).unwrap().text.into_owned()
    };
    check(&originals, &ranges, shown);
}
