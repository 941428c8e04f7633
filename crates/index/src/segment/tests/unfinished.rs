//! Builds that are stopped or fail.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::storage::{Disk, RawFile, Storage};

fn a_stopped_build_leaves_no_files<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let options = Options {
        stop: Some(stop.clone()),
        ..Options::default()
    };
    let mut builder = Builder::<W>::new(&path_in(&directory), &options).unwrap();
    builder.push(W::truncate(1), 2).unwrap();
    stop.store(true, Ordering::Relaxed);
    assert!(matches!(builder.finish(), Err(SegmentError::Stopped)));
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}

/// A disk on which one operation fails.
#[derive(Debug, Clone, Copy)]
struct Failing(&'static str);

impl Failing {
    fn at(self, operation: &str) -> io::Result<()> {
        if self.0 == operation {
            Err(io::Error::other("no"))
        } else {
            Ok(())
        }
    }
}

struct FailingFile(Failing, Box<dyn RawFile>);

impl Storage for Failing {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        Disk.create_dir_all(path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>> {
        self.at("create")?;
        Ok(Box::new(FailingFile(*self, Disk.create(path)?)))
    }
    fn cut(&self, path: &Path, length: u64) -> io::Result<Box<dyn RawFile>> {
        self.at("cut")?;
        Ok(Box::new(FailingFile(*self, Disk.cut(path, length)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.at("rename")?;
        Disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.at("sync_dir")?;
        Disk.sync_dir(path)
    }
}

impl Write for FailingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.at("write")?;
        self.1.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.1.flush()
    }
}

impl RawFile for FailingFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.at("sync")?;
        self.1.sync()
    }
}

fn a_failed_build_leaves_no_temporary_file<W: Width>() {
    for operation in ["create", "write", "sync", "rename", "sync_dir"] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            storage: Some(Arc::new(Failing(operation))),
            ..Options::default()
        };
        let mut builder = Builder::<W>::new(&path_in(&directory), &options).unwrap();
        builder.push(W::truncate(1), 2).unwrap();
        assert!(
            matches!(builder.finish(), Err(SegmentError::Io { .. })),
            "{operation}"
        );
        // After the rename the file is complete. Only the durability of its name is in doubt.
        let remaining: Vec<PathBuf> = fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        let is_renamed = operation == "sync_dir";
        assert_eq!(
            remaining,
            if is_renamed {
                vec![path_in(&directory)]
            } else {
                Vec::new()
            },
            "{operation}"
        );
    }
}

at_every_width! {
    a_stopped_build_leaves_no_files
    a_failed_build_leaves_no_temporary_file
}
