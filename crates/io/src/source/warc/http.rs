//! Reads the head of an HTTP response in a web archive: a status line, fields, and a blank line.
//!
//! The status line may state any version of HTTP, with or without a reason phrase. HTTP/2 has no status line, so
//! writers make one up. Interim responses (such as `100 Continue`) before the final response are skipped.
//!
//! The crate `httparse` is not used, because it refuses status lines that occur in archives: those of HTTP/2 and
//! HTTP/3, and those with tabs, in lower case, or with no space between the status code and the reason phrase. WARC
//! headers need a parser for [fields](super::fields) in any case.

use super::fields::{end_of_header, fields};

/// The largest HTTP head that is read, in bytes.
pub(super) const MAX_HEAD_BYTES: usize = 64 << 10;
/// The first bytes of a status line.
const PROTOCOL: &[u8] = b"HTTP/";

/// The status and the used fields of an HTTP head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Http {
    /// The length of the head in bytes, including interim responses.
    pub length: usize,
    pub status: u16,
    pub content_type: Option<String>,
    pub content_encoding: Option<String>,
    content_range: Option<String>,
    pub chunked: bool,
}

/// The beginning of the content of a response record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// A head that is incomplete so far.
    Open,
    /// A complete HTTP head.
    Response(Http),
    /// A line that begins with `HTTP/` but is not a status line.
    Broken,
    /// Bytes that are not HTTP.
    NotHttp,
}

impl Message {
    /// Reads the HTTP head at the start of `content`, using at most its first [`MAX_HEAD_BYTES`] bytes. `whole` is true
    /// if `content` is the complete content of the record.
    pub(super) fn read(content: &[u8], whole: bool) -> Self {
        let whole = whole || content.len() >= MAX_HEAD_BYTES;
        let content = content.get(..MAX_HEAD_BYTES).unwrap_or(content);
        let mut length = 0;
        loop {
            let rest = content.get(length..).unwrap_or_default();
            match begins_like_http(rest) {
                Some(true) => {}
                None if !whole => return Self::Open,
                _ => return Self::NotHttp,
            }
            let Some(end) = end_of_header(rest) else {
                return Self::Open;
            };
            let (head, body) = rest.split_at(end);
            let (line, named) = head.split_at(memchr::memchr(b'\n', head).unwrap_or(end));
            let Some(status) = status_of(line) else {
                return Self::Broken;
            };
            length += end;
            let interim = matches!(status, 100..=199) && status != 101;
            match begins_like_http(body) {
                Some(true) if interim => {}
                None if interim && !whole => return Self::Open,
                _ => return Self::Response(Http::of(length, status, named)),
            }
        }
    }
}

impl Http {
    fn of(length: usize, status: u16, named: &[u8]) -> Self {
        let mut http = Self {
            length,
            status,
            ..Self::default()
        };
        for field in fields(named) {
            if field.is("content-type") {
                http.content_type.get_or_insert_with(|| field.text_lossy());
            } else if field.is("content-encoding") {
                http.content_encoding.get_or_insert_with(|| field.text_lossy());
            } else if field.is("content-range") {
                http.content_range.get_or_insert_with(|| field.text_lossy());
            } else if field.is("transfer-encoding") {
                http.chunked |= field.text_lossy().to_ascii_lowercase().contains("chunked");
            }
        }
        http
    }

    /// If the response does not contain a complete page, returns the kind under which it is counted: its status is not
    /// 2xx, or it is 206 with only a part of the page. Returns `None` for other responses.
    pub(super) fn without_page(&self) -> Option<&'static str> {
        match self.status {
            206 if !self.is_whole() => Some("status 206"),
            200..=299 => None,
            100..=199 => Some("status 1xx"),
            300..=399 => Some("status 3xx"),
            400..=499 => Some("status 4xx"),
            500..=599 => Some("status 5xx"),
            _ => Some("other status"),
        }
    }

    /// Returns true if the `Content-Range` of a 206 response covers the whole page, such as `bytes 0-99/100`.
    fn is_whole(&self) -> bool {
        let range = self.content_range.as_deref().unwrap_or_default();
        let range = range.trim_start_matches(|c: char| !c.is_ascii_digit());
        let number = |text: &str| text.trim().parse::<u64>().ok();
        range
            .split_once('/')
            .and_then(|(range, length)| {
                let (first, last) = range.split_once('-')?;
                Some(number(first)? == 0 && number(last)?.checked_add(1)? == number(length)?)
            })
            .unwrap_or(false)
    }
}

/// Returns `Some(true)` if `bytes` begin with `HTTP/`, and `None` if there are too few bytes to decide.
fn begins_like_http(bytes: &[u8]) -> Option<bool> {
    let seen = bytes.get(..PROTOCOL.len()).unwrap_or(bytes);
    let same = PROTOCOL.get(..seen.len())?.eq_ignore_ascii_case(seen);
    if same && seen.len() < PROTOCOL.len() {
        None
    } else {
        Some(same)
    }
}

/// Parses the status code in a status line such as `HTTP/1.1 200 OK`.
fn status_of(line: &[u8]) -> Option<u16> {
    let line = line.get(PROTOCOL.len()..)?;
    let version = line
        .iter()
        .take_while(|b| b.is_ascii_digit() || **b == b'.')
        .count();
    let rest = line.get(version..)?;
    let code = rest.trim_ascii_start();
    let (digits, reason) = code.split_at_checked(3)?;
    let is_number = digits.iter().all(u8::is_ascii_digit);
    let ends = !reason.first().is_some_and(u8::is_ascii_digit);
    if version == 0 || code.len() == rest.len() || !is_number || !ends {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Message {
        let message = Message::read(content.as_bytes(), true);
        for cut in 0..content.len() {
            // Once a head is complete, its result does not depend on the number of bytes that follow.
            match Message::read(&content.as_bytes()[..cut], false) {
                Message::Open => {}
                early => assert_eq!(early, message, "{:?}", &content[..cut]),
            }
        }
        message
    }

    fn status(content: &str) -> u16 {
        match read(content) {
            Message::Response(http) => {
                assert_eq!(&content[http.length..], "body");
                http.status
            }
            other => panic!("{content:?}: {other:?}"),
        }
    }

    #[test]
    fn status_lines_of_all_variants_are_parsed() {
        for line in [
            "HTTP/1.1 200 OK",
            "HTTP/1.0 200",
            "HTTP/1.1 200 ",
            "HTTP/1.1  200  Very  OK",
            "HTTP/2 200",
            "HTTP/2.0 200 OK",
            "HTTP/3 200",
            "http/1.1 200 ok",
            "HTTP/1.1\t200\tOK",
            "HTTP/1.1 200OK",
            "HTTP/1.1 200 caf\u{e9}",
        ] {
            for end in ["\r\n", "\n"] {
                assert_eq!(status(&format!("{line}{end}A: b{end}{end}body")), 200, "{line}");
                assert_eq!(status(&format!("{line}{end}{end}body")), 200, "{line}");
            }
        }
        assert_eq!(status("HTTP/1.1 999 Request denied\r\n\r\nbody"), 999);
        for line in [
            "HTTP/1.1",
            "HTTP/1.1 OK",
            "HTTP/1.1 20",
            "HTTP/1.1 2000 OK",
            "HTTP/ 200 OK",
            "HTTP/1.1200 OK",
        ] {
            assert_eq!(read(&format!("{line}\r\n\r\nbody")), Message::Broken, "{line}");
        }
        for content in ["<html>\n\nbody", "HTT", "", "ICY 200 OK\r\n\r\n"] {
            assert_eq!(read(content), Message::NotHttp, "{content}");
        }
        for content in ["HTTP/1.1 200 OK\r\nA: b\r\n", "HTTP/"] {
            assert_eq!(read(content), Message::Open, "{content}");
        }
    }

    #[test]
    fn interim_responses_are_skipped() {
        let before = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
        assert_eq!(
            status(&format!("{before}HTTP/1.1 404 Not Found\r\n\r\nbody")),
            404
        );
        assert_eq!(status("HTTP/1.1 100 Continue\r\n\r\nbody"), 100);
        assert!(matches!(
            read("HTTP/1.1 100 Continue\r\n\r\n"),
            Message::Response(_)
        ));
        assert_eq!(status("HTTP/1.1 101 Switching Protocols\r\n\r\nbody"), 101);
    }

    #[test]
    fn folded_fields_and_many_fields_are_read() {
        let many = "X-Field: value\r\n".repeat(1000);
        let head = format!(
            "HTTP/1.1 200 OK\r\n{many}content-TYPE : text/html;\r\n\tcharset=gbk\r\nContent-Type: image/png\r\n\
             Transfer-Encoding: gzip, Chunked\r\n\r\n"
        );
        let Message::Response(http) = Message::read(head.as_bytes(), true) else {
            panic!("no head");
        };
        assert_eq!(http.content_type.as_deref(), Some("text/html; charset=gbk"));
        assert!(http.chunked && http.content_encoding.is_none());
        assert_eq!(http.length, head.len());
    }

    #[test]
    fn a_partial_response_is_distinguished_from_a_complete_one() {
        let of = |fields: &str| match read(&format!("HTTP/1.1 206 Partial Content\r\n{fields}\r\n")) {
            Message::Response(http) => http.without_page(),
            other => panic!("{other:?}"),
        };
        assert_eq!(of("Content-Range: bytes 0-99/100\r\n"), None);
        for range in [
            "bytes 0-98/100",
            "bytes 1-99/100",
            "bytes 0-99/*",
            "bytes */100",
            "",
            "0",
        ] {
            assert_eq!(
                of(&format!("Content-Range: {range}\r\n")),
                Some("status 206"),
                "{range}"
            );
        }
        assert_eq!(of(""), Some("status 206"));
    }
}
