//! Opens a file as the bytes its codec holds, and tells a broken stream from an unreadable file.

mod gzip;

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lz4_flex::frame::FrameDecoder;

pub use self::gzip::Member;
use self::gzip::{Gzip, Junk};
use super::charset::NotCuttable;
use super::format::Codec;
use super::options::SourceOptions;
use super::reject::RejectReason;

/// The largest zstd window taken: 2^31 bytes, what `zstd --long=31` writes.
const ZSTD_WINDOW_LOG: u32 = 31;
/// The most memory for unpacking an xz stream, in KiB: four times what `xz -9` asks for.
const XZ_MEMORY: u32 = 256 << 10;
/// What every file may unpack to, whatever its size.
const FREE: u64 = 1 << 30;

/// The magic number of a frame that holds a dictionary.
const DICTIONARY_FRAME: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
/// Most bytes of a dictionary; usual ones have about a hundred thousand.
const LONGEST_DICTIONARY: u64 = 16 << 20;

/// The account of a file while it is read.
#[derive(Debug, Default)]
pub struct Told {
    /// Bytes read from disk since they were asked for.
    taken: AtomicU64,
    /// Bytes of the file that were used, by the decoder where it is packed.
    used: AtomicU64,
    /// As many of them as had been used when bytes last came out.
    fruitful: AtomicU64,
    /// Members of gzip, where anybody wants to know.
    members: Option<Mutex<Vec<Member>>>,
}

impl Told {
    /// An account that lists the members of gzip as well.
    pub fn with_members() -> Self {
        Self {
            members: Some(Mutex::default()),
            ..Self::default()
        }
    }

    pub fn take_bytes(&self) -> u64 {
        self.taken.swap(0, Ordering::Relaxed)
    }

    /// Bytes of a file of `bytes` bytes that gave nothing, where reading it ended for `reason`.
    pub fn unread(&self, bytes: u64, reason: &RejectReason) -> u64 {
        let gave = match reason.cause() {
            // Only the beginning was looked at.
            RejectReason::NotCuttable { .. } => 0,
            // The stream before it was whole, its end included.
            RejectReason::Junk => self.used.load(Ordering::Relaxed),
            _ => self.fruitful.load(Ordering::Relaxed),
        };
        bytes.saturating_sub(gave)
    }

    /// The members that ended since they were asked for.
    pub fn take_members(&self) -> Vec<Member> {
        let members = self.members.as_ref().and_then(|members| members.lock().ok());
        members.map_or_else(Vec::new, |mut members| std::mem::take(&mut *members))
    }

    fn member(&self, member: Member) {
        if let Some(Ok(mut members)) = self.members.as_ref().map(Mutex::lock) {
            members.push(member);
        }
    }
}

/// A file that counts the bytes taken from it.
struct Counted {
    file: File,
    told: Arc<Told>,
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buf)?;
        self.told.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// A reader that counts the bytes used of it.
struct Used<R> {
    reader: R,
    bytes: u64,
    told: Arc<Told>,
}

impl<R> Used<R> {
    fn new(reader: R, told: &Arc<Told>) -> Self {
        Self {
            reader,
            bytes: 0,
            told: Arc::clone(told),
        }
    }

    fn note(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.told.used.store(self.bytes, Ordering::Relaxed);
    }
}

impl<R: Read> Read for Used<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buf)?;
        self.note(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Used<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.reader.consume(amount);
        self.note(amount);
    }
}

/// The stream that comes out, which notes how much of the file was used for it.
struct Noted<R> {
    stream: R,
    told: Arc<Told>,
}

fn noted(stream: impl Read + Send + 'static, told: &Arc<Told>) -> Box<dyn Read + Send> {
    Box::new(Noted {
        stream,
        told: Arc::clone(told),
    })
}

impl<R: Read> Read for Noted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buf)?;
        if read > 0 {
            let used = self.told.used.load(Ordering::Relaxed);
            self.told.fruitful.store(used, Ordering::Relaxed);
        }
        Ok(read)
    }
}

/// The limits on unpacking a file.
#[derive(Clone, Copy, Debug)]
pub struct Unpacking {
    /// The largest ratio of a file's unpacked size to its own; 1 GiB is allowed in any case.
    max_ratio: u64,
    /// The bytes that a window or dictionary may take.
    window: u64,
}

impl Default for Unpacking {
    fn default() -> Self {
        Self::of(&SourceOptions::default())
    }
}

impl Unpacking {
    /// No limit on what a file may unpack to, for readers that hold a block at a time.
    pub fn of_any_length() -> Self {
        Self {
            max_ratio: u64::MAX,
            ..Self::default()
        }
    }

    /// The limits of a run.
    pub fn of(options: &SourceOptions) -> Self {
        Self {
            max_ratio: options.max_ratio,
            window: options.most_held,
        }
    }

    /// The logarithm of the largest zstd window. Streams of the usual levels need windows of 8 MiB.
    fn zstd_window(self) -> u32 {
        self.window.max(8 << 20).ilog2().min(ZSTD_WINDOW_LOG)
    }

    /// The most memory for unpacking an xz stream, in KiB.
    fn xz_memory(self) -> u32 {
        u32::try_from(self.window >> 10).map_or(XZ_MEMORY, |kib| kib.clamp(16 << 10, XZ_MEMORY))
    }
}

/// Opens `path` and unpacks it while reading, within `limits`. `bytes` is the file's size; `told` records the course of the reading.
pub fn open(
    path: &Path,
    codec: Codec,
    bytes: u64,
    limits: Unpacking,
    told: &Arc<Told>,
) -> io::Result<Box<dyn Read + Send>> {
    let file = Counted {
        file: File::open(path)?,
        told: Arc::clone(told),
    };
    if codec == Codec::Plain {
        // Callers read plain files in large pieces; a buffer would only copy.
        return Ok(noted(Used::new(file, told), told));
    }
    // Small files are many, so that their buffers must be small too.
    let buffered = BufReader::with_capacity((bytes as usize).clamp(512, 256 << 10), file);
    let file = Used::new(buffered, told);
    let stream: Box<dyn Read + Send> = match codec {
        Codec::Plain => Box::new(file),
        Codec::Gzip => Box::new(Gzip::new(file, told)),
        Codec::Zstd => {
            let mut packed = file;
            let dictionary = dictionary(&mut packed)?;
            // Without a dictionary this is a plain decoder.
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
    let most = FREE.max(bytes.saturating_mul(limits.max_ratio));
    let bounded = Bounded {
        stream,
        left: most,
        most,
        max_ratio: limits.max_ratio,
    };
    Ok(noted(bounded, told))
}

/// A stream that must not grow beyond what its file is worth.
struct Bounded {
    stream: Box<dyn Read + Send>,
    left: u64,
    most: u64,
    max_ratio: u64,
}

impl Read for Bounded {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buf)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => {
                self.left = left;
                Ok(read)
            }
            None => Err(io::Error::other(Swells {
                bytes: self.most,
                ratio: self.max_ratio,
            })),
        }
    }
}

/// A packed file holds more than it may.
#[derive(Debug)]
struct Swells {
    bytes: u64,
    ratio: u64,
}

impl fmt::Display for Swells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} bytes", self.bytes)
    }
}

impl std::error::Error for Swells {}

/// LZ4 frames one after the other. The decoder alone takes a file cut off between two blocks for a whole one, and
/// stops after the first frame.
struct Lz4Frames<R: Read> {
    decoder: FrameDecoder<Ends<R>>,
    /// Bytes of the frames that are over.
    over: u64,
}

/// A reader that knows how far it was read, and how often its end was met.
struct Ends<R> {
    reader: R,
    read: u64,
    met: u64,
}

impl<R: Read> Lz4Frames<R> {
    fn new(reader: R) -> Self {
        let reader = Ends {
            reader,
            read: 0,
            met: 0,
        };
        Self {
            decoder: FrameDecoder::new(reader),
            over: 0,
        }
    }
}

impl<R: Read> Read for Ends<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buf)?;
        self.read += read as u64;
        self.met += u64::from(read == 0 && !buf.is_empty());
        Ok(read)
    }
}

impl<R: Read> Read for Lz4Frames<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let met = self.decoder.get_ref().met;
            let read = self.decoder.read(buf)?;
            if read > 0 || buf.is_empty() {
                return Ok(read);
            }
            let file = self.decoder.get_ref();
            if file.met == met {
                // A frame ended by its own mark; another may follow.
                self.over = file.read;
            } else if file.read == self.over {
                return Ok(0);
            } else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
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
pub fn reason(error: &io::Error, codec: Codec) -> RejectReason {
    let unreadable = || RejectReason::Unreadable {
        message: error.to_string(),
    };
    let inner = error.get_ref();
    if let Some(&NotCuttable { charset, extension }) = inner.and_then(|e| e.downcast_ref()) {
        return RejectReason::NotCuttable { charset, extension };
    }
    if let Some(&Swells { bytes, ratio }) = inner.and_then(|e| e.downcast_ref()) {
        return RejectReason::Swells { bytes, ratio };
    }
    if inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<Junk>) {
        return RejectReason::Junk;
    }
    let Some(codec) = codec.name() else {
        return unreadable();
    };
    // The system's own errors carry a number; the decoders' do not.
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
