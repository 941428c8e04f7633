//! A search in memory gives the same result as a run that writes it.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use twinprint_dedup::known::NoStores;
use twinprint_dedup::{
    DedupJob, DedupOptions, EmptyTexts, Fate, FindInput, Found, Keep, Mode, PairRows, dedup, find,
};
use twinprint_io::progress::Silent;
use twinprint_io::source::{IntegerType, MemoryBatch, MemoryRecord, RejectReason, SourceOptions, Sources};

use crate::words::Words;

/// Texts of both languages, with near and equal copies, short texts and empty ones.
fn texts(seed: u64) -> Vec<String> {
    let mut words = Words::new(seed);
    let mut texts: Vec<Vec<String>> = Vec::new();
    for i in 0..60 + words.below(60) {
        let chinese = words.below(3) == 0;
        let mut units = if i > 4 && words.below(2) == 0 {
            texts[words.below(i)].clone()
        } else {
            let length = [0, 3, 40, 90][words.below(4)];
            words.units(length, chinese)
        };
        let edits = words.below(4);
        words.edit(&mut units, edits, chinese);
        texts.push(units);
    }
    texts.iter().map(|units| units.join(" ")).collect()
}

/// Texts with their times; `None` stands for a null.
#[derive(Clone, Debug)]
struct Rows {
    first: usize,
    texts: Vec<Option<String>>,
}

impl MemoryBatch for Rows {
    fn records(&self) -> u64 {
        self.texts.len() as u64
    }

    fn bytes(&self) -> usize {
        self.texts.iter().flatten().map(String::len).sum()
    }

    fn id_type(&self) -> Option<IntegerType> {
        None
    }

    fn each(&self, f: &mut dyn FnMut(MemoryRecord<'_>)) {
        for (i, text) in self.texts.iter().enumerate() {
            let key = "text".to_owned();
            let text = text.as_deref().map(Cow::Borrowed);
            f(MemoryRecord {
                text: text.ok_or(RejectReason::FieldNull { key }),
                id: Some((self.first + i).to_string().into()),
                sort_value: None,
            });
        }
    }
}

fn find_in(sources: Sources, inputs: &[String], options: &DedupOptions) -> Found {
    let inputs = inputs.to_vec();
    find(
        FindInput { sources, inputs },
        options,
        &NoStores,
        &Silent,
        &Arc::default(),
    )
    .unwrap()
}

/// The files of a result that do not depend on the time, the machine and the mode.
fn files(out: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![out.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(out).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if !name.starts_with("report.") && !name.starts_with('.') && name != "config.toml" {
                files.push((
                    name,
                    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned(),
                ));
            }
        }
    }
    files.sort();
    files
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_search_of_files_or_memory_gives_the_files_of_a_run(
        seed in any::<u64>(), keep in 0..3usize, pairs in 0..3usize, nulls in 1..9usize, mode in 0..3usize,
        verify in any::<bool>(), batch in 1..40usize,
    ) {
        let texts: Vec<Option<String>> = texts(seed)
            .into_iter()
            .enumerate()
            .map(|(i, text)| (i % 9 != nulls).then_some(text))
            .collect();
        prop_assume!(texts.iter().any(Option::is_some));
        let mut options = DedupOptions::new().unwrap();
        options.keep = [Keep::First, Keep::Longest, Keep::Shortest][keep];
        options.pairs = [PairRows::None, PairRows::All, PairRows::Distinct][pairs];
        options.mode = [Mode::Remove, Mode::Annotate, Mode::Report][mode];
        options.empty = EmptyTexts::Remove;
        options.verify = verify;
        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("rows.jsonl");
        let lines: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(i, text)| serde_json::json!({"id": i.to_string(), "text": text}).to_string())
            .collect();
        fs::write(&input, lines.join("\n")).unwrap();
        let (inputs, source) = ([input.display().to_string()], SourceOptions::default());
        let job = DedupJob { inputs: &inputs, source: &source, options: &options, out: &dir.path().join("run") };
        let report = dedup(&job, &Silent, &Arc::default()).unwrap();
        let expected = files(&dir.path().join("run"));

        let sources = Sources::discover(&inputs, &source, dir.path()).unwrap();
        let found = find_in(sources, &inputs, &options);
        found.save(&dir.path().join("found"), &Silent).unwrap();
        prop_assert_eq!(&files(&dir.path().join("found")), &expected);
        prop_assert_eq!(&found.report().records, &report.records);
        let fates: Vec<Fate> = found.records().map(|record| record.fate).collect();
        let count = |fate| fates.iter().filter(|&&seen| seen == fate).count() as u64;
        prop_assert_eq!(count(Fate::Kept), report.records.kept);
        prop_assert_eq!(count(Fate::Removed) + count(Fate::Empty), report.records.removed);
        prop_assert_eq!(count(Fate::Rejected), report.records.rejected);
        prop_assert_eq!(found.rejected().len() as u64, report.records.rejected);

        // The same records in memory, under the name of the file.
        options.mode = Mode::Report;
        let batches: Vec<Rows> = texts
            .chunks(batch)
            .enumerate()
            .map(|(i, texts)| Rows { first: i * batch, texts: texts.to_vec() })
            .collect();
        let batches = batches.into_iter().map(|rows| Ok(Arc::new(rows) as Arc<dyn MemoryBatch>));
        let named = found.rejected().first().map(|rejected| rejected.source.clone());
        let label = named.unwrap_or_else(|| input.display().to_string());
        let sources = Sources::of_memory(&label, Box::new(batches), &source, Arc::default());
        let in_memory = find_in(sources, &inputs, &options);
        in_memory.save(&dir.path().join("memory"), &Silent).unwrap();
        let expected: Vec<_> = expected.into_iter().filter(|(name, _)| !name.contains('/')).collect();
        prop_assert_eq!(&files(&dir.path().join("memory")), &expected);
    }
}
