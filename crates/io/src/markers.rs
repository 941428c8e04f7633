//! The names of marker files, temporary files and work directories in output directories.
//!
//! [`sink`](crate::sink) creates these files and directories, [`source`](crate::source) does not read directories that
//! contain a marker, and [`work`](crate::work) creates the work directories.

use std::fs;
use std::path::Path;

/// The name of the marker file in the output directory of an unfinished run.
pub(crate) const UNFINISHED: &str = ".twinprint-unfinished";
/// The name of the file that lists the output files of a finished run.
pub(crate) const FILE_LIST: &str = ".twinprint-output";
/// The name of the subdirectory that a run writes to if its output will replace an earlier result.
pub(crate) const REPLACEMENT: &str = ".twinprint-next";
/// The prefix of the temporary name of an output file that is not complete.
pub(crate) const TEMPORARY: &str = ".twinprint-";
/// The suffix of the temporary name of an output file that is not complete.
pub(crate) const PARTIAL: &str = ".partial";
/// The prefix of the names of work directories. A work directory is in the output directory unless the user names
/// another parent directory.
pub(crate) const WORK_DIR: &str = ".twinprint-work-";

/// Returns true if the directory `root` contains the marker of an unfinished run.
pub(crate) fn is_unfinished(root: &Path) -> bool {
    is_file(&root.join(UNFINISHED))
}

/// Returns true if the directory `root` contains the result of a finished run.
pub(crate) fn is_result(root: &Path) -> bool {
    is_file(&root.join(FILE_LIST))
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}
