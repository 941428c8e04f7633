//! Reads files of little-endian integers of 32, 64 or 128 bits, uncompressed or compressed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twinprint_fingerprint::Width;

use super::RawError;
use crate::source::{
    Codec, NamedFormat, ReadProgress, UnpackLimits, format_of_name, open_unpacked, read_failure,
};

/// The number of bytes read at a time, a multiple of the length of every integer.
const BLOCK_BYTES: usize = 1 << 20;

/// A file of integers whose width and length are known.
#[derive(Clone, Debug)]
pub(super) struct NumberFile {
    path: PathBuf,
    codec: Codec,
    bits: u32,
    bytes: u64,
    count: u64,
}

/// Returns the width in bits that the extension of a file of integers states.
pub(super) fn bits_of(extension: &str) -> Option<u32> {
    match extension {
        "u32" => Some(u32::BITS),
        "u64" => Some(u64::BITS),
        "u128" => Some(u128::BITS),
        _ => None,
    }
}

impl NumberFile {
    /// Checks the name and the length of a file. A compressed file is decompressed once to measure its length.
    pub(super) fn open(path: &Path) -> Result<Self, RawError> {
        let named = match format_of_name(path, &[]) {
            NamedFormat::Unknown(codec, Some(ending)) => Some(codec).zip(bits_of(&ending)),
            _ => None,
        };
        let (codec, bits) = named.ok_or_else(|| RawError::Kind {
            path: path.to_owned(),
        })?;
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
            bits,
            bytes: metadata.len(),
            count: 0,
        };
        let length = if codec == Codec::Plain {
            file.bytes
        } else {
            file.unpacked_length()?
        };
        let each = u64::from(bits / 8);
        if length % each != 0 {
            return Err(RawError::Length {
                path: path.to_owned(),
                bytes: length,
                bits,
            });
        }
        file.count = length / each;
        Ok(file)
    }

    /// The width of the integers, in bits.
    pub(super) fn bits(&self) -> u32 {
        self.bits
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
        let file = File::open(&self.path).map_err(RawError::io(&self.path))?;
        if self.codec == Codec::Plain {
            return Ok(Box::new(file));
        }
        // The decompressed length is not limited, because only one block at a time is in memory.
        let told = Arc::new(ReadProgress::default());
        let unpacked = open_unpacked(file, self.codec, self.bytes, UnpackLimits::of_any_ratio(), &told);
        let stream: Box<dyn Read + Send> = unpacked.map_err(self.failed())?;
        Ok(stream)
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
    /// Appends the next `count` integers to `out`. `W` must be the width of the integers.
    pub(super) fn fill<W: Width>(&mut self, out: &mut Vec<W>, count: usize) -> Result<(), RawError> {
        let each = W::BITS as usize / 8;
        let mut left = count * each;
        out.reserve(count);
        while left > 0 {
            self.block.resize(left.min(BLOCK_BYTES), 0);
            self.stream
                .read_exact(&mut self.block)
                .map_err(self.file.failed())?;
            left -= self.block.len();
            out.extend(self.block.chunks_exact(each).map(|bytes| {
                let mut wide = [0; 16];
                wide[..each].copy_from_slice(bytes);
                W::truncate(u128::from_le_bytes(wide))
            }));
        }
        Ok(())
    }
}
