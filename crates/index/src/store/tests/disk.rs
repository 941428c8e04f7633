//! A recording disk. It reconstructs the files that a kill or a power cut after any operation leaves.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::samples::Random;
use crate::storage::{Disk, RawFile, Storage};

/// An operation on a disk.
#[derive(Clone, Debug)]
enum Step {
    Create(PathBuf),
    Cut(PathBuf, u64),
    Write(PathBuf, Vec<u8>),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    SyncDir,
    /// The number of acknowledged changes, and the number of changes that may be stored.
    Note {
        acknowledged: usize,
        sent: usize,
    },
}

/// A storage that records every operation and executes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    steps: Arc<Mutex<Vec<Step>>>,
}

impl Recorder {
    fn step(&self, step: Step) {
        self.steps.lock().unwrap().push(step);
    }

    /// Records the number of changes acknowledged, and the number that may be stored.
    pub(super) fn note(&self, acknowledged: usize, sent: usize) {
        self.step(Step::Note { acknowledged, sent });
    }

    /// The number of steps.
    pub(super) fn len(&self) -> usize {
        self.steps.lock().unwrap().len()
    }

    /// The state of the disk and the program after some steps.
    pub(super) fn after(&self, steps: usize) -> CommitPoint {
        let mut point = CommitPoint::default();
        for step in &self.steps.lock().unwrap()[..steps] {
            point.apply(step);
        }
        point
    }
}

struct RecordedFile {
    path: PathBuf,
    file: Box<dyn RawFile>,
    recorder: Recorder,
}

impl Storage for Recorder {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        Disk.create_dir_all(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>> {
        self.step(Step::Create(path.to_owned()));
        Ok(Box::new(RecordedFile {
            path: path.to_owned(),
            file: Disk.create(path)?,
            recorder: self.clone(),
        }))
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<Box<dyn RawFile>> {
        self.step(Step::Cut(path.to_owned(), length));
        Ok(Box::new(RecordedFile {
            path: path.to_owned(),
            file: Disk.cut(path, length)?,
            recorder: self.clone(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(Step::Rename(from.to_owned(), to.to_owned()));
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(Step::Remove(path.to_owned()));
        Disk.remove(path)
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        self.step(Step::SyncDir);
        Ok(())
    }
}

impl Write for RecordedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.recorder
            .step(Step::Write(self.path.clone(), bytes[..written].to_vec()));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl RawFile for RecordedFile {
    fn sync(&mut self) -> io::Result<()> {
        self.recorder.step(Step::Sync(self.path.clone()));
        Ok(())
    }
}

/// The content of a file, and the length that is synced.
#[derive(Clone, Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    synced: usize,
}

/// A directory: the content of each name.
type Names = BTreeMap<PathBuf, usize>;

/// A disk between two steps.
#[derive(Clone, Debug, Default)]
pub(super) struct CommitPoint {
    contents: Vec<Content>,
    names: Names,
    /// The names at the last sync of the directory, and the changes since then.
    durable_names: Names,
    unsynced: Vec<(PathBuf, Option<usize>)>,
    pub(super) acknowledged: usize,
    pub(super) sent: usize,
}

/// A kind of crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crash {
    /// Only the program ends. All written bytes are on the disk.
    Kill,
    /// All unsynced names and content are lost.
    CutLosingAll,
    /// All names are kept, and unsynced content is lost.
    CutLosingContent,
    /// Some unsynced names are kept, and some unsynced content, parts of which are wrong.
    CutAtRandom(u64),
}

impl CommitPoint {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Create(path) => {
                self.contents.push(Content::default());
                self.set(path, Some(self.contents.len() - 1));
            }
            Step::Cut(path, length) => {
                let content = self.content(path);
                content.bytes.truncate(*length as usize);
                content.synced = content.synced.min(content.bytes.len());
            }
            Step::Write(path, bytes) => self.content(path).bytes.extend(bytes),
            Step::Sync(path) => {
                let content = self.content(path);
                content.synced = content.bytes.len();
            }
            Step::Rename(from, to) => {
                let content = self.names.get(from).copied();
                self.set(to, content);
                self.set(from, None);
            }
            Step::Remove(path) => self.set(path, None),
            Step::SyncDir => {
                self.durable_names = self.names.clone();
                self.unsynced.clear();
            }
            &Step::Note { acknowledged, sent } => (self.acknowledged, self.sent) = (acknowledged, sent),
        }
    }

    fn set(&mut self, path: &Path, content: Option<usize>) {
        set(&mut self.names, path, content);
        self.unsynced.push((path.to_owned(), content));
    }

    fn content(&mut self, path: &Path) -> &mut Content {
        let content = self.names[path];
        &mut self.contents[content]
    }

    /// Writes the files after a crash into an empty directory.
    pub(super) fn write_remains(&self, crash: Crash, directory: &Path) {
        let mut random = Random(if let Crash::CutAtRandom(seed) = crash {
            seed
        } else {
            0
        });
        let names = match crash {
            Crash::Kill | Crash::CutLosingContent => self.names.clone(),
            Crash::CutLosingAll => self.durable_names.clone(),
            Crash::CutAtRandom(_) => {
                let mut names = self.durable_names.clone();
                for (path, content) in &self.unsynced {
                    if random.below(2) == 0 {
                        set(&mut names, path, *content);
                    }
                }
                names
            }
        };
        for (path, content) in names {
            let content = &self.contents[content];
            let bytes = match crash {
                Crash::Kill => content.bytes.clone(),
                Crash::CutLosingAll | Crash::CutLosingContent => content.bytes[..content.synced].to_vec(),
                Crash::CutAtRandom(_) => {
                    let unsynced = (content.bytes.len() - content.synced) as u64;
                    let upto = content.synced + random.below(unsynced + 1) as usize;
                    let mut bytes = content.bytes[..upto].to_vec();
                    // Sectors that were allocated but not written are zero.
                    let from = upto
                        .saturating_sub(random.below(600) as usize)
                        .max(content.synced);
                    bytes[from..].fill(0);
                    bytes
                }
            };
            fs::write(directory.join(path.file_name().unwrap()), bytes).unwrap();
        }
    }
}

fn set(names: &mut Names, path: &Path, content: Option<usize>) {
    match content {
        Some(content) => drop(names.insert(path.to_owned(), content)),
        None => drop(names.remove(path)),
    }
}
