//! A file of an input, as it was found.

use std::path::PathBuf;
use std::time::SystemTime;

use super::format::{Codec, Format};
use super::reject::RejectReason;

/// One file to read.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceFile {
    /// The path. For stdin, the path of its copy in the work directory.
    pub path: PathBuf,
    /// The name in messages and in the `source` field of all output.
    pub label: String,
    /// The path under `kept/` and `removed/` in the output directory.
    pub relative: PathBuf,
    /// The format, which decides how it is split into documents.
    pub format: Format,
    /// The codec with which it is packed.
    pub codec: Codec,
    /// The size on disk in bytes, when it was found.
    pub bytes: u64,
    /// The extension with its dot, if the file is read as text although the extension names another format or none.
    pub as_text: Option<String>,
    /// The reason why nothing of it can be read, if that was known when it was found.
    pub unreadable: Option<RejectReason>,
    /// The time of its last change, when it was found.
    pub modified: Option<SystemTime>,
}

impl SourceFile {
    /// The name of a record without an id: `label:line` (or row), or the label if the file is one document.
    pub fn name_of(&self, line: u64) -> String {
        if self.format.is_whole_file() {
            self.label.clone()
        } else {
            format!("{}:{line}", self.label)
        }
    }
}
