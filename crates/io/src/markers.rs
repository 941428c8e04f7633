//! The names of marker files, temporary files and work directories in output directories.
//!
//! [`sink`](crate::sink) writes these files, [`source`](crate::source) skips directories that have them, and [`work`](crate::work) names
//! its directories by them.

use std::fs;
use std::path::Path;

/// The marker of a run that is not finished.
pub(crate) const UNFINISHED: &str = ".twinprint-unfinished";
/// The list of the files of a finished run.
pub(crate) const FILE_LIST: &str = ".twinprint-output";
/// The directory of a run whose output will replace an earlier result.
pub(crate) const REPLACEMENT: &str = ".twinprint-next";
/// The prefix of the names of unfinished files.
pub(crate) const TEMPORARY: &str = ".twinprint-";
/// The suffix of the names of unfinished files.
pub(crate) const PARTIAL: &str = ".partial";
/// The prefix of the names of work directories. They are in the output directory unless another place is given.
pub(crate) const WORK_DIR: &str = ".twinprint-work-";

/// True if `root` has the marker of an unfinished run.
pub(crate) fn is_unfinished(root: &Path) -> bool {
    is_file(&root.join(UNFINISHED))
}

/// True if `root` has the result of a finished run.
pub(crate) fn is_result(root: &Path) -> bool {
    is_file(&root.join(FILE_LIST))
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}
