//! Reads the dictionary that a zstd stream may contain at its start.

use std::io::{self, BufRead, Read};

use crate::source::format::Codec;

/// The magic number of a zstd frame that contains a dictionary.
const DICTIONARY_FRAME: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
/// The largest accepted dictionary, in bytes. Common dictionaries have about a hundred thousand.
const LONGEST_DICTIONARY: u64 = 16 << 20;

/// Reads the dictionary at the start of a stream. Returns an empty vector if the stream has none. The dictionary is
/// stored in a frame that other decoders skip, compressed or uncompressed, as the WARC-zstd proposal specifies for web
/// archives.
pub(super) fn dictionary(packed: &mut impl BufRead) -> io::Result<Vec<u8>> {
    if !packed.fill_buf()?.starts_with(&DICTIONARY_FRAME) {
        return Ok(Vec::new());
    }
    let mut head = [0; 8];
    packed.read_exact(&mut head)?;
    let [.., a, b, c, d] = head;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if length > LONGEST_DICTIONARY {
        return Err(io::Error::other(format!(
            "the zstd dictionary has {length} bytes, more than the limit of {LONGEST_DICTIONARY}"
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
            "the zstd dictionary has more than {LONGEST_DICTIONARY} bytes, which is the limit"
        )));
    }
    Ok(unpacked)
}
