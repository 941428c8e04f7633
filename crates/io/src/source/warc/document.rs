//! Turns one WARC record into a document.

use std::borrow::Cow;

use twinprint_text::charset::{ByteOrderMark, Hints, detect, of_content_type};

use super::body;
use super::header::{Header, HeaderStart};
use super::http::{Http, Message};
use super::kind::{TextForm, essence, text_form};
use crate::source::json::PickedFields;
use crate::source::options::SourceOptions;
use crate::source::page::PageExtractor;
use crate::source::record::SortValue;
use crate::source::record_limits::RecordLimits;
use crate::source::reject::RejectReason;

/// Turns the bytes of a record, up to the start of the next one, into a document.
///
/// # Errors
/// The reason to reject the record: no valid header, a wrong length, a body that cannot be decoded, or a body beyond the limits.
pub(crate) fn document<'a>(
    bytes: &'a [u8],
    options: &SourceOptions,
    record_limits: RecordLimits,
    pages: &mut PageExtractor,
) -> Result<PickedFields<'a>, RejectReason> {
    let not = |found| RejectReason::NotWarc { found };
    let header = match Header::read(bytes) {
        HeaderStart::Record(header) => header,
        HeaderStart::Invalid(found) => return Err(not(found)),
        HeaderStart::Incomplete => return Err(not("its header has no end")),
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
    let text = text(&header, content, record_limits, pages)?;
    let field = |key: &Option<String>| key.as_deref().and_then(|key| value(&header, content, key));
    Ok(PickedFields {
        text,
        id: field(&options.id_key),
        sort_value: field(&options.sort_key).map(|value| SortValue::Text(value.into())),
    })
}

/// True if the bytes are only line ends.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| matches!(b, b'\r' | b'\n'))
}

/// The value of a field by its short name (`url`, `date`, `mime`, `digest`) or its name in the header.
fn value<'a>(header: &Header<'a>, content: &[u8], key: &str) -> Option<Cow<'a, str>> {
    match key {
        "id" | "url" | "uri" => header.uri(),
        "date" | "time" => header.field("warc-date"),
        "digest" => header.field("warc-payload-digest"),
        "mime" => {
            let found = match response(header, content) {
                Some(http) => http.content_type.map(Cow::Owned),
                None => header.field("content-type"),
            };
            found.map(|found| Cow::Owned(essence(&found).to_owned()))
        }
        name => header.field(name),
    }
}

/// The HTTP head of a response.
fn response(header: &Header<'_>, content: &[u8]) -> Option<Http> {
    if header.record_type() != "response" {
        return None;
    }
    match Message::read(content, true) {
        Message::Response(http) => Some(http),
        Message::Open | Message::Broken | Message::NotHttp => None,
    }
}

fn text<'a>(
    header: &Header<'_>,
    content: &'a [u8],
    record_limits: RecordLimits,
    pages: &mut PageExtractor,
) -> Result<Cow<'a, str>, RejectReason> {
    let (body, media_type) = match response(header, content) {
        Some(http) => (
            body::decoded(
                content.get(http.length..).unwrap_or_default(),
                &http,
                record_limits,
            )?,
            http.content_type.map_or(Cow::Borrowed(""), Cow::Owned),
        ),
        None => (
            Cow::Borrowed(content),
            header.field("content-type").unwrap_or_default(),
        ),
    };
    let charset = of_content_type(&media_type);
    if text_form(&media_type, &body) == Some(TextForm::Page) {
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

/// Decodes a text as browsers do: undecodable bytes become U+FFFD.
fn lossy<'a>(bytes: &'a [u8], hints: Hints<'_>) -> Cow<'a, str> {
    let charset = detect(bytes, hints);
    let mark = ByteOrderMark::at_start(bytes).map_or(0, |mark| mark.length);
    charset.decode_lossy(bytes.get(mark..).unwrap_or_default())
}
