//! A run over more files than an earlier one uses its stages, and has the result of one run over all files.

use std::fs;
use std::path::{Path, PathBuf};

use super::folder::{Stage, Task};
use super::former;
use super::outputs::EDGES;
use super::tables::EdgeRow;
use super::tests::{Run, write_corpus};
use crate::options::{Auto, ClusterFiles, DedupOptions, Keep, PairRows};

/// The bytes of a task.
const MEMORY: u64 = 1 << 18;

/// Makes a folder of files that wait, with `documents` documents, and an empty folder for the corpus.
fn folders(dir: &Path, files: usize, documents: usize) -> [PathBuf; 2] {
    let folders = ["waiting", "corpus"].map(|name| dir.join(name));
    for folder in &folders {
        fs::create_dir(folder).unwrap();
    }
    write_corpus(&folders[0], files, documents);
    folders
}

/// Moves files from one folder to another.
pub(super) fn move_files(from: &Path, to: &Path, names: std::ops::Range<usize>) {
    for name in names.map(|number| format!("{number:02}.jsonl")) {
        fs::rename(from.join(&name), to.join(&name)).unwrap();
    }
}

/// The options of a run that keeps its folder.
fn incremental() -> DedupOptions {
    DedupOptions {
        clusters: ClusterFiles::Jsonl,
        pairs: PairRows::Distinct,
        hamming: Auto::Fixed(16),
        incremental: true,
        ..DedupOptions::new().unwrap()
    }
}

/// The numbers of candidates that an earlier run has verified, and of the others.
fn settled_and_open(run: &Run<'_>) -> [usize; 2] {
    run.with_input(MEMORY, |input| {
        let staged = input.open().unwrap();
        let task = Task::only(Stage::Candidates);
        let edges = staged.folder.rows::<EdgeRow>(task, EDGES).unwrap();
        let mut counts = [0; 2];
        for blocks in &staged.candidates().unwrap().blocks {
            let of_task = edges
                .range(blocks.from..blocks.to)
                .collect::<Result<_, _>>()
                .unwrap();
            let (open, settled) = former::split(&staged, of_task).unwrap();
            counts[0] += settled.len();
            counts[1] += open.len();
        }
        counts
    })
}

#[test]
fn added_files_give_the_result_of_one_run_and_no_pair_is_verified_twice() {
    let dir = tempfile::tempdir().unwrap();
    for keep in [Keep::First, Keep::Longest, Keep::Newest] {
        let [waiting, corpus] = folders(dir.path(), 7, 1400);
        let options = DedupOptions {
            keep,
            ..incremental()
        };
        let run = Run::new(&corpus, &options, dir.path());
        for (files, processes) in [(0..4, 1), (4..5, 2), (5..7, 3)] {
            let is_first = files.start == 0;
            move_files(&waiting, &corpus, files);
            run.is_equal_everywhere(MEMORY, processes);
            let [settled, open] = settled_and_open(&run);
            assert!(open > 100, "{open}");
            assert_eq!(settled > open, !is_first, "{settled} of {}", settled + open);
            let left = fs::read_dir(dir.path().join("stages")).unwrap();
            let runs = left.filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_string_lossy().starts_with("run-")
            });
            assert_eq!(runs.count(), usize::from(!is_first));
        }
        for used in ["waiting", "corpus", "stages"] {
            fs::remove_dir_all(dir.path().join(used)).unwrap();
        }
    }
}

#[test]
fn a_run_goes_on_with_added_files_after_an_interruption() {
    let dir = tempfile::tempdir().unwrap();
    let [waiting, corpus] = folders(dir.path(), 7, 700);
    let options = incremental();
    let run = Run::new(&corpus, &options, dir.path());
    let run_until = |last: Stage| {
        run.with_input(MEMORY, |input| {
            let staged = input.open().unwrap();
            for stage in Stage::ALL.into_iter().filter(|&stage| stage <= last) {
                staged.run(stage, super::TaskShare::ALL).unwrap();
            }
        });
    };
    move_files(&waiting, &corpus, 0..3);
    run.on_disk(MEMORY, 1);
    // The run over five files ends before it verifies its candidates, so the run over three files is used.
    move_files(&waiting, &corpus, 3..5);
    run_until(Stage::Candidates);
    let [with_five, _] = settled_and_open(&run);
    move_files(&waiting, &corpus, 5..7);
    run_until(Stage::Candidates);
    let [with_seven, _] = settled_and_open(&run);
    assert!(with_five > 0 && with_seven > 0);
    run.is_equal_everywhere(MEMORY, 2);
}

#[test]
fn a_folder_is_refused_if_an_earlier_file_has_changed() {
    let dir = tempfile::tempdir().unwrap();
    let [waiting, corpus] = folders(dir.path(), 3, 90);
    let options = incremental();
    let run = Run::new(&corpus, &options, dir.path());
    let is_refused = || run.with_input(MEMORY, |input| input.open().is_err());
    // The files of the folder are read in the order of their names, so the added file is before the earlier one.
    move_files(&waiting, &corpus, 1..2);
    assert!(!is_refused());
    move_files(&waiting, &corpus, 0..1);
    assert!(is_refused());
    fs::remove_file(corpus.join("00.jsonl")).unwrap();
    assert!(!is_refused());
    move_files(&waiting, &corpus, 2..3);
    fs::write(corpus.join("01.jsonl"), "{\"text\": \"another text\"}\n").unwrap();
    assert!(is_refused());
}
