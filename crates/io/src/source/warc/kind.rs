//! Decides which records of a WARC file are documents.

use super::header::Header;
use super::http::{MAX_HEAD_BYTES, Message};

/// The number of bytes of a body that are searched for markup if no media type is named.
const MAX_SNIFFED_BYTES: usize = 512;
/// The most content bytes that are needed to decide the kind of a record.
pub(crate) const MAX_KIND_BYTES: usize = MAX_HEAD_BYTES + MAX_SNIFFED_BYTES;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WarcKind {
    /// A document: a page or a text.
    Document,
    /// Another record, with the name under which it is counted.
    Other(&'static str),
}

/// The form in which the text of a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    /// HTML.
    Page,
    /// Plain text.
    Text,
}

/// The kind of a record, by its header and the beginning of its content; `None` if more of the content is needed to
/// decide. `whole` is true if `content` is complete. With `any_status`, responses of any status are documents.
pub(crate) fn kind(header: &Header<'_>, content: &[u8], whole: bool, any_status: bool) -> Option<WarcKind> {
    let whole = whole || content.len() >= MAX_KIND_BYTES;
    let record_type = header.record_type();
    let other = |kind| Some(WarcKind::Other(kind));
    match &*record_type {
        "response" => match Message::read(content, whole) {
            Message::Response(http) => {
                if let Some(status) = http.without_page().filter(|_| !any_status) {
                    return other(status);
                }
                let body = content.get(http.length..).unwrap_or_default();
                by_form(http.content_type.as_deref().unwrap_or_default(), body, whole)
            }
            Message::Open if !whole => None,
            Message::Open | Message::Broken => other("broken http head"),
            Message::NotHttp if content.is_empty() => other("empty response"),
            Message::NotHttp if is_web(header) => other("no http head"),
            Message::NotHttp => other("other protocol"),
        },
        "resource" | "conversion" => {
            by_form(&header.field("content-type").unwrap_or_default(), content, whole)
        }
        "request" => other("request"),
        "metadata" => other("metadata"),
        "warcinfo" => other("warcinfo"),
        "revisit" => other("revisit"),
        "continuation" => other("continuation"),
        _ => other("other type"),
    }
}

/// True if the address of a response is one of HTTP, or if it has no address.
fn is_web(header: &Header<'_>) -> bool {
    let uri = header.uri().unwrap_or_default();
    let scheme = uri.split_once(':').map_or("http", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// A document if its body is a page or a text.
fn by_form(media_type: &str, body: &[u8], whole: bool) -> Option<WarcKind> {
    match text_form(media_type, body) {
        Some(_) => Some(WarcKind::Document),
        None if !whole && essence(media_type).is_empty() && body.len() < MAX_SNIFFED_BYTES => None,
        None => Some(WarcKind::Other("no text")),
    }
}

/// A media type without its parameters.
pub(super) fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// The form of a media type; `content` decides if none is named.
pub(super) fn text_form(media_type: &str, content: &[u8]) -> Option<TextForm> {
    match essence(media_type).to_ascii_lowercase().as_str() {
        "text/html" | "application/xhtml+xml" | "application/vnd.wap.xhtml+xml" => Some(TextForm::Page),
        "" => {
            let start = content
                .get(..MAX_SNIFFED_BYTES)
                .unwrap_or(content)
                .trim_ascii_start();
            let start = start.to_ascii_lowercase();
            (start.starts_with(b"<!doctype html") || start.starts_with(b"<html")).then_some(TextForm::Page)
        }
        "text/css" | "text/javascript" | "text/ecmascript" | "text/x-javascript" | "text/xml"
        | "text/csv" | "text/calendar" | "text/vcard" | "text/event-stream" | "text/vtt" => None,
        text if text.starts_with("text/") => Some(TextForm::Text),
        _ => None,
    }
}
