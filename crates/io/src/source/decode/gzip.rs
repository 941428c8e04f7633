//! Decompresses gzip files member by member.
//!
//! The decompressed members form one stream. The byte range of a member is recorded as soon as its last byte is
//! returned. Web archives compress each record as one member, so that a kept record can be copied with its compressed
//! bytes. Zeros after a member are padding. Any other bytes that are not a member are reported as [`TrailingBytes`],
//! not as a damaged member.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use flate2::bufread::GzDecoder;

use super::progress::{GzipMember, ReadProgress};

/// The error for bytes after the last gzip member that are not gzip.
#[derive(Debug)]
pub(super) struct TrailingBytes;

impl fmt::Display for TrailingBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes that are not gzip follow")
    }
}

impl std::error::Error for TrailingBytes {}

/// Reads the decompressed bytes of all gzip members of a file.
pub(super) struct Gzip<R> {
    /// The decoder of the current member, or `None` after the last member.
    decoder: Option<GzDecoder<Position<R>>>,
    /// The offset in the file at which the current member starts.
    packed_start: u64,
    /// The offset in the decompressed stream at which the current member starts.
    unpacked_start: u64,
    /// The number of bytes that were decompressed so far.
    unpacked: u64,
    /// One byte that was read ahead, to find out whether the current member has ended. If that read failed, the error
    /// is in `failed`.
    ahead: Option<u8>,
    failed: Option<io::Error>,
    progress: Arc<ReadProgress>,
}

/// A reader that knows how many bytes were read from it.
struct Position<R> {
    reader: R,
    at: u64,
}

impl<R: BufRead> Gzip<R> {
    pub(super) fn new(reader: R, progress: &Arc<ReadProgress>) -> Self {
        Self {
            decoder: Some(GzDecoder::new(Position { reader, at: 0 })),
            packed_start: 0,
            unpacked_start: 0,
            unpacked: 0,
            ahead: None,
            failed: None,
            progress: Arc::clone(progress),
        }
    }

    fn unpack(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let read = decoder.read(buf)?;
            if read > 0 {
                self.unpacked += read as u64;
                return Ok(read);
            }
            self.next_member()?;
        }
        Ok(0)
    }

    /// Records the range of the member that ended, and begins the next member.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(decoder) = self.decoder.take() else {
            return Ok(());
        };
        let mut packed = decoder.into_inner();
        self.progress.member(GzipMember {
            packed: self.packed_start..packed.at,
            unpacked: self.unpacked_start..self.unpacked,
        });
        (self.packed_start, self.unpacked_start) = (packed.at, self.unpacked);
        loop {
            let rest = packed.fill_buf()?;
            match rest.first() {
                None => return Ok(()),
                Some(0x1f) => break,
                Some(0) => {
                    let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
                    packed.consume(zeros);
                    self.packed_start += zeros as u64;
                }
                Some(_) => return Err(io::Error::other(TrailingBytes)),
            }
        }
        self.decoder = Some(GzDecoder::new(packed));
        Ok(())
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let mut filled = 0;
        if let Some(byte) = self.ahead.take() {
            buf[0] = byte;
            filled = 1;
        }
        if self.failed.is_none() && filled < buf.len() {
            match self.unpack(&mut buf[filled..]) {
                Ok(read) => filled += read,
                Err(error) => self.failed = Some(error),
            }
        }
        if filled == 0 {
            return self.failed.take().map_or(Ok(0), Err);
        }
        if self.failed.is_none() {
            let mut next = [0];
            match self.unpack(&mut next) {
                Ok(0) => {}
                Ok(_) => self.ahead = Some(next[0]),
                Err(error) => self.failed = Some(error),
            }
        }
        Ok(filled)
    }
}

impl<R: BufRead> Read for Position<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buf)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Position<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount as u64;
        self.reader.consume(amount);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn member(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(1));
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    proptest! {
        #[test]
        fn members_are_reported_with_their_ranges(
            parts in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..200), 0..3usize), 1..8),
            reads in proptest::collection::vec(1..90usize, 1..9),
            buffer in 1..64usize,
            junk in any::<bool>(),
        ) {
            let (mut file, mut stream, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            for (part, padding) in &parts {
                let packed = member(part);
                expected.push(GzipMember {
                    packed: file.len() as u64..(file.len() + packed.len()) as u64,
                    unpacked: stream.len() as u64..(stream.len() + part.len()) as u64,
                });
                file.extend_from_slice(&packed);
                file.resize(file.len() + padding, 0);
                stream.extend_from_slice(part);
            }
            if junk {
                file.extend_from_slice(b"no gzip");
            }
            let progress = Arc::new(ReadProgress::with_members());
            let file = io::BufReader::with_capacity(buffer, file.as_slice());
            let mut gzip = Gzip::new(file, &progress);
            let (mut read, mut found) = (Vec::new(), Vec::new());
            let mut sizes = reads.iter().cycle();
            let end = loop {
                let mut buf = vec![0; *sizes.next().expect("a cycle")];
                let end = gzip.read(&mut buf);
                found.extend(progress.take_members());
                // A member is reported together with its last byte.
                let complete = expected.iter().take_while(|m| m.unpacked.end <= read.len() as u64).count();
                prop_assert!(found.len() >= complete);
                match end {
                    Ok(0) => break Ok(()),
                    Ok(n) => read.extend_from_slice(&buf[..n]),
                    Err(error) => break Err(error),
                }
            };
            prop_assert_eq!(read, stream);
            prop_assert_eq!(found, expected);
            prop_assert_eq!(end.is_err(), junk);
        }
    }
}
