//! Converts UTF-16 to bytes in which records can be separated, and converts them back without loss.
//!
//! Valid text becomes UTF-8. Each invalid part becomes bytes that are not valid UTF-8, so that only the record that
//! contains it is rejected. An unpaired surrogate becomes the three bytes that encode its number by the scheme of UTF-8
//! (as in WTF-8). An odd last byte becomes [`STRAY_BYTE_MARK`] followed by two bytes with four bits each. Every
//! sequence of bytes can be restored from its converted form. A byte that separates records, such as a line feed, only
//! results from that character itself.

use std::io::{self, Read};

use twinprint_text::charset::Charset;

use crate::source::byte_stream::ByteStream;
use crate::source::reject::RejectReason;

/// The number of bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;
/// Marks an odd last byte, which is only half of a UTF-16 unit. Two bytes follow, each with four of its bits.
const STRAY_BYTE_MARK: u8 = 0xff;
/// The first byte of a converted unpaired surrogate.
const SURROGATE_LEAD_BYTE: u8 = 0xed;
/// The fixed high bits of a UTF-8 continuation byte.
const CONTINUATION_MARK: u8 = 0x80;

/// Reads UTF-16 and returns it in converted form. A byte order mark is converted like other characters.
pub(super) struct FromUtf16<R> {
    stream: R,
    unit: fn([u8; 2]) -> u16,
    /// The bytes that were read but not converted yet. Between reads they are less than one character.
    waiting: Vec<u8>,
    recoded: io::Cursor<Vec<u8>>,
    /// `Some` once the stream has ended. It contains the error that ended the stream until that error has been
    /// returned.
    end: Option<io::Result<()>>,
}

impl<R: Read> FromUtf16<R> {
    pub(super) fn new(stream: R, charset: Charset) -> Self {
        Self {
            stream,
            unit: if charset == Charset::UTF_16BE {
                u16::from_be_bytes
            } else {
                u16::from_le_bytes
            },
            waiting: Vec::new(),
            recoded: io::Cursor::default(),
            end: None,
        }
    }

    /// Reads and converts more bytes. Returns false at the end of the stream.
    fn refill(&mut self) -> io::Result<bool> {
        if let Some(end) = &mut self.end {
            return std::mem::replace(end, Ok(())).map(|()| false);
        }
        let held = self.waiting.len();
        self.waiting.resize(held + READ_BYTES, 0);
        let read = self.stream.read(&mut self.waiting[held..]);
        self.waiting
            .truncate(held + read.as_ref().map_or(0, |&read| read));
        match read {
            Ok(0) => self.end = Some(Ok(())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            // The bytes before the error are converted and returned before the error.
            Err(error) => self.end = Some(Err(error)),
        }
        let mut recoded = std::mem::take(&mut self.recoded).into_inner();
        recoded.clear();
        let used = recode(&self.waiting, self.unit, self.end.is_some(), &mut recoded);
        self.waiting.drain(..used);
        self.recoded = io::Cursor::new(recoded);
        Ok(true)
    }
}

impl<R: Read> Read for FromUtf16<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.recoded.read(buf)?;
            if read > 0 || buf.is_empty() || !self.refill()? {
                return Ok(read);
            }
        }
    }
}

impl<R: Read + Send> ByteStream for FromUtf16<R> {}

/// Appends `bytes` in converted form to `out` and returns the number of bytes converted. An incomplete character at the
/// end is not converted unless `last` is true, because more bytes may follow.
fn recode(bytes: &[u8], unit: fn([u8; 2]) -> u16, last: bool, out: &mut Vec<u8>) -> usize {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut used = 0;
    let mut encoded = [0; 4];
    for decoded in char::decode_utf16(pairs.iter().map(|&pair| unit(pair))) {
        match decoded {
            Ok(c) => {
                used += 2 * c.len_utf16();
                out.extend_from_slice(c.encode_utf8(&mut encoded).as_bytes());
            }
            Err(half) => {
                let half = half.unpaired_surrogate();
                if !last && used + 2 == 2 * pairs.len() && half < 0xdc00 {
                    return used;
                }
                used += 2;
                out.extend_from_slice(&[
                    SURROGATE_LEAD_BYTE,
                    CONTINUATION_MARK | (half >> 6 & 0x3f) as u8,
                    CONTINUATION_MARK | (half & 0x3f) as u8,
                ]);
            }
        }
    }
    if let (true, Some(byte)) = (last, odd.first()) {
        used += 1;
        out.extend_from_slice(&[
            STRAY_BYTE_MARK,
            CONTINUATION_MARK | byte >> 4,
            CONTINUATION_MARK | byte & 0xf,
        ]);
    }
    used
}

/// The fault that converted bytes which are not UTF-8 stand for: an unpaired surrogate or an odd last byte.
enum RecodedUnit {
    Half(u16),
    Odd(u8),
}

impl RecodedUnit {
    /// Decodes the bytes at the start of `recoded`. Returns `None` if they stand for neither an unpaired surrogate nor
    /// an odd last byte.
    fn at_start(recoded: &[u8]) -> Option<Self> {
        let &[
            first,
            high @ CONTINUATION_MARK..=0xbf,
            low @ CONTINUATION_MARK..=0xbf,
        ] = recoded.first_chunk()?
        else {
            return None;
        };
        let (high, low) = (high & 0x3f, low & 0x3f);
        match first {
            SURROGATE_LEAD_BYTE => Some(Self::Half(0xd000 | u16::from(high) << 6 | u16::from(low))),
            STRAY_BYTE_MARK => Some(Self::Odd(high << 4 | low)),
            _ => None,
        }
    }
}

/// Converts `recoded` back to the UTF-16 that it was read from and appends that to `out`. Bytes that the conversion
/// from UTF-16 never produces are omitted.
pub fn to_utf16(recoded: &[u8], charset: Charset, out: &mut Vec<u8>) {
    let bytes = if charset == Charset::UTF_16BE {
        u16::to_be_bytes
    } else {
        u16::to_le_bytes
    };
    let mut at = 0;
    for chunk in recoded.utf8_chunks() {
        out.extend(chunk.valid().encode_utf16().flat_map(bytes));
        at += chunk.valid().len();
        match RecodedUnit::at_start(recoded.get(at..).unwrap_or_default()) {
            Some(RecodedUnit::Half(unit)) => out.extend(bytes(unit)),
            Some(RecodedUnit::Odd(byte)) => out.push(byte),
            None => {}
        }
        at += chunk.invalid().len();
    }
}

/// Returns the number of bytes of UTF-16 that converted bytes stand for. Each character is counted at its first byte.
pub(crate) fn stored_bytes(recoded: &[u8]) -> u64 {
    let bytes = |&byte: &u8| match byte {
        CONTINUATION_MARK..=0xbf => 0,
        0xf0..STRAY_BYTE_MARK => 4,
        STRAY_BYTE_MARK => 1,
        _ => 2,
    };
    recoded.iter().map(bytes).sum()
}

/// Returns the reason why a record that was converted from UTF-16 is not text, or `None` if it is text.
pub(crate) fn no_text(recoded: &[u8], charset: Charset) -> Option<RejectReason> {
    let valid = std::str::from_utf8(recoded).err()?.valid_up_to();
    let (before, rest) = recoded.split_at(valid);
    let offset = stored_bytes(before) + 1;
    match RecodedUnit::at_start(rest)? {
        RecodedUnit::Half(unit) => Some(RejectReason::LoneUnit {
            charset,
            offset,
            unit,
        }),
        RecodedUnit::Odd(_) => Some(RejectReason::OddByte { charset, offset }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes of UTF-16, in which some units are lone surrogates.
    fn units() -> impl Strategy<Value = Vec<u8>> {
        let unit = prop_oneof![
            3 => any::<u16>(),
            3 => 0x20u16..0x80,
            2 => 0xd800u16..0xdc00,
            2 => 0xdc00u16..0xe000,
        ];
        (prop::collection::vec(unit, 0..60), any::<Option<u8>>()).prop_map(|(units, odd)| {
            let bytes = units.iter().flat_map(|unit| unit.to_le_bytes());
            bytes.chain(odd).collect()
        })
    }

    /// A reader that returns a few bytes at a time.
    struct SlowReader<'a>(&'a [u8], usize);

    impl Read for SlowReader<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(buf.len());
            self.0.read(&mut buf[..most])
        }
    }

    proptest! {
        #[test]
        fn every_stream_is_restored(bytes in units(), big in any::<bool>(), step in 1..9usize) {
            let charset = if big { Charset::UTF_16BE } else { Charset::UTF_16LE };
            let mut recoded = Vec::new();
            FromUtf16::new(SlowReader(&bytes, step), charset).read_to_end(&mut recoded).unwrap();
            let mut restored = Vec::new();
            to_utf16(&recoded, charset, &mut restored);
            prop_assert_eq!(&restored, &bytes);
            prop_assert_eq!(stored_bytes(&recoded), bytes.len() as u64);
            let is_text = charset.decode(&bytes).is_ok();
            prop_assert_eq!(std::str::from_utf8(&recoded).is_ok(), is_text);
            prop_assert_eq!(no_text(&recoded, charset).is_none(), is_text);
        }
    }

    #[test]
    fn undecodable_units_are_reported_with_their_offset() {
        let reason = |bytes: &[u8]| {
            let mut recoded = Vec::new();
            FromUtf16::new(bytes, Charset::UTF_16LE)
                .read_to_end(&mut recoded)
                .unwrap();
            no_text(&recoded, Charset::UTF_16LE)
        };
        assert_eq!(
            reason(b"a\0\x3d\xd8\x00\xde\0\xdcb\0"),
            Some(RejectReason::LoneUnit {
                charset: Charset::UTF_16LE,
                offset: 7,
                unit: 0xdc00
            })
        );
        assert_eq!(
            reason(b"a\0b"),
            Some(RejectReason::OddByte {
                charset: Charset::UTF_16LE,
                offset: 3
            })
        );
    }
}
