//! A buffer of numbers that are produced together with a section and follow it in the file. It is in memory up to a
//! limit, and in an unnamed file beyond.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::segment::SegmentError;
use crate::segment::bits::{PADDING, Packer};
use crate::segment::write::SegmentWriter;

/// The number of bytes that a spool keeps in memory.
pub(super) const SPOOL_MEMORY_BYTES: usize = 16 << 20;
/// The number of bytes that are read back at a time.
const STRETCH_BYTES: usize = 1 << 20;

/// A buffer of packed numbers of one width.
#[derive(Debug)]
pub(super) struct Spool {
    directory: PathBuf,
    packer: Packer,
    width: u32,
    file: Option<File>,
}

impl Spool {
    pub(super) fn new(directory: &Path, width: u32) -> Self {
        Self {
            directory: directory.to_owned(),
            packer: Packer::default(),
            width,
            file: None,
        }
    }

    /// Appends a number below 2^width.
    #[inline]
    pub(super) fn push(&mut self, number: impl Into<u128>) -> Result<(), SegmentError> {
        self.packer.push(number.into(), self.width);
        if self.packer.ready().len() >= SPOOL_MEMORY_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    #[cold]
    fn flush(&mut self) -> Result<(), SegmentError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file =
                    tempfile::tempfile_in(&self.directory).map_err(SegmentError::io(&self.directory))?;
                none.insert(file)
            }
        };
        file.write_all(self.packer.ready())
            .map_err(SegmentError::io(&self.directory))?;
        self.packer.ready().clear();
        Ok(())
    }

    /// Appends all numbers and the padding to the segment file.
    pub(super) fn append_to(self, out: &mut SegmentWriter) -> Result<(), SegmentError> {
        self.each(|bytes| out.write(bytes))?;
        out.write(&[0; PADDING])
    }

    /// Calls `each` with all bytes, in consecutive ranges. A number of 1, 2, 4, 8 or 16 bytes is always complete in one
    /// range.
    pub(super) fn each(
        mut self,
        mut each: impl FnMut(&[u8]) -> Result<(), SegmentError>,
    ) -> Result<(), SegmentError> {
        if let Some(mut file) = self.file.take() {
            let failed = || SegmentError::io(&self.directory);
            file.seek(SeekFrom::Start(0)).map_err(failed())?;
            let mut stretch = Vec::with_capacity(STRETCH_BYTES);
            loop {
                stretch.clear();
                let some = (&file).take(STRETCH_BYTES as u64).read_to_end(&mut stretch);
                if some.map_err(failed())? == 0 {
                    break;
                }
                each(&stretch)?;
            }
        }
        self.packer.align();
        each(self.packer.ready())
    }
}
