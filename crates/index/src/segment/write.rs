//! Writes the file of a segment: sections one after the other, checksums as they pass, and the name only at the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SegmentError;
use super::layout::{self, ALIGN, Footer, Kind, SECTOR, Section};
use crate::storage::{Disk, RawFile, Storage, folder};

/// Bytes gathered before a write.
const BUFFER: usize = 1 << 20;

/// A file of which only the beginning is there.
pub(crate) struct Unfinished {
    path: PathBuf,
    temporary: PathBuf,
    storage: Arc<dyn Storage>,
    file: Box<dyn RawFile>,
    /// It has its name.
    named: bool,
    buffer: Vec<u8>,
    at: u64,
    sums: Vec<u8>,
    sector: crc32fast::Hasher,
    sections: Vec<Section>,
}

impl Unfinished {
    /// Begins the file that will be called `path`; until then it is called `path` with `.tmp` appended.
    pub(crate) fn create(
        path: &Path,
        bits: u32,
        storage: Option<Arc<dyn Storage>>,
    ) -> Result<Self, SegmentError> {
        let storage = storage.unwrap_or_else(|| Arc::new(Disk));
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let file = storage.create(&temporary).map_err(SegmentError::io(&temporary))?;
        let mut unfinished = Self {
            path: path.to_owned(),
            temporary,
            storage,
            file,
            named: false,
            buffer: Vec::with_capacity(BUFFER),
            at: 0,
            sums: Vec::new(),
            sector: crc32fast::Hasher::new(),
            sections: Vec::new(),
        };
        unfinished.put(&layout::header(bits))?;
        Ok(unfinished)
    }

    /// Starts a section at the next multiple of [`ALIGN`].
    pub(crate) fn begin(&mut self, kind: Kind, table: usize) -> Result<(), SegmentError> {
        self.align()?;
        self.sections.push(Section {
            kind,
            table: table as u32,
            offset: self.at,
            length: 0,
        });
        Ok(())
    }

    /// Appends to the section begun last.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        if let Some(section) = self.sections.last_mut() {
            section.length += bytes.len() as u64;
        }
        self.put(bytes)
    }

    /// Zeros up to a multiple of [`ALIGN`], which belong to no section.
    fn align(&mut self) -> Result<(), SegmentError> {
        let gap = (ALIGN - self.at % ALIGN) % ALIGN;
        self.put(&[0; ALIGN as usize][..gap as usize])
    }

    fn put(&mut self, mut bytes: &[u8]) -> Result<(), SegmentError> {
        self.buffer.extend_from_slice(bytes);
        while !bytes.is_empty() {
            let room = SECTOR - (self.at % SECTOR as u64) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.sector.update(now);
            self.at += now.len() as u64;
            if now.len() == room {
                self.end_sector();
            }
            bytes = later;
        }
        if self.buffer.len() >= BUFFER {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn end_sector(&mut self) {
        let sum = std::mem::take(&mut self.sector).finalize();
        self.sums.extend(sum.to_le_bytes());
    }

    fn flush(&mut self) -> Result<(), SegmentError> {
        let written = self.file.write_all(&self.buffer);
        written.map_err(SegmentError::io(&self.temporary))?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes checksums, footer and tail, syncs, and gives the file its name.
    pub(crate) fn finish(mut self, mut footer: Footer) -> Result<(), SegmentError> {
        // The gap before the checksums is under them too.
        self.align()?;
        if !self.at.is_multiple_of(SECTOR as u64) {
            self.end_sector();
        }
        let sums = std::mem::take(&mut self.sums);
        self.sections.push(Section {
            kind: Kind::Sums,
            table: 0,
            offset: self.at,
            length: sums.len() as u64,
        });
        footer.sums_crc = crc32fast::hash(&sums);
        footer.sections = std::mem::take(&mut self.sections);
        self.put(&sums)?;
        let encoded = footer.encode();
        let tail = layout::tail(self.at, &encoded);
        self.put(&encoded)?;
        self.put(&tail)?;
        self.flush()?;
        self.file.sync().map_err(SegmentError::io(&self.temporary))?;
        let renamed = self.storage.rename(&self.temporary, &self.path);
        renamed.map_err(SegmentError::io(&self.path))?;
        self.named = true;
        let directory = folder(&self.path);
        self.storage
            .sync_dir(directory)
            .map_err(SegmentError::io(directory))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.named {
            // What cannot be removed is overwritten by the next build of the same name.
            let _ = self.storage.remove(&self.temporary);
        }
    }
}
