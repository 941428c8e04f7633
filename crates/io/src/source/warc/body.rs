//! Decodes the body of an HTTP response in a web archive: the chunked transfer coding, and the codings that its
//! `Content-Encoding` names.

use std::borrow::Cow;
use std::io::Read;

use brotli_decompressor::Decompressor;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use twinprint_text::charset::is_binary;

use super::http::Http;
use crate::source::record_limits::RecordLimits;
use crate::source::reject::RejectReason;

/// The size of the brotli decoder's input buffer, in bytes.
const BROTLI_BUFFER: usize = 16 << 10;

/// Decodes a body. Many writers of web archives store the body decoded but leave the HTTP head as it was sent. A body
/// that is not encoded as the head states is therefore returned unchanged.
pub(super) fn decoded<'a>(
    body: &'a [u8],
    http: &Http,
    record_limits: RecordLimits,
) -> Result<Cow<'a, [u8]>, RejectReason> {
    let joined = if http.chunked { unchunked(body)? } else { None };
    let body = joined.map_or(Cow::Borrowed(body), Cow::Owned);
    let encoding = http
        .content_encoding
        .as_deref()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match encoding.as_str() {
        "gzip" | "x-gzip" if body.starts_with(b"\x1f\x8b") => {
            unpacked(MultiGzDecoder::new(&*body), "gzip", record_limits)
        }
        "deflate" if body.first().is_some_and(|b| b & 0x0f == 8) => {
            unpacked(ZlibDecoder::new(&*body), "deflate", record_limits)
        }
        "zstd" if body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => match zstd::Decoder::new(&*body) {
            Ok(decoder) => unpacked(decoder, "zstd", record_limits),
            Err(error) => Err(damaged("zstd", &error)),
        },
        // Brotli has no magic number, so the body counts as compressed if it does not look like text.
        "br" if !reads_as_text(&body) => {
            unpacked(Decompressor::new(&*body, BROTLI_BUFFER), "br", record_limits)
        }
        "" | "identity" | "gzip" | "x-gzip" | "deflate" | "zstd" => Ok(body),
        _ if reads_as_text(&body) => Ok(body),
        _ => Err(RejectReason::ContentEncoding { encoding }),
    }
}

/// Returns true if a body is markup, or contains none of the bytes that are frequent in compressed data.
fn reads_as_text(body: &[u8]) -> bool {
    let start = body.trim_ascii_start();
    let start = start.get(..start.len().min(512)).unwrap_or_default();
    start.starts_with(b"<") || !is_binary(start)
}

/// Decompresses a body. The decompressed body may be as long as the longest allowed record.
fn unpacked(
    stream: impl Read,
    encoding: &'static str,
    record_limits: RecordLimits,
) -> Result<Cow<'static, [u8]>, RejectReason> {
    let mut body = Vec::new();
    let most = record_limits.max_bytes();
    let read = stream.take(most.saturating_add(1)).read_to_end(&mut body);
    if body.len() as u64 > most {
        return Err(record_limits.rejection(None));
    }
    read.map_err(|error| damaged(encoding, &error))?;
    Ok(Cow::Owned(body))
}

fn damaged(encoding: &str, error: &std::io::Error) -> RejectReason {
    RejectReason::Body {
        message: format!("{encoding}: {error}"),
    }
}

/// Joins the chunks of a body that uses the chunked transfer coding. Returns `None` if the body has no chunks, because
/// many writers join them without changing the HTTP head. A truncated last chunk is used as far as it goes.
fn unchunked(body: &[u8]) -> Result<Option<Vec<u8>>, RejectReason> {
    let mut joined = Vec::with_capacity(body.len());
    let mut rest = body;
    while !rest.is_empty() {
        let found = chunk(rest).filter(|chunk| rest.len() < body.len() || chunk.may_be_first());
        let Some(Chunk { size, data, after }) = found else {
            if joined.is_empty() {
                return Ok(None);
            }
            if rest.iter().all(|&b| b.is_ascii_hexdigit() || b == b'\r') {
                break;
            }
            let at = body.len() - rest.len() + 1;
            return Err(RejectReason::Body {
                message: format!("chunked: no chunk begins at byte {at}"),
            });
        };
        if size == 0 {
            break;
        }
        joined.extend_from_slice(data);
        rest = after;
    }
    Ok(Some(joined))
}

/// A chunk of the chunked transfer coding.
struct Chunk<'a> {
    /// The size that the chunk states, in bytes.
    size: usize,
    data: &'a [u8],
    after: &'a [u8],
}

impl Chunk<'_> {
    /// Returns true if this is really the first chunk of a body, and not a text whose first line looks like a chunk
    /// size. A first chunk must be complete, and after an empty one only trailers may follow.
    fn may_be_first(&self) -> bool {
        let is_blank_or_field = |line: &[u8]| line.trim_ascii().is_empty() || line.contains(&b':');
        self.data.len() == self.size
            && (self.size > 0 || self.after.split(|&b| b == b'\n').all(is_blank_or_field))
    }
}

/// Parses the chunk at the start of `body`: a size, that number of bytes, and a line end or the end of the body.
/// Returns `None` if there is no chunk.
fn chunk(body: &[u8]) -> Option<Chunk<'_>> {
    let (line, rest) = body.split_at_checked(memchr::memchr(b'\n', body)? + 1)?;
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let (digits, extension) = line.split_at_checked(digits)?;
    if !matches!(extension.trim_ascii().first(), None | Some(b';')) {
        return None;
    }
    let size = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let (data, after) = rest.split_at(size.min(rest.len()));
    let after = match after {
        [b'\r', b'\n', after @ ..] | [b'\n', after @ ..] => after,
        b"" | b"\r" => b"",
        trailers if size == 0 => trailers,
        _ => return None,
    };
    Some(Chunk { size, data, after })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(body: &str) -> Option<String> {
        let joined = unchunked(body.as_bytes()).expect("whole chunks");
        joined.map(|joined| String::from_utf8(joined).expect("UTF-8"))
    }

    #[test]
    fn chunks_are_joined() {
        let whole = "3\r\nabc\r\n00A;name=x \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
        assert_eq!(joined(whole).as_deref(), Some("abc0123456789"));
        assert_eq!(joined("3\nabc\n0\n\n").as_deref(), Some("abc"));
        assert_eq!(joined("0\r\n\r\n").as_deref(), Some(""));
        for end in ["", "\r\n", "\r\n1", "\r\n1f\r", "\r\n1f\r\n"] {
            assert_eq!(
                joined(&format!("3\r\nabc{end}")).as_deref(),
                Some("abc"),
                "{end:?}"
            );
        }
        assert_eq!(joined("3\r\nabc\r\nA\r\n0123").as_deref(), Some("abc0123"));
    }

    #[test]
    fn a_body_that_is_not_chunked_any_more_is_unchanged() {
        for body in [
            "<p>page</p>",
            "3 apples\n and more",
            "2\r\nfour letters",
            "beef",
            "2024\nThe year in review",
            "2024\r\nThe year in review",
            "0\nNothing is all there is",
            "dad\n",
        ] {
            assert_eq!(joined(body), None, "{body:?}");
        }
    }

    #[test]
    fn invalid_chunks_after_valid_ones_are_reported() {
        for body in [
            "3\r\nabc\r\nno size\r\nmore",
            "3\r\nabc\r\n3\r\nlonger than three\r\n",
        ] {
            let error = unchunked(body.as_bytes()).expect_err(body);
            assert_eq!(
                error.to_string(),
                "its body cannot be decoded (chunked: no chunk begins at byte 9)"
            );
        }
    }
}
