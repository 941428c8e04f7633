//! Detection and decoding of charsets.
//!
//! The charset is taken from, in order of trust: a byte order mark, a declaration, valid UTF-8, and a guess from the
//! bytes. The guess reads a bounded range of bytes, which may end within a character. [`decode`] never replaces invalid
//! bytes: they are an error. Replacement could make two different texts equal. UTF-8 text with a few damaged bytes is
//! still read as UTF-8.

use std::borrow::Cow;
use std::fmt;
use std::str::from_utf8;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding};

#[cfg(test)]
mod tests;

/// The maximum number of bytes that a guess reads. It begins to read a little before the first byte that is not ASCII.
pub const MAX_GUESS_BYTES: usize = 64 << 10;
/// Bytes with more than one control character in this number of bytes are binary, not text.
const MIN_BYTES_PER_CONTROL: usize = 50;
/// Number of ASCII bytes that a guess also reads before the first byte that is not ASCII.
const GUESS_CONTEXT_BYTES: usize = 64;

/// A charset of the WHATWG Encoding Standard.
///
/// ```
/// use twinprint_text::charset::Charset;
///
/// let gbk = Charset::named("gb2312").ok_or("unknown charset")?;
/// assert_eq!(gbk.name(), "GBK");
/// assert_eq!(gbk.decode(b"\xd6\xd0\xce\xc4")?, "中文");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Charset(&'static Encoding);

/// Knowledge about the charset of a text apart from its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints<'a> {
    /// A charset named by the user, a protocol or the markup. An unknown name is ignored. A byte order mark in the
    /// bytes takes precedence over this name.
    pub declared: Option<&'a str>,
    /// The top-level domain that the text comes from, such as `cn`. It makes the guess more reliable.
    pub domain: Option<&'a str>,
}

/// An error for bytes that are invalid in their charset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset} ({byte:#04x}) is not {charset}")]
pub struct Undecodable {
    /// The charset in which the bytes are invalid.
    pub charset: Charset,
    /// Position of the first byte of the first invalid character; the first byte of the text is 1.
    pub offset: u64,
    /// First byte of the first invalid character.
    pub byte: u8,
}

impl Charset {
    /// UTF-8.
    pub const UTF_8: Self = Self(encoding_rs::UTF_8);
    /// UTF-16, the low byte first.
    pub const UTF_16LE: Self = Self(encoding_rs::UTF_16LE);
    /// UTF-16, the high byte first.
    pub const UTF_16BE: Self = Self(encoding_rs::UTF_16BE);

    /// Finds a charset by a label that browsers understand, such as `gbk`, `latin1` or `Shift_JIS`. `None` if the label
    /// is unknown.
    pub fn named(label: &str) -> Option<Self> {
        Encoding::for_label_no_replacement(label.as_bytes()).map(Self)
    }

    /// The name of the charset in the Encoding Standard.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns `true` if the charset is compatible with ASCII: every ASCII byte that is not part of a multi-byte
    /// character stands for that ASCII character, and the bytes of line feeds, commas, semicolons and double quotes
    /// never occur within multi-byte characters. Lines and fields can then be split before decoding.
    pub fn keeps_ascii(self) -> bool {
        self.0 != encoding_rs::UTF_16LE
            && self.0 != encoding_rs::UTF_16BE
            && self.0 != encoding_rs::ISO_2022_JP
    }

    /// Returns `true` if [`keeps_ascii`](Self::keeps_ascii) holds, and the bytes of backslashes and brackets never
    /// occur within multi-byte characters either.
    pub fn keeps_backslash(self) -> bool {
        let trails = [
            encoding_rs::GBK,
            encoding_rs::GB18030,
            encoding_rs::BIG5,
            encoding_rs::SHIFT_JIS,
        ];
        self.keeps_ascii() && !trails.contains(&self.0)
    }

    /// Decodes all of `bytes`. A byte order mark is decoded as a character. The result borrows `bytes` if the charset
    /// is UTF-8. Linear.
    ///
    /// # Errors
    /// [`Undecodable`] with the position of the first invalid character.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, Undecodable> {
        if self == Self::UTF_8 {
            return from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
                let offset = error.valid_up_to();
                self.undecodable(bytes, offset)
            });
        }
        self.0
            .decode_without_bom_handling_and_without_replacement(bytes)
            .ok_or_else(|| self.undecodable(bytes, self.first_bad(bytes)))
    }

    /// Decodes all of `bytes`; invalid characters become U+FFFD. A byte order mark is decoded as a character. Linear.
    pub fn decode_lossy(self, bytes: &[u8]) -> Cow<'_, str> {
        self.0.decode_without_bom_handling(bytes).0
    }

    /// Encodes all of `text`, without a byte order mark. The result borrows `text` if its bytes in the charset are the
    /// same as in UTF-8. `None` if the charset lacks a character of the text, and always for UTF-16, which the Encoding
    /// Standard only decodes. Linear.
    pub fn encode(self, text: &str) -> Option<Cow<'_, [u8]>> {
        let (bytes, used, has_unmappable) = self.0.encode(text);
        (!has_unmappable && used == self.0).then_some(bytes)
    }

    fn undecodable(self, bytes: &[u8], offset: usize) -> Undecodable {
        Undecodable {
            charset: self,
            offset: offset as u64 + 1,
            byte: bytes.get(offset).copied().unwrap_or(0),
        }
    }

    /// Byte offset of the first invalid character of `bytes`.
    fn first_bad(self, bytes: &[u8]) -> usize {
        let mut decoder = self.0.new_decoder_without_bom_handling();
        let mut buffer = [0; 4096];
        let mut offset = 0;
        loop {
            let (result, read, _) =
                decoder.decode_to_utf8_without_replacement(&bytes[offset..], &mut buffer, true);
            offset += read;
            match result {
                DecoderResult::OutputFull => {}
                DecoderResult::InputEmpty => return offset,
                DecoderResult::Malformed(bad, after) => {
                    return offset.saturating_sub(usize::from(bad) + usize::from(after));
                }
            }
        }
    }
}

/// A byte order mark: the bytes at the start of a text that identify its charset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteOrderMark {
    /// The charset that the mark identifies.
    pub charset: Charset,
    /// Length of the mark in bytes.
    pub length: usize,
}

impl ByteOrderMark {
    /// Returns the byte order mark at the start of `bytes`; `None` if `bytes` do not begin with one.
    pub fn at_start(bytes: &[u8]) -> Option<Self> {
        let (encoding, length) = Encoding::for_bom(bytes)?;
        Some(Self {
            charset: Charset(encoding),
            length,
        })
    }
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Charset({})", self.name())
    }
}

/// Detects the charset of a text. `bytes` are the whole text or its beginning.
///
/// ```
/// use twinprint_text::charset::{Charset, Hints, detect};
///
/// assert_eq!(detect("naïve".as_bytes(), Hints::default()), Charset::UTF_8);
/// ```
pub fn detect(bytes: &[u8], hints: Hints<'_>) -> Charset {
    if let Some(mark) = ByteOrderMark::at_start(bytes) {
        return mark.charset;
    }
    if let Some(charset) = hints.declared.and_then(Charset::named) {
        return charset;
    }
    match from_utf8(bytes) {
        Ok(_) => Charset::UTF_8,
        // The error is an incomplete last character. `bytes` may be the beginning of a text and end within a character.
        Err(error) if error.error_len().is_none() => Charset::UTF_8,
        Err(_) => guess(bytes, hints.domain),
    }
}

/// Decodes a whole text in the charset that [`detect`] finds. A byte order mark is dropped.
///
/// ```
/// use twinprint_text::charset::{Hints, decode};
///
/// let (text, charset) = decode(b"caf\xe9", Hints { declared: Some("latin1"), ..Hints::default() })?;
/// assert_eq!((text.as_ref(), charset.name()), ("café", "windows-1252"));
/// # Ok::<(), twinprint_text::charset::Undecodable>(())
/// ```
///
/// # Errors
/// [`Undecodable`] if bytes are invalid in the charset. The charset of binary data, which has a zero byte or many
/// control characters, is not guessed: without a declaration the data is decoded as UTF-8.
pub fn decode<'a>(bytes: &'a [u8], hints: Hints<'_>) -> Result<(Cow<'a, str>, Charset), Undecodable> {
    let charset = detect(bytes, hints);
    let mark = ByteOrderMark::at_start(bytes).map_or(0, |mark| mark.length);
    match charset.decode(&bytes[mark..]) {
        Ok(text) => Ok((text, charset)),
        Err(error) => Err(Undecodable {
            offset: error.offset + mark as u64,
            ..error
        }),
    }
}

/// Extracts the charset of a content type such as `text/html; charset="gbk"`.
///
/// ```
/// use twinprint_text::charset::of_content_type;
///
/// assert_eq!(of_content_type("text/html; a=b; Charset=\"gbk\""), Some("gbk"));
/// assert_eq!(of_content_type("text/html; charset="), None);
/// ```
pub fn of_content_type(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';').skip(1);
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then_some(value)
}

/// Guesses the charset of bytes that are not UTF-8.
fn guess(bytes: &[u8], domain: Option<&str>) -> Charset {
    let start = Encoding::ascii_valid_up_to(bytes).saturating_sub(GUESS_CONTEXT_BYTES);
    let end = bytes.len().min(start + MAX_GUESS_BYTES);
    let window = &bytes[start..end];
    if is_binary(window) || is_damaged_utf8(window) {
        return Charset::UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(window, false);
    // `guess` panics if the domain label has a dot or a character other than a lower-case letter.
    let domain = domain.filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_lowercase()));
    Charset(detector.guess(domain.map(str::as_bytes), Utf8Detection::Deny))
}

/// Returns `true` if the bytes are binary data: they contain a zero, or more than one control character in 50 bytes.
/// (In random bytes about one in ten is a control character.)
pub fn is_binary(bytes: &[u8]) -> bool {
    // Tabs, line ends, form feeds and the escape characters of terminals do not count: they occur in text.
    let control = |&&byte: &&u8| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    bytes.contains(&0) || bytes.iter().filter(control).count() * MIN_BYTES_PER_CONTROL > bytes.len()
}

/// Returns `true` if the bytes are valid UTF-8 except for a few errors. Such bytes are damaged UTF-8, not text in
/// another charset.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good >= 2 * bad
}
