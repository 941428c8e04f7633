//! From one WARC record to a document.

use std::borrow::Cow;
use std::io::Read;

use brotli_decompressor::Decompressor;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use text::charset::{Charset, Hints, detect, is_binary, of_content_type};

use super::header::{Begun, Header};
use super::kind::{Form, Http, form};
use crate::source::json::Picked;
use crate::source::longest::Longest;
use crate::source::options::SourceOptions;
use crate::source::page::Pages;
use crate::source::record::SortValue;
use crate::source::reject::RejectReason;

/// Bytes that the brotli decoder takes at a time.
const BROTLI_BUFFER: usize = 16 << 10;

/// Turns the bytes of a record, with what stands up to the next, into a document within the limits on length.
pub(crate) fn document<'a>(
    bytes: &'a [u8],
    options: &SourceOptions,
    longest: Longest,
    pages: &mut Pages,
) -> Result<Picked<'a>, RejectReason> {
    let not = |found| RejectReason::NotWarc { found };
    let header = match Header::read(bytes) {
        Begun::Record(header) => header,
        Begun::Not(found) => return Err(not(found)),
        Begun::Open => return Err(not("its header has no end")),
    };
    let rest = bytes.get(header.length..).unwrap_or_default();
    let content = usize::try_from(header.content_length)
        .ok()
        .and_then(|length| rest.get(..length));
    let content = content.filter(|content| is_blank(rest.get(content.len()..).unwrap_or_default()));
    let Some(content) = content else {
        let there = rest.len()
            - rest
                .iter()
                .rev()
                .take(4)
                .take_while(|b| matches!(b, b'\r' | b'\n'))
                .count();
        return Err(RejectReason::ContentLength {
            said: header.content_length,
            there: there as u64,
        });
    };
    let text = text(&header, content, longest, pages)?;
    let field = |key: &Option<String>| key.as_deref().and_then(|key| value(&header, content, key));
    Ok(Picked {
        text,
        id: field(&options.id_key),
        sort_value: field(&options.sort_key).map(|value| SortValue::Text(value.into())),
    })
}

/// Whether bytes are line ends alone.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| matches!(b, b'\r' | b'\n'))
}

/// The value of a field by its short name (`url`, `date`, `mime`, `digest`) or its name in the header.
fn value<'a>(header: &Header<'a>, content: &[u8], key: &str) -> Option<Cow<'a, str>> {
    let borrowed = match key {
        "id" | "url" | "uri" => header.uri(),
        "date" | "time" => header.field("warc-date"),
        "digest" => header.field("warc-payload-digest"),
        "mime" if header.record_type() == "response" => {
            let found = Http::read(content).and_then(|http| http.content_type);
            return found.map(|found| Cow::Owned(essence(&found).to_owned()));
        }
        "mime" => header.field("content-type").map(essence),
        name => header.field(name),
    };
    borrowed.map(Cow::Borrowed)
}

fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

fn text<'a>(
    header: &Header<'_>,
    content: &'a [u8],
    longest: Longest,
    pages: &mut Pages,
) -> Result<Cow<'a, str>, RejectReason> {
    let http = if header.record_type() == "response" {
        Http::read(content)
    } else {
        None
    };
    let (body, media_type) = match &http {
        Some(http) => (
            decoded(content.get(http.length..).unwrap_or_default(), http, longest)?,
            http.content_type.as_deref().unwrap_or_default(),
        ),
        None => (
            Cow::Borrowed(content),
            header.field("content-type").unwrap_or_default(),
        ),
    };
    let charset = of_content_type(media_type);
    if form(media_type, &body) == Some(Form::Page) {
        return pages.of_bytes(&body, charset).map(|(text, _)| text);
    }
    let hints = Hints {
        declared: charset,
        domain: None,
    };
    Ok(match body {
        Cow::Borrowed(bytes) => lossy(bytes, hints),
        Cow::Owned(bytes) => Cow::Owned(lossy(&bytes, hints).into_owned()),
    })
}

/// Decodes a text as browsers do: what is no character becomes U+FFFD.
fn lossy<'a>(bytes: &'a [u8], hints: Hints<'_>) -> Cow<'a, str> {
    let charset = detect(bytes, hints);
    let mark = Charset::of_mark(bytes).map_or(0, |mark| mark.1);
    charset.decode_lossy(bytes.get(mark..).unwrap_or_default())
}

/// Undoes what HTTP did to a body. Writers often leave the head as it was sent but store the body decoded, so that a
/// body that is not what the head says is taken as it is.
fn decoded<'a>(body: &'a [u8], http: &Http, longest: Longest) -> Result<Cow<'a, [u8]>, RejectReason> {
    let body = match http.chunked.then(|| unchunked(body)).flatten() {
        Some(joined) => Cow::Owned(joined),
        None => Cow::Borrowed(body),
    };
    let encoding = http
        .content_encoding
        .as_deref()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match encoding.as_str() {
        "gzip" | "x-gzip" if body.starts_with(b"\x1f\x8b") => {
            unpacked(MultiGzDecoder::new(&*body), "gzip", longest)
        }
        "deflate" if body.first().is_some_and(|b| b & 0x0f == 8) => {
            unpacked(ZlibDecoder::new(&*body), "deflate", longest)
        }
        "zstd" if body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => match zstd::Decoder::new(&*body) {
            Ok(decoder) => unpacked(decoder, "zstd", longest),
            Err(error) => Err(damaged("zstd", &error)),
        },
        // Nothing marks brotli, but what it packs does not read as text.
        "br" if !reads_as_text(&body) => unpacked(Decompressor::new(&*body, BROTLI_BUFFER), "br", longest),
        "" | "identity" | "gzip" | "x-gzip" | "deflate" | "zstd" => Ok(body),
        _ if reads_as_text(&body) => Ok(body),
        _ => Err(RejectReason::ContentEncoding { encoding }),
    }
}

/// Whether a body is markup, or free of the bytes that packed ones are full of.
fn reads_as_text(body: &[u8]) -> bool {
    let start = body.trim_ascii_start();
    let start = start.get(..start.len().min(512)).unwrap_or_default();
    start.starts_with(b"<") || !is_binary(start)
}

/// Reads a packed body, as much of it as is whole; no more than the longest record has bytes.
fn unpacked(
    stream: impl Read,
    encoding: &'static str,
    longest: Longest,
) -> Result<Cow<'static, [u8]>, RejectReason> {
    let mut body = Vec::new();
    let most = longest.held();
    let read = stream.take(most.saturating_add(1)).read_to_end(&mut body);
    if body.len() as u64 > most {
        return Err(longest.reason(None));
    }
    read.map_err(|error| damaged(encoding, &error))?;
    Ok(Cow::Owned(body))
}

fn damaged(encoding: &str, error: &std::io::Error) -> RejectReason {
    RejectReason::Body {
        message: format!("{encoding}: {error}"),
    }
}

/// Joins the chunks of a body. None if it is not in chunks; chunks cut off at the end are taken as far as they go.
fn unchunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut joined = Vec::with_capacity(body.len());
    let mut first = true;
    loop {
        let (length, size) = match httparse::parse_chunk_size(body) {
            Ok(httparse::Status::Complete(found)) => found,
            _ if first => return None,
            _ => return Some(joined),
        };
        first = false;
        let rest = body.get(length..).unwrap_or_default();
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
        let (chunk, rest) = rest.split_at(size);
        if chunk.is_empty() {
            return Some(joined);
        }
        joined.extend_from_slice(chunk);
        body = rest
            .strip_prefix(b"\r\n")
            .or(rest.strip_prefix(b"\n"))
            .unwrap_or(rest);
    }
}
