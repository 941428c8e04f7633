//! Detects the charset of a stream, and recodes UTF-16 while it is read.
//!
//! Records are split and copied as bytes, which works for every charset in which ASCII bytes stand for themselves. UTF-16
//! is not one of them, so it is recoded while reading, and recoded back while writing. Nothing is lost (see [`utf16`]).

pub(super) mod utf16;

use std::fmt;
use std::io::{self, Read};

use twinprint_text::charset::{Charset, Hints, MAX_GUESS_BYTES, detect};

use self::utf16::FromUtf16;
use super::format::Format;
use super::options::SourceOptions;

/// A stream whose charset is known.
pub(super) struct DetectedStream {
    /// The bytes of the file, recoded to UTF-8 if it is UTF-16.
    pub stream: Box<dyn Read + Send>,
    /// The charset of the file.
    pub charset: Charset,
    /// The charset of the bytes of the stream.
    pub read_as: Charset,
}

/// The charset that the options or the format declare: JSON is UTF-8 by its standard.
fn declared(format: Format, options: &SourceOptions) -> Option<&str> {
    let given = options.charset.map(Charset::name);
    given.or(matches!(format, Format::Jsonl | Format::Json).then_some("utf-8"))
}

/// The hints for decoding a whole text.
pub(super) fn hints(format: Format, options: &SourceOptions) -> Hints<'_> {
    Hints {
        declared: declared(format, options),
        domain: None,
    }
}

/// Detects the charset of a stream from its beginning.
pub(super) fn detect_stream(
    mut stream: Box<dyn Read + Send>,
    format: Format,
    options: &SourceOptions,
) -> DetectedStream {
    if format == Format::Warc {
        // Each record of a web archive has its own charset.
        return DetectedStream {
            stream,
            charset: Charset::UTF_8,
            read_as: Charset::UTF_8,
        };
    }
    let mut head = Vec::new();
    let failed = stream
        .by_ref()
        .take(MAX_GUESS_BYTES as u64)
        .read_to_end(&mut head)
        .err();
    let charset = detect(&head, hints(format, options));
    let read_as = if charset.keeps_ascii() {
        charset
    } else {
        Charset::UTF_8
    };
    let stream = PrefixedStream {
        head: io::Cursor::new(head),
        failed,
        stream,
    };
    let cuttable = match format {
        Format::Json => charset.keeps_backslash(),
        _ => charset.keeps_ascii(),
    };
    let stream: Box<dyn Read + Send> = if cuttable {
        Box::new(stream)
    } else if is_recoded(charset) {
        Box::new(FromUtf16::new(stream, charset))
    } else {
        let refused = NotCuttable {
            charset,
            extension: format.extension(),
        };
        Box::new(PrefixedStream {
            head: io::Cursor::default(),
            failed: Some(io::Error::other(refused)),
            stream: Box::new(io::empty()),
        })
    };
    DetectedStream {
        stream,
        charset,
        read_as,
    }
}

/// True if streams of this charset are recoded while they are read.
pub(super) fn is_recoded(charset: Charset) -> bool {
    charset == Charset::UTF_16LE || charset == Charset::UTF_16BE
}

/// The error for a stream whose records cannot be separated in its charset, and which is not recoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct NotCuttable {
    pub(super) charset: Charset,
    pub(super) extension: &'static str,
}

impl fmt::Display for NotCuttable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "records in {} cannot be told apart", self.charset)
    }
}

impl std::error::Error for NotCuttable {}

/// A stream whose beginning was already read.
struct PrefixedStream {
    head: io::Cursor<Vec<u8>>,
    /// The error that followed the beginning.
    failed: Option<io::Error>,
    stream: Box<dyn Read + Send>,
}

impl Read for PrefixedStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.head.read(buf)? {
            0 => {}
            read => return Ok(read),
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.stream.read(buf),
        }
    }
}
