//! The bytes of a file in memory: mapped, or read into large pages.
//!
//! This is the only place with unsafe code in this crate. A mapped file changes in memory if another program writes to
//! it. The argument below relies on the fact that segments and files of names are written under another name, renamed, and
//! never written again. An incomplete segment is mapped only by the build that will continue it, and not while that build writes.

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;

use memmap2::{Advice, Mmap, MmapMut};
use rayon::prelude::*;

use super::SegmentError;
use crate::positioned::PositionedFile;

/// The number of bytes read at a time when a file is loaded.
const READ_BYTES: usize = 8 << 20;

/// The bytes of a file in memory.
#[derive(Debug)]
pub(crate) struct Mapping {
    bytes: Mmap,
    /// The file, if it is mapped. The bytes of a loaded file are in memory.
    file: Option<File>,
}

impl Deref for Mapping {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Mapping {
    /// Maps a file; its pages are read from disk when they are first touched.
    #[expect(
        unsafe_code,
        reason = "a mapping is the bytes of a file that others could write to"
    )]
    pub(crate) fn map(path: &Path) -> Result<Self, SegmentError> {
        let file = File::open(path).map_err(SegmentError::io(path))?;
        // SAFETY: segments and files of names are immutable: they are written under another name, synced and renamed. A program that
        // writes into an open file breaks that contract. Even then, checksums are verified for what is read, and no
        // value that is read is trusted as an index into memory.
        let map = unsafe { Mmap::map(&file) }.map_err(SegmentError::io(path))?;
        // Lookups access the file at random, so read-ahead would be wasted. If the system does not take the advice,
        // nothing is lost.
        let _ = map.advise(Advice::Random);
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random);
        Ok(Self {
            bytes: map,
            file: Some(file),
        })
    }

    /// Like [`Mapping::map`] for a file that will be read from its beginning to its end.
    pub(crate) fn map_in_order(path: &Path) -> Result<Self, SegmentError> {
        let mapping = Self::map(path)?;
        let _ = mapping.bytes.advise(Advice::Sequential);
        Ok(mapping)
    }

    /// Reads a whole file into memory, in huge pages if the system has them. Lookups then need a hundredth of the
    /// address translations.
    pub(crate) fn load(path: &Path) -> Result<Self, SegmentError> {
        let file = File::open(path).map_err(SegmentError::io(path))?;
        let len = file.metadata().map_err(SegmentError::io(path))?.len();
        let file = PositionedFile::new(file);
        let mut map = MmapMut::map_anon(len as usize).map_err(SegmentError::io(path))?;
        #[cfg(target_os = "linux")]
        let _ = map.advise(Advice::HugePage);
        map.par_chunks_mut(READ_BYTES)
            .enumerate()
            .try_for_each(|(i, stretch)| file.read_exact_at(stretch, (i * READ_BYTES) as u64))
            .map_err(SegmentError::io(path))?;
        Ok(Self {
            bytes: map.make_read_only().map_err(SegmentError::io(path))?,
            file: None,
        })
    }

    /// Returns `true` if the system reads pages of the file when they are touched.
    #[inline]
    pub(crate) fn is_mapped(&self) -> bool {
        self.file.is_some()
    }

    /// Makes the system start to read the pages of a range, without waiting for them. Does nothing for pages in memory.
    pub(crate) fn will_need(&self, bytes: Range<usize>) {
        let end = bytes.end.min(self.len());
        if self.is_mapped() && bytes.start < end {
            // If the system does not take the advice, the pages are read when they are touched.
            let _ = self
                .bytes
                .advise_range(Advice::WillNeed, bytes.start, end - bytes.start);
        }
    }

    /// Returns `true` if the page of a byte is in memory, or if the system does not tell.
    pub(crate) fn is_present(&self, at: usize) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(file) = &self.file {
            use rustix::io::{Errno, ReadWriteFlags, preadv2};
            let mut byte = [0];
            let read = preadv2(
                file,
                &mut [std::io::IoSliceMut::new(&mut byte)],
                at as u64,
                ReadWriteFlags::NOWAIT,
            );
            return read != Err(Errno::AGAIN);
        }
        let _ = at;
        true
    }
}
