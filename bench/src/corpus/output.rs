//! Writes records to a file, one per line.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// A JSONL file that is being written.
#[derive(Debug)]
pub struct Output {
    file: BufWriter<File>,
    line: Vec<u8>,
    bytes: u64,
}

impl Output {
    /// Creates the file, or replaces an existing one.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 20, file),
            line: Vec::new(),
            bytes: 0,
        })
    }

    /// Writes one record as a line.
    pub fn write(&mut self, record: &impl Serialize) -> anyhow::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, record)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)?;
        self.bytes += self.line.len() as u64;
        Ok(())
    }

    /// Returns the number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes buffered data to the file and closes it.
    pub fn finish(mut self) -> anyhow::Result<()> {
        Ok(self.file.flush()?)
    }
}

/// A generated document, in the form in which it is written.
#[derive(Serialize)]
pub(super) struct GeneratedDocument<'a> {
    pub(super) id: &'a str,
    pub(super) lang: &'static str,
    /// The id of the document that this one is a copy of; `None` if it is not a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<&'a str>,
    pub(super) text: &'a str,
}
