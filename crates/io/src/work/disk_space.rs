//! Determines the free space on a disk.

use std::path::{Path, PathBuf};

/// The free space on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// The free space on the disk, in bytes.
    pub free: u64,
    /// The device number of the disk. Paths on the same disk have the same number.
    pub disk: u64,
}

/// Returns the free space on the disk where `path` exists or would be created. Returns `None` if the system does not
/// report it.
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
