//! Tells the charset of a stream, and turns UTF-16 into UTF-8 while it is read.
//!
//! Records are cut and copied as bytes, which works for every charset in which ASCII bytes stand for themselves. UTF-16
//! is none of them, so that it is recoded while reading, and back while writing, which loses nothing.

use std::io::{self, Read};

use text::charset::{Charset, GUESSED_FROM, Hints, Undecodable, detect};

use super::format::Format;
use super::options::SourceOptions;

/// A stream whose charset is known.
pub(crate) struct Told {
    /// Its bytes; UTF-8 where it was UTF-16.
    pub(crate) stream: Box<dyn Read + Send>,
    /// What the file is in.
    pub(crate) charset: Charset,
    /// What the bytes of the stream are in.
    pub(crate) read_as: Charset,
}

/// What a file of this format is in, if it is not said by a mark and cannot be guessed: JSON is UTF-8 by its standard.
fn declared(format: Format, options: &SourceOptions) -> Option<&str> {
    let given = options.charset.map(Charset::name);
    given.or(matches!(format, Format::Jsonl | Format::Json).then_some("utf-8"))
}

/// What a whole text is decoded by.
pub(crate) fn hints(format: Format, options: &SourceOptions) -> Hints<'_> {
    Hints {
        declared: declared(format, options),
        domain: None,
    }
}

/// Tells the charset of a stream from its beginning.
pub(crate) fn told(mut stream: Box<dyn Read + Send>, format: Format, options: &SourceOptions) -> Told {
    if format == Format::Warc {
        // Each of its records has a charset of its own.
        return Told {
            stream,
            charset: Charset::UTF_8,
            read_as: Charset::UTF_8,
        };
    }
    let mut head = Vec::new();
    let failed = stream
        .by_ref()
        .take(GUESSED_FROM as u64)
        .read_to_end(&mut head)
        .err();
    let charset = detect(&head, hints(format, options));
    let read_as = if charset.keeps_ascii() {
        charset
    } else {
        Charset::UTF_8
    };
    let stream = Headed {
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
    } else if charset != Charset::UTF_16LE && charset != Charset::UTF_16BE {
        let message = format!(
            "the records of a .{} file in {charset} cannot be told apart; convert it to UTF-8 (iconv -f {charset} -t UTF-8)",
            format.extension()
        );
        Box::new(Headed {
            head: io::Cursor::default(),
            failed: Some(io::Error::other(message)),
            stream: Box::new(io::empty()),
        })
    } else {
        Box::new(FromUtf16 {
            stream,
            charset,
            pair: if charset == Charset::UTF_16BE {
                u16::from_be_bytes
            } else {
                u16::from_le_bytes
            },
            packed: Vec::new(),
            taken: 0,
            text: io::Cursor::default(),
        })
    };
    Told {
        stream,
        charset,
        read_as,
    }
}

/// A stream of which the beginning was read before.
struct Headed {
    head: io::Cursor<Vec<u8>>,
    /// What was met after it.
    failed: Option<io::Error>,
    stream: Box<dyn Read + Send>,
}

impl Read for Headed {
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

/// Bytes recoded at a time.
const BUFFER: usize = 64 << 10;

/// A stream of UTF-16 read as UTF-8. A mark is recoded like other characters.
struct FromUtf16<R> {
    stream: R,
    charset: Charset,
    pair: fn([u8; 2]) -> u16,
    /// Bytes that are not recoded yet: less than a character after a reading.
    packed: Vec<u8>,
    /// Bytes recoded so far.
    taken: u64,
    text: io::Cursor<Vec<u8>>,
}

impl<R: Read> FromUtf16<R> {
    /// Recodes more; whether there was more.
    fn refill(&mut self) -> io::Result<bool> {
        let held = self.packed.len();
        self.packed.resize(held + BUFFER, 0);
        let read = self.stream.read(&mut self.packed[held..]);
        self.packed.truncate(held + read.as_ref().map_or(0, |&read| read));
        let read = read?;
        let mut text = String::new();
        let (pairs, odd) = self.packed.as_chunks::<2>();
        let mut used = 0;
        for unit in char::decode_utf16(pairs.iter().map(|&pair| (self.pair)(pair))) {
            let Ok(c) = unit else { break };
            used += 2 * c.len_utf16();
            text.push(c);
        }
        // A last half of a character waits for the other one.
        let rest = self.packed.len() - used;
        let waits = read > 0 && rest <= 2 + odd.len();
        if text.is_empty() && rest > 0 && !waits {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                Undecodable {
                    charset: self.charset,
                    offset: self.taken + 1,
                    byte: self.packed[0],
                },
            ));
        }
        self.taken += used as u64;
        self.packed.drain(..used);
        self.text = io::Cursor::new(text.into_bytes());
        Ok(read > 0 || used > 0)
    }
}

impl<R: Read> Read for FromUtf16<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.text.read(buf)?;
            if read > 0 || buf.is_empty() || !self.refill()? {
                return Ok(read);
            }
        }
    }
}

/// UTF-8 text as the UTF-16 it was read from. Bytes that are no text, which a file read as UTF-16 has none of, are
/// left out.
pub(crate) fn to_utf16(text: &[u8], charset: Charset, out: &mut Vec<u8>) {
    let bytes = if charset == Charset::UTF_16BE {
        u16::to_be_bytes
    } else {
        u16::to_le_bytes
    };
    for chunk in text.utf8_chunks() {
        out.extend(chunk.valid().encode_utf16().flat_map(bytes));
    }
}
