//! Compares the codec that the name of a file states with the first bytes of the file.
//!
//! Without this check, a compressed file with a plain name is rejected for its charset, and an uncompressed file with the
//! name of a compressed one for a damaged stream. Neither message helps.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};

use super::format::Codec;

/// The error of a file that has another codec than its name states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherCodec {
    /// The codec that the name states.
    pub named: Codec,
    /// The codec of the content.
    pub found: Codec,
}

impl fmt::Display for OtherCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (named, found) = (self.named.suffix(), self.found.suffix());
        match (self.named.name(), self.found.name()) {
            (None, Some(codec)) => write!(
                f,
                "the file is compressed with {codec}, but its name does not say so; rename it to end with {found}"
            ),
            (_, Some(codec)) => write!(
                f,
                "the file is compressed with {codec}, but its name says {named}; rename it to end with {found}"
            ),
            (_, None) => write!(
                f,
                "the file is not compressed, but its name says {named}; rename it without {named}"
            ),
        }
    }
}

impl std::error::Error for OtherCodec {}

/// Fails if the content of a file shows that it has another codec than `named`. Bytes that show nothing are accepted, and so is
/// everything that is not a regular file. The position in the file is as before.
///
/// # Errors
/// [`OtherCodec`] as the inner error; the file cannot be read.
pub(super) fn check(file: &mut File, named: Codec) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    let head = first_bytes(&mut *file)?;
    file.rewind()?;
    let other = |found| Err(io::Error::other(OtherCodec { named, found }));
    match Codec::of_magic(&head) {
        found if found == named => Ok(()),
        // Other bytes may be those of a damaged stream, or of a codec in a form that begins otherwise.
        Codec::Plain if matches!(head.first(), Some(b'{' | b'[' | b'<')) => other(Codec::Plain),
        Codec::Plain => Ok(()),
        // A skippable frame, which both formats have.
        Codec::Zstd if named == Codec::Lz4 && head.first() != Some(&0x28) => Ok(()),
        found => other(found),
    }
}

/// Reads the bytes that tell the codec of a file.
pub(super) fn first_bytes(file: impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(Codec::MAGIC);
    file.take(Codec::MAGIC as u64).read_to_end(&mut head)?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn refusal(bytes: &[u8], named: Codec) -> Option<OtherCodec> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        let refused = check(&mut file, named);
        assert_eq!(file.stream_position().unwrap(), 0);
        refused
            .err()
            .map(|error| *error.get_ref().unwrap().downcast_ref().unwrap())
    }

    #[test]
    fn a_file_is_what_its_name_states_unless_its_first_bytes_deny_it() {
        let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1];
        let zstd = [0x28, 0xb5, 0x2f, 0xfd, 4];
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];
        for (bytes, named) in [
            (&gzip[..], Codec::Gzip),
            (&zstd, Codec::Zstd),
            (&skippable, Codec::Zstd),
            (&skippable, Codec::Lz4),
            (b"{\"text\":1}", Codec::Plain),
            (b"", Codec::Gzip),
            (b"\x00damaged", Codec::Gzip),
            (b"BZh91AY&SX", Codec::Bzip2),
        ] {
            assert_eq!(refusal(bytes, named), None, "{bytes:?} {named:?}");
        }
        for (bytes, named, problem) in [
            (
                &gzip[..],
                Codec::Plain,
                "with gzip, but its name does not say so; rename it to end with .gz",
            ),
            (
                &zstd,
                Codec::Lz4,
                "with zstd, but its name says .lz4; rename it to end with .zst",
            ),
            (&gzip, Codec::Xz, "with gzip, but its name says .xz"),
            (
                b"{\"text\":1}",
                Codec::Gzip,
                "not compressed, but its name says .gz; rename it without .gz",
            ),
        ] {
            let refused = refusal(bytes, named).unwrap().to_string();
            assert!(refused.contains(problem), "{refused}");
        }
    }
}
