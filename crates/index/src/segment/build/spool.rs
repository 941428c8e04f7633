//! Bytes that are made beside a section and follow it in the file: in memory while they are few, in an unnamed file beyond.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::segment::SegmentError;
use crate::segment::bits::Packer;
use crate::segment::write::Unfinished;

/// Bytes kept in memory.
const MEMORY: usize = 16 << 20;

/// Packed numbers of one width on their way.
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
    pub(super) fn push(&mut self, number: u64) -> Result<(), SegmentError> {
        self.packer.push(u128::from(number), self.width);
        if self.packer.ready().len() >= MEMORY {
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

    /// Appends everything, and padding, to a file.
    pub(super) fn append_to(self, out: &mut Unfinished) -> Result<(), SegmentError> {
        if let Some(mut file) = self.file {
            out.copy(&mut file)?;
        }
        out.write(&self.packer.finish())
    }
}
