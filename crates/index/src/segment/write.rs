//! Writes the file of a segment: the sections one after the other, with their checksums, and the final name only at the
//! end.
//!
//! In between, a [`Journal`] may be written next to the file, from which another process can resume. The bytes that a
//! journal describes are on disk before the journal is. Once there is a journal, the file stays on disk when the writer
//! is dropped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SegmentError;
use super::journal::{self, Journal};
use super::layout::{self, Footer, Header, SECTION_ALIGN, SECTOR_BYTES, Section, SectionKind};
use crate::storage::{Disk, RawFile, Storage, folder};

/// The number of bytes that are gathered before a write.
const BUFFER_BYTES: usize = 1 << 20;

/// A segment file that is being written.
pub(crate) struct SegmentWriter {
    path: PathBuf,
    temporary: PathBuf,
    storage: Arc<dyn Storage>,
    file: Box<dyn RawFile>,
    /// True once the file has its final name.
    named: bool,
    /// True if a journal describes the file, which then stays on disk when the writer is dropped.
    kept: bool,
    buffer: Vec<u8>,
    at: u64,
    sums: Vec<u8>,
    sector: crc32fast::Hasher,
    sections: Vec<Section>,
}

impl SegmentWriter {
    /// Begins the file that will be called `path`. Until it is complete, it is called `path` with `.tmp` appended.
    pub(crate) fn create(
        path: &Path,
        header: Header,
        storage: Option<Arc<dyn Storage>>,
    ) -> Result<Self, SegmentError> {
        let storage = storage.unwrap_or_else(|| Arc::new(Disk));
        let temporary = temporary(path);
        let file = storage.create(&temporary).map_err(SegmentError::io(&temporary))?;
        let mut unfinished = Self {
            path: path.to_owned(),
            temporary,
            storage,
            file,
            named: false,
            kept: false,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            at: 0,
            sums: Vec::new(),
            sector: crc32fast::Hasher::new(),
            sections: Vec::new(),
        };
        unfinished.put(&header.encode())?;
        Ok(unfinished)
    }

    /// Continues a file that has a journal. The file is truncated to the length that the journal states; the bytes up
    /// to there must have been verified.
    pub(crate) fn cut(
        path: &Path,
        journal: &Journal,
        storage: Option<Arc<dyn Storage>>,
    ) -> Result<Self, SegmentError> {
        let storage = storage.unwrap_or_else(|| Arc::new(Disk));
        let temporary = temporary(path);
        let file = storage.cut(&temporary, journal.length);
        let mut sums = journal.sums.clone();
        let mut sector = crc32fast::Hasher::new();
        if let Some((whole, &sum)) = sums.split_last_chunk()
            && !journal.length.is_multiple_of(SECTOR_BYTES as u64)
        {
            // The last checksum covers only the beginning of a sector. It is continued with the rest of the sector.
            sector = crc32fast::Hasher::new_with_initial(u32::from_le_bytes(sum));
            sums.truncate(whole.len());
        }
        Ok(Self {
            path: path.to_owned(),
            file: file.map_err(SegmentError::io(&temporary))?,
            temporary,
            storage,
            named: false,
            kept: true,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            at: journal.length,
            sums,
            sector,
            sections: journal.footer.sections.clone(),
        })
    }

    /// Starts a section at the next multiple of [`SECTION_ALIGN`].
    pub(crate) fn begin(&mut self, kind: SectionKind, table: usize) -> Result<(), SegmentError> {
        self.align()?;
        self.sections.push(Section {
            kind,
            table: table as u32,
            offset: self.at,
            length: 0,
        });
        Ok(())
    }

    /// Appends bytes to the section that was started last.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        if let Some(section) = self.sections.last_mut() {
            section.length += bytes.len() as u64;
        }
        self.put(bytes)
    }

    /// Appends zeros up to a multiple of [`SECTION_ALIGN`]. They belong to no section.
    fn align(&mut self) -> Result<(), SegmentError> {
        let gap = (SECTION_ALIGN - self.at % SECTION_ALIGN) % SECTION_ALIGN;
        self.put(&[0; SECTION_ALIGN as usize][..gap as usize])
    }

    fn put(&mut self, mut bytes: &[u8]) -> Result<(), SegmentError> {
        self.buffer.extend_from_slice(bytes);
        while !bytes.is_empty() {
            let room = SECTOR_BYTES - (self.at % SECTOR_BYTES as u64) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.sector.update(now);
            self.at += now.len() as u64;
            if now.len() == room {
                self.end_sector();
            }
            bytes = later;
        }
        if self.buffer.len() >= BUFFER_BYTES {
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

    /// Makes the file so far durable, and then writes a journal that describes it: its `whole` complete tables, and the
    /// footer so far.
    pub(crate) fn make_resumable(
        &mut self,
        whole: u32,
        footer: &Footer,
        work: &[u8],
        notes: &[u8],
    ) -> Result<(), SegmentError> {
        self.flush()?;
        self.file.sync().map_err(SegmentError::io(&self.temporary))?;
        let mut sums = self.sums.clone();
        if !self.at.is_multiple_of(SECTOR_BYTES as u64) {
            sums.extend(self.sector.clone().finalize().to_le_bytes());
        }
        let mut footer = footer.clone();
        footer.sections.clone_from(&self.sections);
        let journal = Journal {
            work: work.to_vec(),
            notes: notes.to_vec(),
            whole,
            length: self.at,
            footer,
            sums,
        };
        let path = journal::place(&self.path);
        let temporary = temporary(&path);
        let written = self.storage.create(&temporary).and_then(|mut file| {
            file.write_all(&journal.encode())?;
            file.sync()
        });
        let renamed = written.and_then(|()| self.storage.rename(&temporary, &path));
        if let Err(error) = renamed {
            let _ = self.storage.remove(&temporary);
            return Err(SegmentError::io(&temporary)(error));
        }
        self.kept = true;
        let directory = folder(&path);
        let synced = self.storage.sync_dir(directory);
        synced.map_err(SegmentError::io(directory))
    }

    /// Writes the checksums, the footer and the tail, syncs the file, and renames it to its final name.
    pub(crate) fn finish(mut self, mut footer: Footer) -> Result<(), SegmentError> {
        // The zeros before the section of checksums are under checksums too.
        self.align()?;
        if !self.at.is_multiple_of(SECTOR_BYTES as u64) {
            self.end_sector();
        }
        let sums = std::mem::take(&mut self.sums);
        self.sections.push(Section {
            kind: SectionKind::Sums,
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
            .map_err(SegmentError::io(directory))?;
        if self.kept {
            // If the journal cannot be removed, it refers to a file that no longer exists, so it is ignored.
            let _ = self.storage.remove(&journal::place(&self.path));
        }
        Ok(())
    }
}

/// Returns the name that a file has until it is complete.
pub(super) fn temporary(path: &Path) -> PathBuf {
    journal::with_ending(path, ".tmp")
}

/// Removes the files of an interrupted build of `path`, which can then no longer be resumed.
pub(super) fn remove_unfinished(path: &Path, storage: Option<&Arc<dyn Storage>>) {
    let storage: &dyn Storage = storage.map_or(&Disk, |storage| &**storage);
    // The journal is removed first, so that it never exists without the file that it describes. A file that cannot be
    // removed is overwritten later.
    for path in [journal::place(path), temporary(path)] {
        let _ = storage.remove(&path);
    }
}

impl Drop for SegmentWriter {
    fn drop(&mut self) {
        if !self.named && !self.kept {
            // If the incomplete file cannot be removed, the next build of the same name overwrites it.
            let _ = self.storage.remove(&self.temporary);
        }
    }
}
