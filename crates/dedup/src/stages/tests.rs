//! A run on disk has the result of a run in memory: with blocks of every size, any number of processes, and interruptions.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint_index::segment::Codec;
use twinprint_index::store::{Index, Options, Settings};
use twinprint_io::progress::Silent;
use twinprint_io::results::Report;
use twinprint_io::sink::OutputDir;
use twinprint_io::source::{SourceOptions, Sources};

use super::{Stage, StagedInput, TaskShare};
use crate::known::{KnownStore, NoStores};
use crate::memory::Budget;
use crate::options::{Auto, Columns, DedupOptions, EmptyTexts, Keep, Mode, OnDisk, PairRows};
use crate::{DedupJob, dedup};

/// Numbers below the given ones, always the same for a seed.
pub(super) fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Files of documents: related and unrelated texts, short texts, equal texts, texts without features, rejects, a crowd of
/// texts with many words in common, and texts of the same words in another order, which have one fingerprint.
pub(super) fn write_corpus(dir: &Path, files: usize, documents: usize) {
    let mut random = random(7);
    let mut texts: Vec<Vec<u64>> = Vec::new();
    for file in 0..files {
        let mut lines = String::new();
        for number in 0..documents / files {
            let mut words = match random(10) {
                0..=2 if !texts.is_empty() => texts[random(texts.len() as u64) as usize].clone(),
                3 => (0..=random(6)).map(|_| random(40)).collect(),
                4 => (0..30).chain([random(3000)]).collect(),
                5 if number % 3 == 0 => Vec::new(),
                6 => {
                    let mut words: Vec<u64> = (100..200).collect();
                    for _ in 0..30 {
                        words.swap(random(100) as usize, random(100) as usize);
                    }
                    words
                }
                _ => (0..20 + random(60)).map(|_| random(3000)).collect(),
            };
            if words.len() > 3 && random(3) > 0 {
                let at = random(words.len() as u64) as usize;
                words[at] = random(3000);
            }
            let text: Vec<String> = words.iter().map(|word| format!("w{word}")).collect();
            texts.push(words);
            let time = match random(5) {
                0 => String::new(),
                1 => format!(r#", "time": "2026-01-{:02}""#, 1 + random(28)),
                _ => format!(r#", "time": {}.{}"#, random(100), random(2) * 5),
            };
            writeln!(
                lines,
                "{{\"id\": \"{file}-{number}\", \"text\": \"{}\"{time}}}",
                text.join(" ")
            )
            .unwrap();
            if random(50) == 0 {
                lines.push_str("no record\n");
            }
        }
        fs::write(dir.join(format!("{file:02}.jsonl")), lines).unwrap();
    }
}

/// The files of a result, except those that tell of the run itself.
pub(super) fn result_files(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if !name.starts_with("report.html")
                && name.extension().is_some_and(|e| e != "md" && e != "json")
            {
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

/// The parts of a report that are the same in memory and on disk.
fn compared_report(report: Report) -> String {
    let mut report = serde_json::to_value(report).unwrap();
    report.as_object_mut().unwrap().remove("run");
    // A run on disk verifies all candidates.
    for count in ["verified", "duplicates"] {
        report["search"].as_object_mut().unwrap().remove(count);
    }
    // The parameters are stored as decimal numbers, so the last bit of a fraction may differ.
    let recall = &mut report["radius"]["expected_recall"];
    *recall = format!("{:.12?}", recall.as_f64()).into();
    format!("{report:#}")
}

pub(super) struct Run<'r> {
    inputs: [String; 1],
    source: SourceOptions,
    options: &'r DedupOptions,
    dir: &'r Path,
}

impl<'r> Run<'r> {
    pub(super) fn new(corpus: &Path, options: &'r DedupOptions, dir: &'r Path) -> Self {
        Self {
            inputs: [corpus.display().to_string()],
            source: SourceOptions {
                sort_key: (options.keep == Keep::Newest).then(|| "time".to_owned()),
                ..SourceOptions::default()
            },
            options,
            dir,
        }
    }

    /// Runs in memory and on disk, and fails unless both give the same files. Returns the files.
    pub(super) fn is_equal_everywhere(&self, memory: u64, processes: u32) -> BTreeMap<PathBuf, String> {
        let (expected, found) = (self.in_memory(), self.on_disk(memory, processes));
        let names = [&expected, &found].map(|files| files.keys().collect::<Vec<_>>());
        assert_eq!(names[0], names[1]);
        for (name, text) in &expected {
            let mut lines = text.lines().zip(found[name].lines());
            let difference = lines.find(|(expected, found)| expected != found);
            assert!(
                *text == found[name],
                "{} differs: {difference:?}, {:?}",
                name.display(),
                self.options
            );
        }
        found
    }

    fn in_memory(&self) -> BTreeMap<PathBuf, String> {
        let out = self.dir.join("in-memory");
        let job = DedupJob {
            inputs: &self.inputs,
            source: &self.source,
            options: self.options,
            out: &out,
        };
        let report = dedup(&job, &Silent, &Arc::default()).unwrap();
        let mut files = result_files(&out);
        files.insert("report".into(), compared_report(report));
        fs::remove_dir_all(out).unwrap();
        files
    }

    /// The input of a run on disk with tasks of `memory` bytes.
    pub(super) fn with_input<T>(&self, memory: u64, use_input: impl FnOnce(StagedInput<'_>) -> T) -> T {
        let cancel = AtomicBool::new(false);
        let against = KnownStore::open(self.options, &NoStores).unwrap();
        let sources = Sources::discover(&self.inputs, &self.source, self.dir).unwrap();
        use_input(StagedInput {
            sources: &sources,
            source_options: &self.source,
            options: self.options,
            against: against.as_ref(),
            budget: Budget::new(None, 2).unwrap(),
            memory,
            progress: &Silent,
            cancel: &cancel,
            folder: &self.dir.join("stages"),
        })
    }

    /// Runs on disk with tasks of `memory` bytes, each stage by `processes` processes from the last to the first. Each
    /// stage is also interrupted: the output of every third task is deleted and made again.
    pub(super) fn on_disk(&self, memory: u64, processes: u32) -> BTreeMap<PathBuf, String> {
        self.with_input(memory, |input| self.run_stages(input, processes))
    }

    fn run_stages(&self, input: StagedInput<'_>, processes: u32) -> BTreeMap<PathBuf, String> {
        for stage in Stage::ALL {
            for process in (1..=processes).rev() {
                let share: TaskShare = format!("{process}/{processes}").parse().unwrap();
                input.open().unwrap().run(stage, share).unwrap();
            }
            let staged = input.open().unwrap();
            let status = staged.status(stage).unwrap();
            assert!(status.is_whole(), "{status:?}");
            for number in (0..status.whole).step_by(3) {
                fs::remove_dir_all(staged.folder.path(super::folder::Task { stage, number })).unwrap();
            }
            let next = Stage::ALL.into_iter().find(|&next| next > stage);
            let refused = next.is_none_or(|next| staged.run(next, TaskShare::ALL).is_err());
            assert!(refused || status.whole == 0);
            input.open().unwrap().run(stage, TaskShare::ALL).unwrap();
        }
        let staged = input.open().unwrap();
        let out = self.dir.join("on-disk");
        let dir = OutputDir::create(&out).unwrap();
        let work = tempfile::tempdir().unwrap();
        let mut report = staged.report(&self.inputs).unwrap();
        staged.write(&dir, work.path(), &mut report).unwrap();
        let report = report.shown(&staged).unwrap().report().clone();
        let records = &report.records;
        assert_eq!(records.read, records.kept + records.removed + records.rejected);
        let mut files = result_files(&out);
        files.insert("report".into(), compared_report(report));
        let config =
            crate::config::Config::of(&self.inputs, &self.source, self.options, staged.radius().unwrap());
        files.insert("config.toml".into(), config.to_toml());
        staged.end().unwrap();
        fs::remove_dir_all(out).unwrap();
        files
    }
}

#[test]
fn every_way_to_run_gives_the_same_files() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    write_corpus(&corpus, 7, 3500);
    let default = DedupOptions {
        clusters: crate::options::ClusterFiles::Jsonl,
        ..DedupOptions::new().unwrap()
    };
    let with_radius = |k| DedupOptions {
        hamming: Auto::Fixed(k),
        ..default.clone()
    };
    let cases = [
        (
            DedupOptions {
                pairs: PairRows::Distinct,
                ..with_radius(20)
            },
            1 << 18,
            3,
        ),
        (
            DedupOptions {
                pairs: PairRows::All,
                keep: Keep::Longest,
                ..with_radius(12)
            },
            1 << 18,
            8,
        ),
        (
            DedupOptions {
                keep: Keep::Newest,
                threshold: 0.6,
                ..with_radius(30)
            },
            1 << 18,
            1,
        ),
        (
            DedupOptions {
                keep: Keep::Shortest,
                empty: EmptyTexts::Remove,
                bits: Auto::Fixed(64),
                ..with_radius(4)
            },
            1 << 20,
            2,
        ),
        (
            DedupOptions {
                empty: EmptyTexts::Reject,
                pairs: PairRows::Distinct,
                ..default.clone()
            },
            1 << 19,
            2,
        ),
    ];
    let mut with_hot_rows = 0;
    for (options, memory, processes) in &cases {
        let run = Run::new(&corpus, options, dir.path());
        let files = run.is_equal_everywhere(*memory, *processes);
        let report: serde_json::Value = serde_json::from_str(&files[Path::new("report")]).unwrap();
        with_hot_rows += u32::from(report["hot_rows"].as_array().is_some_and(|rows| !rows.is_empty()));
    }
    assert!(with_hot_rows > 0);
}

#[test]
fn near_misses_do_not_depend_on_the_pairs_that_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    write_corpus(&corpus, 3, 2000);
    let found = [PairRows::None, PairRows::Distinct, PairRows::All].map(|pairs| {
        let options = DedupOptions {
            pairs,
            hamming: Auto::Fixed(16),
            threshold: 0.7,
            clusters: crate::options::ClusterFiles::Jsonl,
            ..DedupOptions::new().unwrap()
        };
        let mut files = Run::new(&corpus, &options, dir.path()).is_equal_everywhere(1 << 19, 2);
        let report: serde_json::Value =
            serde_json::from_str(&files.remove(Path::new("report")).unwrap()).unwrap();
        ["near_misses", "closest_misses"].map(|part| report[part].clone())
    });
    assert!(!found[0][0].as_object().unwrap().is_empty());
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
}

#[test]
fn records_are_annotated_as_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    write_corpus(&corpus, 3, 600);
    let new = DedupOptions {
        clusters: crate::options::ClusterFiles::Jsonl,
        ..DedupOptions::new().unwrap()
    };
    let cases = [
        (Mode::Annotate, None, EmptyTexts::Keep),
        (Mode::Annotate, Some(Columns::Duplodocus), EmptyTexts::Remove),
        (Mode::Remove, Some(Columns::TextDedup), EmptyTexts::Reject),
    ];
    for (mode, columns, empty) in cases {
        let options = DedupOptions {
            empty,
            mode,
            columns,
            ..new.clone()
        };
        Run::new(&corpus, &options, dir.path()).is_equal_everywhere(1 << 18, 2);
    }
}

/// An index of some fingerprints of the result of `run`, with some bits changed.
pub(super) fn index_of_some(run: &Run<'_>, path: &Path) {
    let settings = Settings {
        radius: 3,
        codec: Codec::default(),
        label: String::new(),
    };
    let index = Index::<u64>::create(path, &settings, &Options::default()).unwrap();
    let clusters = run.in_memory().remove(Path::new("clusters.jsonl")).unwrap();
    for (id, line) in (0..).zip(clusters.lines()).step_by(7) {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let fingerprint = u64::from_str_radix(row["fingerprint"].as_str().unwrap(), 16).unwrap();
        index.add(id, fingerprint ^ 0b1001 << (id % 40)).unwrap();
    }
    index.commit().unwrap();
}

#[test]
fn known_texts_are_removed_and_nothing_is_verified_without_verification() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    write_corpus(&corpus, 5, 1500);
    let new = DedupOptions {
        clusters: crate::options::ClusterFiles::Jsonl,
        bits: Auto::Fixed(64),
        ..DedupOptions::new().unwrap()
    };
    let index = dir.path().join("index");
    index_of_some(&Run::new(&corpus, &new, dir.path()), &index);
    let against = DedupOptions {
        against: Some(index),
        ..new.clone()
    };
    let cases = [
        against.clone(),
        DedupOptions {
            hamming: Auto::Fixed(5),
            pairs: PairRows::All,
            keep: Keep::Longest,
            mode: Mode::Annotate,
            ..against.clone()
        },
        DedupOptions {
            verify: false,
            pairs: PairRows::Distinct,
            ..against
        },
        DedupOptions {
            verify: false,
            hamming: Auto::Fixed(8),
            empty: EmptyTexts::Remove,
            mode: Mode::Annotate,
            columns: Some(Columns::Duplodocus),
            ..new
        },
    ];
    for options in &cases {
        let run = Run::new(&corpus, options, dir.path());
        let clusters = run
            .is_equal_everywhere(1 << 18, 3)
            .remove(Path::new("clusters.jsonl"));
        let rows = clusters.unwrap();
        // A known text is removed although it is alone in its group.
        let is_known = |line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            row["cluster_size"] == 1 && row["duplicate_of"].is_string()
        };
        assert_eq!(rows.lines().any(is_known), options.against.is_some());
    }
}

#[test]
fn the_folder_of_another_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("a.jsonl"),
        "{\"text\": \"The ferry runs until May.\"}\n",
    )
    .unwrap();
    let corpus = dir.path().join("a.jsonl");
    let [first, other, fresh] =
        [(0.8, OnDisk::Always), (0.9, OnDisk::Always), (0.9, OnDisk::Anew)].map(|(threshold, on_disk)| {
            DedupOptions {
                threshold,
                on_disk,
                ..DedupOptions::new().unwrap()
            }
        });
    let continues =
        |options| Run::new(&corpus, options, dir.path()).with_input(1 << 20, |input| input.continues());
    let refusal = |options| {
        let run = Run::new(&corpus, options, dir.path());
        run.with_input(1 << 20, |input| input.open().err().map(|error| error.to_string()))
    };
    assert!(!continues(&first));
    assert_eq!(refusal(&first), None);
    assert!(continues(&first) && !continues(&other));
    let refused = refusal(&other).unwrap();
    assert!(refused.contains("other options"), "{refused}");
    assert_eq!(refusal(&fresh), None);
    assert!(continues(&other));
}
