//! Decides which records of a WARC file are documents.

use super::header::Header;
use super::http::{MAX_HEAD_BYTES, Message};

/// The number of bytes of a body that are searched for markup if the header states no media type.
const MAX_SNIFFED_BYTES: usize = 512;
/// The largest number of content bytes that are needed to decide the kind of a record.
pub(crate) const MAX_KIND_BYTES: usize = MAX_HEAD_BYTES + MAX_SNIFFED_BYTES;

/// The kind of a WARC record: a document or another record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WarcKind {
    /// A document: a page or a text.
    Document,
    /// Not a document. Contains the name under which the record is counted.
    Other(&'static str),
}

/// The media type of the text of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    /// HTML.
    Page,
    /// Plain text.
    Text,
}

/// Determines the kind of a record from its header and the beginning of its content. Returns `None` if more of the
/// content is needed. `whole` is true if `content` is complete. If `any_status` is true, responses of any HTTP status
/// are documents.
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

/// Returns true if the URI of a response is one of HTTP or HTTPS, or if the response has no URI.
fn is_web(header: &Header<'_>) -> bool {
    let uri = header.uri().unwrap_or_default();
    let scheme = uri.split_once(':').map_or("http", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// Returns the kind of a record by its media type: a document if the body is a page or a text.
fn by_form(media_type: &str, body: &[u8], whole: bool) -> Option<WarcKind> {
    match text_form(media_type, body) {
        Some(_) => Some(WarcKind::Document),
        None if !whole && essence(media_type).is_empty() && body.len() < MAX_SNIFFED_BYTES => None,
        None => Some(WarcKind::Other("no text")),
    }
}

/// Returns a media type without its parameters.
pub(super) fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Returns the form of a text with this media type. If the media type is empty, `content` decides.
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
