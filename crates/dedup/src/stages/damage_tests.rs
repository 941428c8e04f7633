//! A damaged file of an ended stage ends the run with an error that names the file, or does not matter.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use twinprint_io::sink::OutputDir;

use super::tests::{Run, result_files, write_corpus};
use super::{Stage, StagedInput, TaskShare};
use crate::error::DedupError;
use crate::options::{Auto, ClusterFiles, DedupOptions, PairRows};

#[derive(Clone, Copy, Debug)]
enum Damage {
    Deleted,
    Cut,
    Grown,
    /// Four bytes have other values: at the beginning, in the middle or at the end.
    Changed(usize),
}

impl Damage {
    const ALL: [Self; 6] = [
        Self::Deleted,
        Self::Cut,
        Self::Grown,
        Self::Changed(0),
        Self::Changed(1),
        Self::Changed(2),
    ];

    /// Damages a file. Returns false if this does not change it.
    fn apply(self, path: &Path) -> bool {
        let before = fs::read(path).unwrap();
        let mut bytes = before.clone();
        match self {
            Self::Deleted => {
                fs::remove_file(path).unwrap();
                return true;
            }
            Self::Cut => bytes.truncate(before.len() / 2),
            Self::Grown => bytes.extend([0xFF; 57]),
            Self::Changed(place) => {
                let at = before.len().saturating_sub(4) * place / 2;
                bytes[at..].iter_mut().take(4).for_each(|byte| *byte = 0xFF);
            }
        }
        fs::write(path, &bytes).unwrap();
        bytes != before
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// For each stage and kind of file, the largest file.
fn files_of_stages(folder: &Path) -> BTreeMap<(Stage, String), PathBuf> {
    let mut files: BTreeMap<(Stage, String), PathBuf> = BTreeMap::new();
    for stage in Stage::ALL {
        let tasks = fs::read_dir(folder.join(stage.folder()));
        for task in tasks.into_iter().flatten() {
            for file in fs::read_dir(task.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let kind = name.trim_end_matches(|letter: char| letter == '-' || letter.is_ascii_digit());
                let largest = files
                    .entry((stage, kind.to_owned()))
                    .or_insert_with(|| path.clone());
                if fs::metadata(&path).unwrap().len() > fs::metadata(&*largest).unwrap().len() {
                    *largest = path;
                }
            }
        }
    }
    files
}

#[test]
fn damage_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    write_corpus(&corpus, 2, 150);
    let options = DedupOptions {
        hamming: Auto::Fixed(20),
        pairs: PairRows::Distinct,
        clusters: ClusterFiles::Jsonl,
        parts: Some(0.2),
        ..DedupOptions::new().unwrap()
    };
    let run_in = |input: StagedInput<'_>, folder: &Path| -> Result<BTreeMap<PathBuf, String>, DedupError> {
        let staged = StagedInput { folder, ..input }.open()?;
        for stage in Stage::ALL {
            staged.run(stage, TaskShare::ALL)?;
        }
        let out = tempfile::tempdir_in(dir.path()).unwrap();
        let work = tempfile::tempdir_in(dir.path()).unwrap();
        let output = OutputDir::create(&out.path().join("out"))?;
        let mut report = staged.report(&[])?;
        staged.write(&output, work.path(), &mut report)?;
        Ok(result_files(&out.path().join("out")))
    };
    let job = Run::new(&corpus, &options, dir.path());
    let run = |folder: &Path| job.with_input(1 << 16, |input| run_in(input, folder));
    let whole = dir.path().join("whole");
    let expected = run(&whole).unwrap();
    let files = files_of_stages(&whole);
    assert!(files.len() > 50, "{:?}", files.keys());
    let mut refused = 0;
    for ((stage, kind), path) in &files {
        for damage in Damage::ALL {
            let folder = dir.path().join("damaged");
            copy(&whole, &folder);
            let later = Stage::ALL.into_iter().filter(|later| later > stage);
            for later in later {
                let _absent = fs::remove_dir_all(folder.join(later.folder()));
            }
            let file = folder.join(path.strip_prefix(&whole).unwrap());
            if damage.apply(&file) {
                let ended = catch_unwind(AssertUnwindSafe(|| run(&folder)));
                let ended = ended.unwrap_or_else(|_| panic!("{kind} of {stage:?} {damage:?}: panic"));
                match ended {
                    Ok(found) => assert!(found == expected, "{kind} of {stage:?} {damage:?}: other result"),
                    Err(DedupError::DamagedStage { path, .. }) if path == file => refused += 1,
                    Err(error) => panic!("{kind} of {stage:?} {damage:?}: {error}"),
                }
            }
            fs::remove_dir_all(&folder).unwrap();
        }
    }
    // Some files are not read again, or only in other runs.
    assert!(refused > 3 * files.len(), "{refused}");
}
