//! Opens a file as the bytes its codec holds, and tells a broken stream from an unreadable file.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::format::Codec;
use super::reject::RejectReason;

/// The largest zstd window taken: 2^31 bytes, what `zstd --long=31` writes.
const ZSTD_WINDOW_LOG: u32 = 31;

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
            let mut decoder = zstd::Decoder::with_buffer(BufReader::with_capacity(buffer, file))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
    })
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
