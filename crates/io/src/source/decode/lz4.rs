//! Decompresses files that consist of one or more LZ4 frames.

use std::io::{self, Read};

use lz4_flex::frame::FrameDecoder;

/// Reads LZ4 frames one after the other. The decoder of the library would stop after the first frame, and would accept
/// a file that is truncated between two blocks as complete.
pub(super) struct Lz4Frames<R: Read> {
    decoder: FrameDecoder<EndCounter<R>>,
    /// The number of bytes in the frames that have ended.
    over: u64,
}

/// A reader that counts the bytes read from it, and how often it was read at its end.
struct EndCounter<R> {
    reader: R,
    read: u64,
    met: u64,
}

impl<R: Read> Lz4Frames<R> {
    pub(super) fn new(reader: R) -> Self {
        let reader = EndCounter {
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

impl<R: Read> Read for EndCounter<R> {
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
                // The frame ended with its end mark before the end of the file, so another frame may follow.
                self.over = file.read;
            } else if file.read == self.over {
                return Ok(0);
            } else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
