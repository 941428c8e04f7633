//! An input file, as it was when the inputs were searched.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use super::format::{Codec, Format};
use super::reject::RejectReason;
use crate::remote::RemoteFile;

/// A file to read.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceFile {
    /// The path of the file. For stdin it is the path of the copy in the work directory.
    pub path: PathBuf,
    /// The name of the file in messages and in the field `source` of all output.
    pub label: String,
    /// The path of the file's output, relative to `kept/` and `removed/` in the output directory.
    pub relative: PathBuf,
    /// The format of the file, which decides how it is split into records.
    pub format: Format,
    /// The codec with which the file is compressed.
    pub codec: Codec,
    /// The size of the file on disk in bytes, when it was found.
    pub bytes: u64,
    /// The extension with its dot, if the file is read as text although the extension names another format or none.
    /// Otherwise `None`.
    pub as_text: Option<String>,
    /// The reason why the file cannot be read, if that was known when it was found.
    pub unreadable: Option<RejectReason>,
    /// The modification time of the file when it was found.
    pub modified: Option<SystemTime>,
    /// The object that `path` is a copy of; `None` for a local file.
    pub remote: Option<RemoteFile>,
}

impl SourceFile {
    /// Opens the file. An object is copied first, unless its copy is on disk.
    pub(crate) fn open(&self) -> io::Result<File> {
        match &self.remote {
            Some(object) => object.open(),
            None => File::open(&self.path),
        }
    }

    /// Returns the name of a record that has no id: `label:line`, or `label:row` in a table, or the label alone if the
    /// file is one document.
    pub fn name_of(&self, line: u64) -> String {
        if self.format.is_whole_file() {
            self.label.clone()
        } else {
            format!("{}:{line}", self.label)
        }
    }
}
