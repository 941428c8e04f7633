//! Opens a file as the bytes its codec holds, and tells a broken stream from an unreadable file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::format::Codec;
use super::reject::RejectReason;

/// The largest zstd window taken: 2^31 bytes, what `zstd --long=31` writes.
const ZSTD_WINDOW_LOG: u32 = 31;

/// The magic number of a frame that holds a dictionary.
const DICTIONARY_FRAME: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
/// Most bytes of a dictionary; usual ones have about a hundred thousand.
const LONGEST_DICTIONARY: u64 = 16 << 20;

/// A file that counts the bytes taken from it.
struct Counted {
    file: File,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buf)?;
        self.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Opens `path` and unpacks it while reading. `bytes` is the file's size, a hint for buffers; `taken` grows by the
/// bytes read from disk.
pub(crate) fn open(
    path: &Path,
    codec: Codec,
    bytes: u64,
    taken: &Arc<AtomicU64>,
) -> io::Result<Box<dyn Read + Send>> {
    let file = Counted {
        file: File::open(path)?,
        taken: Arc::clone(taken),
    };
    // Small files are many, so that their buffers must be small too.
    let buffer = (bytes as usize).clamp(512, 256 << 10);
    Ok(match codec {
        // Callers read plain files in large pieces; a buffer would only copy.
        Codec::Plain => Box::new(file),
        Codec::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(
            buffer, file,
        ))),
        Codec::Zstd => {
            let mut packed = BufReader::with_capacity(buffer, file);
            let dictionary = dictionary(&mut packed)?;
            // Without a dictionary this is a plain decoder.
            let mut decoder = zstd::Decoder::with_dictionary(packed, &dictionary)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
    })
}

/// The dictionary that a stream begins with, in a frame that decoders skip, itself packed or not; empty if there is none.
/// Web archives keep it there (the WARC-zstd proposal).
fn dictionary(packed: &mut impl BufRead) -> io::Result<Vec<u8>> {
    if !packed.fill_buf()?.starts_with(&DICTIONARY_FRAME) {
        return Ok(Vec::new());
    }
    let mut head = [0; 8];
    packed.read_exact(&mut head)?;
    let [.., a, b, c, d] = head;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if length > LONGEST_DICTIONARY {
        return Err(io::Error::other(format!(
            "its dictionary has {length} bytes, more than {LONGEST_DICTIONARY}"
        )));
    }
    let mut dictionary = Vec::new();
    if packed.take(length).read_to_end(&mut dictionary)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if Codec::of_magic(&dictionary) != Codec::Zstd {
        return Ok(dictionary);
    }
    let mut unpacked = Vec::new();
    zstd::Decoder::new(dictionary.as_slice())?
        .take(LONGEST_DICTIONARY + 1)
        .read_to_end(&mut unpacked)?;
    if unpacked.len() as u64 > LONGEST_DICTIONARY {
        return Err(io::Error::other(format!(
            "its dictionary has more than {LONGEST_DICTIONARY} bytes"
        )));
    }
    Ok(unpacked)
}

/// What an error met while reading means for the rest of the file.
pub(crate) fn reason(error: &io::Error, codec: Codec) -> RejectReason {
    let codec = match codec {
        Codec::Gzip => "gzip",
        Codec::Zstd => "zstd",
        Codec::Plain => {
            return RejectReason::Unreadable {
                message: error.to_string(),
            };
        }
    };
    // The system's own errors carry a number; the decoders' do not.
    if error.raw_os_error().is_some() {
        RejectReason::Unreadable {
            message: error.to_string(),
        }
    } else if error.kind() == io::ErrorKind::UnexpectedEof {
        RejectReason::Truncated { codec }
    } else {
        RejectReason::Corrupt {
            codec,
            message: error.to_string(),
        }
    }
}
