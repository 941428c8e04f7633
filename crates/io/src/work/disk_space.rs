//! The free space on the disk of a path.

use std::path::{Path, PathBuf};

/// A disk and its free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// The free space in bytes.
    pub free: u64,
    /// The device number. It is equal for all paths on one disk.
    pub disk: u64,
}

/// The disk on which `path` is or would be created; `None` if the system does not report it.
pub fn disk_space(path: &Path) -> Option<DiskSpace> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    absolute.ancestors().find_map(existing)
}

#[cfg(unix)]
fn existing(path: &Path) -> Option<DiskSpace> {
    use std::os::unix::fs::MetadataExt;

    let disk = std::fs::metadata(path).ok()?.dev();
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(DiskSpace {
        free: stat.f_bavail.saturating_mul(stat.f_frsize),
        disk,
    })
}

#[cfg(not(unix))]
fn existing(_: &Path) -> Option<DiskSpace> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_is_on_the_disk_of_its_existing_parent() {
        let dir = tempfile::tempdir().unwrap();
        let existing = disk_space(dir.path()).unwrap();
        let missing = disk_space(&dir.path().join("not/yet")).unwrap();
        assert!(existing.free > 0 && existing.disk == missing.disk);
        assert!(disk_space(Path::new("relative/not/there")).is_some());
    }
}
