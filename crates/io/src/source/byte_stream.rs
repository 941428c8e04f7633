//! Streams that append their bytes to a vector.

use std::io::{self, Read};

/// A stream whose bytes are appended to a vector.
///
/// An uncompressed file writes to the vector's spare memory. A stream that only implements `Read::read` gets a slice, which the
/// standard library must fill with zeros first, so the default method takes longer.
pub trait ByteStream: Read + Send {
    /// Appends `most` bytes to `bytes`, or fewer if the stream ends. Returns their number.
    ///
    /// # Errors
    /// The stream cannot be read. The bytes that were read before are in `bytes`.
    fn append_to(&mut self, bytes: &mut Vec<u8>, most: u64) -> io::Result<usize> {
        self.take(most).read_to_end(bytes)
    }
}

impl ByteStream for io::Empty {}
impl ByteStream for io::Cursor<Vec<u8>> {}

impl<S: ByteStream + ?Sized> ByteStream for Box<S> {
    fn append_to(&mut self, bytes: &mut Vec<u8>, most: u64) -> io::Result<usize> {
        (**self).append_to(bytes, most)
    }
}
