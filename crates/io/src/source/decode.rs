//! Opens files and decompresses them while they are read. Distinguishes a damaged file from one that cannot be read.

mod dictionary;
mod gzip;
mod limits;
mod lz4;
mod progress;

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use self::dictionary::dictionary;
use self::gzip::{Gzip, TrailingBytes};
pub use self::limits::UnpackLimits;
use self::lz4::Lz4Frames;
use self::progress::{CountedFile, PlainFile, UsedBytes, noted};
pub use self::progress::{GzipMember, ReadProgress};
use super::byte_stream::ByteStream;
use super::charset::NotCuttable;
use super::codec_check::{self, OtherCodec};
use super::format::Codec;
use super::reject::RejectReason;

/// The decompressed size that is allowed for every file, even if it exceeds the allowed ratio to the compressed size.
const UNLIMITED_RATIO_BYTES: u64 = 1 << 30;

/// Like [`open`], for a file whose name states the codec.
///
/// # Errors
/// The same as for [`open`]; the content of the file shows [another codec](OtherCodec).
pub(super) fn open_as_named(
    mut file: File,
    codec: Codec,
    bytes: u64,
    limits: UnpackLimits,
    progress: &Arc<ReadProgress>,
) -> io::Result<Box<dyn ByteStream>> {
    codec_check::check(&mut file, codec)?;
    open(file, codec, bytes, limits, progress)
}

/// Decompresses a file while it is read, within `limits`. `bytes` is the size of the file on disk. The bytes read are counted
/// in `progress`.
///
/// # Errors
/// The zstd dictionary of the file cannot be read. Errors that the stream returns later can be
/// converted to reject reasons with [`reason`].
pub fn open(
    file: File,
    codec: Codec,
    bytes: u64,
    limits: UnpackLimits,
    progress: &Arc<ReadProgress>,
) -> io::Result<Box<dyn ByteStream>> {
    if codec == Codec::Plain {
        // An uncompressed file is not buffered: callers read it in large pieces, so a buffer would only add a copy.
        return Ok(Box::new(PlainFile::new(file, progress)));
    }
    let file = CountedFile::new(file, progress);
    // The buffer is not larger than the file, because small files are often numerous.
    let buffered = BufReader::with_capacity((bytes as usize).clamp(512, 256 << 10), file);
    let file = UsedBytes::new(buffered, progress);
    let stream: Box<dyn Read + Send> = match codec {
        Codec::Plain => Box::new(file),
        Codec::Gzip => Box::new(Gzip::new(file, progress)),
        Codec::Zstd => {
            let mut packed = file;
            let dictionary = dictionary(&mut packed)?;
            // Without a dictionary this is the same as a plain decoder.
            let mut decoder = zstd::Decoder::with_dictionary(packed, &dictionary)?;
            decoder.window_log_max(limits.zstd_window())?;
            Box::new(decoder)
        }
        Codec::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
        Codec::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(
            file,
            true,
            limits.xz_memory(),
        )),
        Codec::Lz4 => Box::new(Lz4Frames::new(file)),
    };
    let most = UNLIMITED_RATIO_BYTES.max(bytes.saturating_mul(limits.max_ratio));
    let bounded = LimitedStream {
        stream,
        left: most,
        most,
        max_ratio: limits.max_ratio,
    };
    Ok(noted(bounded, progress))
}

/// A stream that returns an error once it exceeds the decompressed size that is allowed for its file.
struct LimitedStream {
    stream: Box<dyn Read + Send>,
    left: u64,
    most: u64,
    max_ratio: u64,
}

impl Read for LimitedStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buf)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => {
                self.left = left;
                Ok(read)
            }
            None => Err(io::Error::other(UnpackedTooLarge {
                bytes: self.most,
                ratio: self.max_ratio,
            })),
        }
    }
}

/// The error of a file that decompresses to more bytes than are allowed.
#[derive(Debug)]
struct UnpackedTooLarge {
    bytes: u64,
    ratio: u64,
}

impl fmt::Display for UnpackedTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} bytes", self.bytes)
    }
}

impl std::error::Error for UnpackedTooLarge {}

/// Returns the reason to reject the rest of a file after `error` occurred while it was read.
pub fn reason(error: &io::Error, codec: Codec) -> RejectReason {
    let unreadable = || RejectReason::Unreadable {
        message: error.to_string(),
    };
    let inner = error.get_ref();
    if let Some(&NotCuttable { charset, extension }) = inner.and_then(|e| e.downcast_ref()) {
        return RejectReason::NotCuttable { charset, extension };
    }
    if let Some(&other) = inner.and_then(|e| e.downcast_ref::<OtherCodec>()) {
        return RejectReason::OtherCodec(other);
    }
    if let Some(&UnpackedTooLarge { bytes, ratio }) = inner.and_then(|e| e.downcast_ref()) {
        return RejectReason::Swells { bytes, ratio };
    }
    if inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<TrailingBytes>) {
        return RejectReason::Junk;
    }
    let Some(codec) = codec.name() else {
        return unreadable();
    };
    // Errors of the system have an error number, and errors of decoders have none.
    if error.raw_os_error().is_some() {
        unreadable()
    } else if error.kind() == io::ErrorKind::UnexpectedEof {
        RejectReason::Truncated { codec }
    } else {
        RejectReason::Corrupt {
            codec,
            message: error.to_string(),
        }
    }
}
