//! An output file with one record per line.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// A JSONL file being written.
#[derive(Debug)]
pub struct Output {
    file: BufWriter<File>,
    line: Vec<u8>,
    bytes: u64,
}

impl Output {
    /// Creates a file, or replaces an old one.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 20, file),
            line: Vec::new(),
            bytes: 0,
        })
    }

    /// Writes one line.
    pub fn write(&mut self, record: &impl Serialize) -> anyhow::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, record)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)?;
        self.bytes += self.line.len() as u64;
        Ok(())
    }

    /// Returns the bytes written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Flushes the file.
    pub fn finish(mut self) -> anyhow::Result<()> {
        Ok(self.file.flush()?)
    }
}

/// A generated document.
#[derive(Serialize)]
pub(super) struct GeneratedDocument<'a> {
    pub(super) id: &'a str,
    pub(super) lang: &'static str,
    /// The id of the document that this is a copy of, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<&'a str>,
    pub(super) text: &'a str,
}
