//! A run on disk finds the partial copies of a run in memory.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::Stage;
use super::extension_tests::move_files;
use super::tests::{Run, index_of_some, write_corpus};
use crate::options::{Auto, ClusterFiles, DedupOptions, EmptyTexts, Keep, Mode};

/// Numbers that depend on the number of calls only.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Words of a Latin script, or characters of a Chinese one.
    fn words(&mut self, count: u64, is_chinese: bool) -> Vec<String> {
        let mut word = || {
            if is_chinese {
                let character = char::from_u32(0x4E00 + self.below(15_000) as u32);
                character.unwrap().to_string()
            } else {
                format!("w{:05x}", self.below(1 << 20))
            }
        };
        (0..count).map(|_| word()).collect()
    }
}

/// Files of documents with passages of few and of many texts, equal texts, rejects, and Chinese documents.
fn write_passages(dir: &Path, files: usize, documents: usize) {
    let mut random = Random(5);
    let popular: Vec<Vec<String>> = (0..3).map(|i| random.words(40 + 30 * i, false)).collect();
    let mut texts: Vec<(bool, Vec<String>)> = Vec::new();
    for file in 0..files {
        let mut lines = String::new();
        for number in 0..documents / files {
            let is_chinese = random.below(5) == 0;
            let count = 20 + random.below(120);
            let mut words = random.words(count, is_chinese);
            for _ in 0..random.below(3) {
                let passage = match random.below(3) {
                    0 if !is_chinese => popular[random.below(3) as usize].clone(),
                    1 if !texts.is_empty() => {
                        let (_, from) = &texts[random.below(texts.len() as u64) as usize];
                        let start = random.below(from.len() as u64) as usize;
                        from[start..from.len().min(start + 90)].to_vec()
                    }
                    _ => continue,
                };
                let at = random.below(words.len() as u64) as usize;
                words.splice(at..at, passage);
            }
            if random.below(12) == 0 && !texts.is_empty() {
                words.clone_from(&texts[random.below(texts.len() as u64) as usize].1);
            }
            let separator = if is_chinese { "" } else { " " };
            let text = words.join(separator);
            writeln!(lines, r#"{{"id": "{file}-{number}", "text": "{text}!"}}"#).unwrap();
            texts.push((is_chinese, words));
            if random.below(40) == 0 {
                lines.push_str("no record\n");
            }
        }
        fs::write(dir.join(format!("{file:02}.jsonl")), lines).unwrap();
    }
}

fn options() -> DedupOptions {
    DedupOptions {
        clusters: ClusterFiles::Jsonl,
        parts: Some(0.3),
        ..DedupOptions::new().unwrap()
    }
}

#[test]
fn partial_copies_on_disk_equal_those_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    write_passages(&corpus, 5, 1200);
    let cases = [
        (options(), 1 << 17, 3, [50, 200]),
        (
            DedupOptions {
                keep: Keep::Longest,
                parts: Some(0.1),
                mode: Mode::Annotate,
                ..options()
            },
            1 << 20,
            2,
            [200, 300],
        ),
        (
            DedupOptions {
                keep: Keep::Shortest,
                parts: Some(0.6),
                empty: EmptyTexts::Remove,
                ..options()
            },
            1 << 26,
            1,
            [5, 0],
        ),
    ];
    for (options, memory, processes, least) in &cases {
        let run = Run::new(&corpus, options, dir.path());
        let files = run.is_equal_everywhere(*memory, *processes);
        let rows = ["parts.jsonl", "passages.jsonl"].map(|name| files[Path::new(name)].lines().count());
        assert!(rows[0] >= least[0] && rows[1] >= least[1], "{rows:?}");
    }
}

#[test]
fn small_tasks_divide_the_texts_into_many_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    write_passages(&corpus, 3, 300);
    let options = options();
    let run = Run::new(&corpus, &options, dir.path());
    run.with_input(1 << 16, |input| {
        let staged = input.open().unwrap();
        for stage in Stage::ALL {
            staged.run(stage, super::TaskShare::ALL).unwrap();
        }
        let tasks = |stage| staged.tasks(stage).unwrap().unwrap();
        assert!(tasks(Stage::Winnow) > 2 && tasks(Stage::Parts) > 9);
    });
}

#[test]
fn texts_of_a_crowd_have_their_partial_copies() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    write_corpus(&corpus, 4, 900);
    let options = options();
    let files = Run::new(&corpus, &options, dir.path()).is_equal_everywhere(1 << 17, 2);
    assert!(files[Path::new("parts.jsonl")].lines().count() > 64);
}

#[test]
fn known_texts_have_their_partial_copies() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    write_passages(&corpus, 4, 800);
    let new = DedupOptions {
        bits: Auto::Fixed(64),
        ..options()
    };
    let index = dir.path().join("index");
    index_of_some(&Run::new(&corpus, &new, dir.path()), &index);
    let against = DedupOptions {
        against: Some(index),
        ..new
    };
    let cases = [
        against.clone(),
        DedupOptions {
            keep: Keep::Longest,
            mode: Mode::Annotate,
            ..against
        },
    ];
    for options in &cases {
        let files = Run::new(&corpus, options, dir.path()).is_equal_everywhere(1 << 17, 3);
        let report: serde_json::Value = serde_json::from_str(&files[Path::new("report")]).unwrap();
        assert!(report["records"]["removed_known"].as_u64().unwrap() > 50);
        let rows = ["parts.jsonl", "passages.jsonl"].map(|name| files[Path::new(name)].lines().count());
        assert!(rows[0] >= 50 && rows[1] >= 100, "{rows:?}");
    }
}

#[test]
fn added_files_have_the_partial_copies_of_one_run() {
    let dir = tempfile::tempdir().unwrap();
    let [waiting, corpus] = ["waiting", "corpus"].map(|name| dir.path().join(name));
    for folder in [&waiting, &corpus] {
        fs::create_dir(folder).unwrap();
    }
    write_passages(&waiting, 6, 900);
    let options = DedupOptions {
        keep: Keep::Longest,
        incremental: true,
        ..options()
    };
    let run = Run::new(&corpus, &options, dir.path());
    let mut passages = Vec::new();
    for (files, processes) in [(0..3, 1), (3..4, 2), (4..6, 3)] {
        move_files(&waiting, &corpus, files);
        let found = run.is_equal_everywhere(1 << 17, processes);
        // With more texts, more passages are those of many texts, and fewer pairs are listed.
        let rows = ["parts.jsonl", "passages.jsonl"].map(|name| found[Path::new(name)].lines().count());
        assert!(rows[0] > 50, "{rows:?}");
        passages.push(rows[1]);
    }
    assert!(passages.is_sorted() && passages[2] > 64, "{passages:?}");
}
