//! Detects the charset of a file from its beginning, and converts UTF-16 to UTF-8 while it is read.
//!
//! Records are separated and copied as bytes. This works for every charset in which ASCII characters are encoded as
//! ASCII bytes. UTF-16 is no such charset. It is converted when it is read and converted back when it is written,
//! without loss (see [`utf16`]).

pub(super) mod utf16;

use std::fmt;
use std::io::{self, Read};

use twinprint_text::charset::{Charset, Hints, MAX_GUESS_BYTES, detect};

use self::utf16::FromUtf16;
use super::byte_stream::ByteStream;
use super::format::Format;
use super::options::SourceOptions;

/// The content of a file whose charset was detected.
pub(super) struct DetectedStream {
    /// The bytes of the file. UTF-16 is converted to UTF-8.
    pub stream: Box<dyn ByteStream>,
    /// The charset of the file.
    pub charset: Charset,
    /// The charset of the bytes in `stream`. It differs from `charset` if the file is UTF-16.
    pub read_as: Charset,
}

/// The charset that the options or the format prescribe. JSON is UTF-8 by its standard. `None` means that the charset
/// must be detected.
fn declared(format: Format, options: &SourceOptions) -> Option<&str> {
    let given = options.charset.map(Charset::name);
    given.or(matches!(format, Format::Jsonl | Format::Json).then_some("utf-8"))
}

/// The hints from which the charset of a whole text is detected.
pub(super) fn hints(format: Format, options: &SourceOptions) -> Hints<'_> {
    Hints {
        declared: declared(format, options),
        domain: None,
    }
}

/// Detects the charset of a file from its first bytes, which remain part of the returned stream.
pub(super) fn detect_stream(
    mut stream: Box<dyn ByteStream>,
    format: Format,
    options: &SourceOptions,
) -> DetectedStream {
    if format == Format::Warc {
        // A web archive has no single charset: each of its records has its own.
        return DetectedStream {
            stream,
            charset: Charset::UTF_8,
            read_as: Charset::UTF_8,
        };
    }
    let mut head = Vec::new();
    let failed = stream.append_to(&mut head, MAX_GUESS_BYTES as u64).err();
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
    let stream: Box<dyn ByteStream> = if cuttable {
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

/// Returns true if files of this charset are converted to UTF-8 while they are read. These are the files in UTF-16.
pub(super) fn is_recoded(charset: Charset) -> bool {
    charset == Charset::UTF_16LE || charset == Charset::UTF_16BE
}

/// The error for a file whose records cannot be separated, because its charset does not encode ASCII characters as
/// ASCII bytes.
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

/// A stream whose first bytes were already read. They are returned again before the rest.
struct PrefixedStream {
    head: io::Cursor<Vec<u8>>,
    /// The error that occurred after the first bytes. It is returned after them.
    failed: Option<io::Error>,
    stream: Box<dyn ByteStream>,
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

impl ByteStream for PrefixedStream {
    fn append_to(&mut self, bytes: &mut Vec<u8>, most: u64) -> io::Result<usize> {
        let from_head = self.head.by_ref().take(most).read_to_end(bytes)?;
        let left = most - from_head as u64;
        if left == 0 {
            return Ok(from_head);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(from_head + self.stream.append_to(bytes, left)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_come_before_the_error_and_the_rest() {
        let mut stream = PrefixedStream {
            head: io::Cursor::new(b"head".to_vec()),
            failed: Some(io::Error::other("broken")),
            stream: Box::new(io::Cursor::new(b"rest".to_vec())),
        };
        let mut bytes = b">".to_vec();
        assert_eq!(stream.append_to(&mut bytes, 3).unwrap(), 3);
        assert_eq!(stream.append_to(&mut bytes, 1).unwrap(), 1);
        assert_eq!(stream.append_to(&mut bytes, 2).unwrap_err().to_string(), "broken");
        assert_eq!(stream.append_to(&mut bytes, 3).unwrap(), 3);
        assert_eq!(stream.append_to(&mut bytes, 3).unwrap(), 1);
        assert_eq!(bytes, b">headrest");
    }
}
