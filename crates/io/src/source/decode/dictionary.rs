//! The dictionary of a zstd stream that carries its own.

use std::io::{self, BufRead, Read};

use crate::source::format::Codec;

/// The magic number of a frame that holds a dictionary.
const DICTIONARY_FRAME: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
/// The maximum number of bytes of a dictionary. Usual ones have about a hundred thousand.
const LONGEST_DICTIONARY: u64 = 16 << 20;

/// The dictionary at the start of a stream; empty if there is none. It is in a frame that decoders skip, packed or
/// plain, as in web archives (the WARC-zstd proposal).
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
