//! From bytes to text, in whatever charset they are.
//!
//! In order of trust: a byte order mark, what is declared, valid UTF-8, and a guess from the bytes. The guess looks at
//! a bounded stretch and is never told that the text ends there: a text cut off within a character would be misread.
//! Nothing is replaced: bytes that the charset does not know are an error, so that two different texts do not become
//! equal, and text damaged in a few places is not taken for one of another charset.

use std::borrow::Cow;
use std::fmt;
use std::str::from_utf8;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding};

#[cfg(test)]
mod tests;

/// How many bytes a guess looks at, from a little before the first that is not ASCII.
pub const GUESSED_FROM: usize = 64 << 10;
/// Text has fewer control characters than one in so many bytes.
const MOST_CONTROLS: usize = 50;
/// Bytes of ASCII before the first other byte that help the guess.
const CONTEXT: usize = 64;

/// A charset of the WHATWG Encoding Standard.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Charset(&'static Encoding);

/// What is known about bytes beside the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints<'a> {
    /// A charset named by the user, a protocol or the markup. A byte order mark overrides it; a name that nobody
    /// knows counts for nothing.
    pub declared: Option<&'a str>,
    /// The last label of the domain the text comes from, such as `cn`: helps the guess.
    pub domain: Option<&'a str>,
}

/// Bytes that are no text of their charset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset} ({byte:#04x}) is not {charset}")]
pub struct Undecodable {
    /// The charset.
    pub charset: Charset,
    /// Where the first bad character begins, counted from 1.
    pub offset: u64,
    /// Its first byte.
    pub byte: u8,
}

impl Charset {
    /// UTF-8.
    pub const UTF_8: Self = Self(encoding_rs::UTF_8);
    /// UTF-16, the low byte first.
    pub const UTF_16LE: Self = Self(encoding_rs::UTF_16LE);
    /// UTF-16, the high byte first.
    pub const UTF_16BE: Self = Self(encoding_rs::UTF_16BE);

    /// The charset of a label such as `gbk`, `latin1` or `Shift_JIS`, as browsers know them. None if there is none.
    pub fn named(label: &str) -> Option<Self> {
        Encoding::for_label_no_replacement(label.as_bytes()).map(Self)
    }

    /// Its name in the standard.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Whether every ASCII byte stands for itself wherever it occurs outside of a character of several bytes, and
    /// line feeds, commas, semicolons and double quotes occur nowhere else.
    pub fn keeps_ascii(self) -> bool {
        self.0 != encoding_rs::UTF_16LE
            && self.0 != encoding_rs::UTF_16BE
            && self.0 != encoding_rs::ISO_2022_JP
    }

    /// Whether backslashes and brackets, too, occur nowhere else than for themselves.
    pub fn keeps_backslash(self) -> bool {
        let trails = [
            encoding_rs::GBK,
            encoding_rs::GB18030,
            encoding_rs::BIG5,
            encoding_rs::SHIFT_JIS,
        ];
        self.keeps_ascii() && !trails.contains(&self.0)
    }

    /// The charset that a byte order mark tells, and the bytes of the mark.
    pub fn of_mark(bytes: &[u8]) -> Option<(Self, usize)> {
        Encoding::for_bom(bytes).map(|(encoding, length)| (Self(encoding), length))
    }

    /// Decodes all of `bytes`, without looking for a mark. Borrows what is UTF-8 already. Linear.
    ///
    /// # Errors
    /// The first bytes that are no character.
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

    /// Decodes all of `bytes`, without looking for a mark; what is no character becomes U+FFFD. Linear.
    pub fn decode_lossy(self, bytes: &[u8]) -> Cow<'_, str> {
        self.0.decode_without_bom_handling(bytes).0
    }

    /// Encodes all of `text`, without a mark. Borrows what is the same in UTF-8. None if the charset lacks one of its characters, and for
    /// UTF-16, which nothing on the web is written in. Linear.
    pub fn encode(self, text: &str) -> Option<Cow<'_, [u8]>> {
        let (bytes, written_in, lacking) = self.0.encode(text);
        (!lacking && written_in == self.0).then_some(bytes)
    }

    fn undecodable(self, bytes: &[u8], offset: usize) -> Undecodable {
        Undecodable {
            charset: self,
            offset: offset as u64 + 1,
            byte: bytes.get(offset).copied().unwrap_or(0),
        }
    }

    /// Where the first bad character begins.
    fn first_bad(self, bytes: &[u8]) -> usize {
        let mut decoder = self.0.new_decoder_without_bom_handling();
        let mut buffer = [0; 4096];
        let mut at = 0;
        loop {
            let (result, read, _) =
                decoder.decode_to_utf8_without_replacement(&bytes[at..], &mut buffer, true);
            at += read;
            match result {
                DecoderResult::OutputFull => {}
                DecoderResult::InputEmpty => return at,
                DecoderResult::Malformed(bad, after) => {
                    return at.saturating_sub(usize::from(bad) + usize::from(after));
                }
            }
        }
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

/// The charset of a text of which `bytes` are the beginning, all of it or not.
pub fn detect(bytes: &[u8], hints: Hints<'_>) -> Charset {
    if let Some((charset, _)) = Charset::of_mark(bytes) {
        return charset;
    }
    if let Some(charset) = hints.declared.and_then(Charset::named) {
        return charset;
    }
    match from_utf8(bytes) {
        Ok(_) => Charset::UTF_8,
        // The end may cut through a character.
        Err(error) if error.error_len().is_none() => Charset::UTF_8,
        Err(_) => guess(bytes, hints.domain),
    }
}

/// Decodes a whole text in the charset that [`detect`] tells; a byte order mark is dropped.
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
/// Bytes that are no text of the charset. Bytes with zeros or many control characters among them are binary: never guessed to be text.
pub fn decode<'a>(bytes: &'a [u8], hints: Hints<'_>) -> Result<(Cow<'a, str>, Charset), Undecodable> {
    let charset = detect(bytes, hints);
    let mark = Charset::of_mark(bytes).map_or(0, |(_, length)| length);
    match charset.decode(&bytes[mark..]) {
        Ok(text) => Ok((text, charset)),
        Err(error) => Err(Undecodable {
            offset: error.offset + mark as u64,
            ..error
        }),
    }
}

/// The charset in a content type such as `text/html; charset="gbk"`.
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
    let start = Encoding::ascii_valid_up_to(bytes).saturating_sub(CONTEXT);
    let end = bytes.len().min(start + GUESSED_FROM);
    let window = &bytes[start..end];
    if is_binary(window) || is_damaged_utf8(window) {
        return Charset::UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(window, false);
    // The detector wants a label in lower case without dots, and panics at others.
    let domain = domain.filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_lowercase()));
    Charset(detector.guess(domain.map(str::as_bytes), Utf8Detection::Deny))
}

/// Whether bytes are no text: with a zero among them, or more than one control character in [`MOST_CONTROLS`]. In random bytes every
/// tenth is one.
pub fn is_binary(bytes: &[u8]) -> bool {
    // Tabs, line ends, form feeds and the escapes of terminals occur in text.
    let control = |&&byte: &&u8| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    bytes.contains(&0) || bytes.iter().filter(control).count() * MOST_CONTROLS > bytes.len()
}

/// Whether bytes are UTF-8 but for a few places: then no other charset is meant.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good >= 2 * bad
}
