//! Reads files of 64-bit little-endian integers, uncompressed or compressed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::RawError;
use crate::source::{
    Codec, NamedFormat, ReadProgress, UnpackLimits, format_of_name, open_unpacked, read_failure,
};

/// The number of bytes read at a time, a multiple of 8.
const BLOCK_BYTES: usize = 1 << 20;

/// A file of 64-bit integers whose length is known.
#[derive(Clone, Debug)]
pub(super) struct NumberFile {
    path: PathBuf,
    codec: Codec,
    bytes: u64,
    count: u64,
}

impl NumberFile {
    /// Checks the name and the length of a file. A compressed file is decompressed once to measure its length.
    pub(super) fn open(path: &Path) -> Result<Self, RawError> {
        let codec = match format_of_name(path, &[]) {
            NamedFormat::Unknown(codec, Some(ending)) if ending == "u64" => codec,
            _ => {
                return Err(RawError::Kind {
                    path: path.to_owned(),
                });
            }
        };
        let metadata = path.metadata().map_err(RawError::io(path))?;
        if metadata.is_dir() {
            return Err(RawError::io(path)(io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            return Err(RawError::NotRegular {
                path: path.to_owned(),
            });
        }
        let mut file = Self {
            path: path.to_owned(),
            codec,
            bytes: metadata.len(),
            count: 0,
        };
        let length = if codec == Codec::Plain {
            file.bytes
        } else {
            file.unpacked_length()?
        };
        if length % 8 != 0 {
            return Err(RawError::Length {
                path: path.to_owned(),
                bytes: length,
            });
        }
        file.count = length / 8;
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of integers in the file.
    pub(super) fn len(&self) -> u64 {
        self.count
    }

    /// Opens a reader at the first integer.
    pub(super) fn numbers(&self) -> Result<NumberReader<'_>, RawError> {
        Ok(NumberReader {
            stream: self.stream()?,
            file: self,
            block: Vec::new(),
        })
    }

    fn stream(&self) -> Result<Box<dyn Read + Send>, RawError> {
        if self.codec == Codec::Plain {
            return Ok(Box::new(
                File::open(&self.path).map_err(RawError::io(&self.path))?,
            ));
        }
        // The decompressed length is not limited, because only one block at a time is in memory.
        let told = Arc::new(ReadProgress::default());
        open_unpacked(
            &self.path,
            self.codec,
            self.bytes,
            UnpackLimits::of_any_ratio(),
            &told,
        )
        .map_err(self.failed())
    }

    fn unpacked_length(&self) -> Result<u64, RawError> {
        let mut stream = self.stream()?;
        let mut block = vec![0; BLOCK_BYTES];
        let mut length = 0;
        loop {
            match stream.read(&mut block) {
                Ok(0) => return Ok(length),
                Ok(read) => length += read as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed()(error)),
            }
        }
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> RawError {
        move |error| {
            let path = self.path.clone();
            if self.codec == Codec::Plain || error.raw_os_error().is_some() {
                RawError::Io { path, source: error }
            } else {
                RawError::Damaged {
                    path,
                    reason: read_failure(&error, self.codec),
                }
            }
        }
    }
}

/// Reads the integers of a file in order.
pub(super) struct NumberReader<'f> {
    file: &'f NumberFile,
    stream: Box<dyn Read + Send>,
    block: Vec<u8>,
}

impl NumberReader<'_> {
    /// Appends the next `count` integers to `out`.
    pub(super) fn fill(&mut self, out: &mut Vec<u64>, count: usize) -> Result<(), RawError> {
        let mut left = count * 8;
        out.reserve(count);
        while left > 0 {
            self.block.resize(left.min(BLOCK_BYTES), 0);
            self.stream
                .read_exact(&mut self.block)
                .map_err(self.file.failed())?;
            left -= self.block.len();
            let (eights, _) = self.block.as_chunks();
            out.extend(eights.iter().map(|&eight| u64::from_le_bytes(eight)));
        }
        Ok(())
    }
}
