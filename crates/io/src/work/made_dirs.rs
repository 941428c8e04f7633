//! Keeps track of directories that a run creates, and removes them at its end unless they contain files.

use std::fs;
use std::path::{Path, PathBuf};

use twinprint_index::storage::folder;

/// Directories that a run has created. They are removed when this value is dropped. A directory that is not empty
/// stays, with the directories above it.
#[derive(Debug, Default)]
pub struct MadeDirs {
    /// The paths of the directories. The deepest comes first.
    levels: Vec<PathBuf>,
}

impl MadeDirs {
    /// Lists the missing directories on the path `path`. The caller is about to create them.
    pub fn missing(path: &Path) -> Self {
        let missing = |level: &&Path| fs::symlink_metadata(level).is_err();
        Self {
            levels: named(path).take_while(missing).map(Path::to_owned).collect(),
        }
    }

    /// The parents of the directories. They must be synced to make the new directories durable.
    pub fn parents(&self) -> impl Iterator<Item = &Path> {
        self.levels.iter().map(|level| folder(level))
    }

    /// The number of directories to remove.
    pub fn count(&self) -> usize {
        self.levels.len()
    }

    /// Takes responsibility for the last `count` components of `path`, which another run created.
    pub fn take_over(&mut self, path: &Path, count: usize) {
        if count > self.levels.len() {
            self.levels = named(path).take(count).map(Path::to_owned).collect();
        }
    }
}

/// Iterates over a path and the directories above it that the path names, the deepest first.
fn named(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().filter(|level| !level.as_os_str().is_empty())
}

impl Drop for MadeDirs {
    fn drop(&mut self) {
        for level in &self.levels {
            // This fails if the directory is not empty.
            let _stays = fs::remove_dir(level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_directories_are_removed_if_they_are_empty() {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        fs::create_dir(path("there")).unwrap();
        for (name, first) in [
            ("there/a/b", "there/a"),
            ("c", "c"),
            ("d/../e", "e"),
            ("there/", "-"),
        ] {
            let made = MadeDirs::missing(&path(name));
            fs::create_dir_all(path(name)).unwrap();
            drop(made);
            assert!(path("there").exists() && !path(first).exists(), "{name}");
        }
        assert!(!path("d").exists());

        let made = MadeDirs::missing(&path("x/y/z"));
        fs::create_dir_all(path("x/y/z")).unwrap();
        fs::write(path("x/mine"), "").unwrap();
        drop(made);
        assert!(path("x/mine").exists() && !path("x/y").exists());

        let mut made = MadeDirs::missing(&path("x/y/z"));
        assert_eq!(made.count(), 2);
        fs::create_dir_all(path("x/y/z")).unwrap();
        fs::remove_file(path("x/mine")).unwrap();
        made.take_over(&path("x/y/z"), 3);
        drop(made);
        assert!(!path("x").exists() && temp.path().exists());
    }
}
