//! The place of a result: a directory, or a folder of object storage.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint::sink::{Existing, ObjectFolder};
use twinprint::source::is_remote;

use crate::usage::usage;

/// The place of a result.
pub(crate) enum Output {
    /// A directory.
    Dir(PathBuf),
    /// A folder of object storage, and the directory where the result is written before it is copied.
    Objects(ObjectFolder, PathBuf),
}

impl Output {
    /// The place that `--output` names. A result for object storage is written to the directory of temporary files first.
    pub(crate) fn of(
        output: &Path,
        work_dir: Option<&Path>,
        cancel: &Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let Some(url) = output.to_str().filter(|output| is_remote(output)) else {
            return Ok(Self::Dir(output.to_owned()));
        };
        let folder = ObjectFolder::open(url, cancel)?;
        let Some(work_dir) = work_dir else {
            return Err(usage(
                "a result for object storage is written to a directory before it is copied: name one with --work-dir",
            ));
        };
        let dir = work_dir.join(folder.local_name());
        Ok(Self::Objects(folder, dir))
    }

    /// The directory where the result is written.
    pub(crate) fn dir(&self) -> &Path {
        match self {
            Self::Dir(dir) | Self::Objects(_, dir) => dir,
        }
    }

    /// The folder of object storage to which the result is copied, if there is one.
    pub(crate) fn objects(&self) -> Option<&ObjectFolder> {
        match self {
            Self::Dir(_) => None,
            Self::Objects(folder, _) => Some(folder),
        }
    }
}

/// Converts the option `--overwrite`: whether an earlier result in the output directory may be replaced.
pub(crate) fn existing(overwrite: bool) -> Existing {
    if overwrite {
        Existing::Replace
    } else {
        Existing::Refuse
    }
}
