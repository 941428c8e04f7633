//! Which records of a WARC file are documents.

use httparse::{EMPTY_HEADER, Response, Status};

use super::header::{Header, end_of_lines};

/// Most bytes of an HTTP head that are looked at.
pub(crate) const LONGEST_HEAD: usize = 64 << 10;
/// Most fields of an HTTP head.
const FIELDS: usize = 256;

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A document: a page or a text.
    Document,
    /// Something else, by what it is counted as.
    Other(&'static str),
}

/// How the text of a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Page,
    Text,
}

/// Tells what a record is from its header and the beginning of its content: all of it, or at least its HTTP head, or
/// [`LONGEST_HEAD`] bytes.
pub(crate) fn kind(header: &Header<'_>, content: &[u8]) -> Kind {
    let not_text = Kind::Other("no text");
    match header.record_type() {
        "response" => match Http::read(content) {
            Some(http) => http.form(content).map_or(not_text, |_| Kind::Document),
            // Without HTTP there is no telling; other protocols (dns:) are no pages.
            None => not_text,
        },
        "resource" | "conversion" => form(header.field("content-type").unwrap_or_default(), content)
            .map_or(not_text, |_| Kind::Document),
        "request" => Kind::Other("request"),
        "metadata" => Kind::Other("metadata"),
        "warcinfo" => Kind::Other("warcinfo"),
        "revisit" => Kind::Other("revisit"),
        "continuation" => Kind::Other("continuation"),
        _ => Kind::Other("other type"),
    }
}

/// The form of a media type; `content` decides where none is named.
pub(crate) fn form(media_type: &str, content: &[u8]) -> Option<Form> {
    let essence = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match essence.as_str() {
        "text/html" | "application/xhtml+xml" | "application/vnd.wap.xhtml+xml" => Some(Form::Page),
        "" => {
            let start = content
                .get(..content.len().min(512))
                .unwrap_or_default()
                .trim_ascii_start();
            let start = start.to_ascii_lowercase();
            (start.starts_with(b"<!doctype html") || start.starts_with(b"<html")).then_some(Form::Page)
        }
        "text/css" | "text/javascript" | "text/ecmascript" | "text/x-javascript" | "text/xml"
        | "text/csv" | "text/calendar" | "text/vcard" | "text/event-stream" | "text/vtt" => None,
        text if text.starts_with("text/") => Some(Form::Text),
        _ => None,
    }
}

/// The head of an HTTP response, as it stands before a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Http {
    /// Bytes of the head.
    pub(crate) length: usize,
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) chunked: bool,
}

impl Http {
    /// Reads the head at the start of `content`. None if there is none.
    pub(crate) fn read(content: &[u8]) -> Option<Self> {
        let mut fields = [EMPTY_HEADER; FIELDS];
        let mut response = Response::new(&mut fields);
        let mut config = httparse::ParserConfig::default();
        config
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_multiple_spaces_in_response_status_delimiters(true)
            .ignore_invalid_headers_in_responses(true);
        let Ok(Status::Complete(length)) = config.parse_response(&mut response, content) else {
            return None;
        };
        let mut http = Self {
            length,
            ..Self::default()
        };
        for field in response.headers.iter() {
            let value = || String::from_utf8_lossy(field.value).trim().to_owned();
            if field.name.eq_ignore_ascii_case("content-type") {
                http.content_type.get_or_insert_with(value);
            } else if field.name.eq_ignore_ascii_case("content-encoding") {
                http.content_encoding.get_or_insert_with(value);
            } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
                http.chunked |= value().to_ascii_lowercase().contains("chunked");
            }
        }
        Some(http)
    }

    /// The form of the body behind the head.
    pub(crate) fn form(&self, content: &[u8]) -> Option<Form> {
        let body = content.get(self.length..).unwrap_or_default();
        form(self.content_type.as_deref().unwrap_or_default(), body)
    }
}

/// Whether the head of the HTTP message at the start of `content` is all there.
pub(crate) fn has_whole_head(content: &[u8]) -> bool {
    end_of_lines(content).is_some() || content.len() >= LONGEST_HEAD
}
