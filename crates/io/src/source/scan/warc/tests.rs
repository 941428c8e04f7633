use proptest::prelude::*;

use super::*;

/// A record with a type and a body.
fn record(kind: &str, extra: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\n{extra}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body, b"\r\n\r\n"].concat()
}

fn page(text: &str) -> Vec<u8> {
    let body = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{text}</p>");
    record("response", "", body.as_bytes())
}

/// The spans of a file that is scanned in pieces of `step` bytes.
fn spans(file: &[u8], step: usize, max: u64) -> Vec<(SpanKind, Vec<u8>)> {
    scanned(file, step, max, false)
}

fn scanned(file: &[u8], step: usize, max: u64, any_status: bool) -> Vec<(SpanKind, Vec<u8>)> {
    let mut scan = WarcScan::new(max, any_status);
    let (mut buffer, mut found_spans) = (Vec::new(), Vec::new());
    let mut take = |buffer: &mut Vec<u8>, spans: Vec<Span>| {
        let mut at = 0;
        for span in spans {
            found_spans.push((span.part, buffer[at..span.end].to_vec()));
            at = span.end;
        }
        buffer.drain(..at);
    };
    for piece in file.chunks(step) {
        let from = buffer.len();
        buffer.extend_from_slice(piece);
        let mut found = Vec::new();
        scan.scan(&buffer, from, &mut found).unwrap();
        take(&mut buffer, found);
    }
    let mut found = Vec::new();
    let _ = scan.finish(&buffer, &mut found);
    take(&mut buffer, found);
    found_spans
}

fn records(file: &[u8], step: usize) -> Vec<(SpanKind, Vec<u8>)> {
    spans(file, step, 1 << 20)
}

#[test]
fn records_are_classified_by_their_content() {
    let parts = [
        (
            SpanKind::Other(Some("warcinfo")),
            record("warcinfo", "", b"software: own\r\n"),
        ),
        (
            SpanKind::Other(Some("request")),
            record("request", "", b"GET / HTTP/1.1\r\n\r\n"),
        ),
        (SpanKind::Record, page("one")),
        (
            SpanKind::Other(Some("revisit")),
            record("revisit", "", b"HTTP/1.1 304 Not Modified\r\n\r\n"),
        ),
        (
            SpanKind::Other(Some("no text")),
            record(
                "response",
                "",
                b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG",
            ),
        ),
        (
            SpanKind::Other(Some("empty response")),
            record("response", "", b""),
        ),
        (
            SpanKind::Other(Some("no http head")),
            record("response", "", b"<html><p>a page without its head</p></html>"),
        ),
        (
            SpanKind::Other(Some("broken http head")),
            record("response", "", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"),
        ),
        (
            SpanKind::Other(Some("broken http head")),
            record(
                "response",
                "",
                b"HTTP/1.1 OK\r\nContent-Type: text/html\r\n\r\npage",
            ),
        ),
        (
            SpanKind::Other(Some("other protocol")),
            record(
                "response",
                "WARC-Target-URI: dns:pages.example\r\n",
                b"20200101000000\n192.0.2.1\n",
            ),
        ),
        (SpanKind::Other(Some("other type")), record("novel", "", b"text")),
        (
            SpanKind::Other(Some("continuation")),
            record("continuation", "", b"text"),
        ),
        (
            SpanKind::Record,
            record("conversion", "Content-Type: text/plain\r\n", b"plain text"),
        ),
        (
            SpanKind::Record,
            record("resource", "Content-Type: text/html\r\n", b"<p>page"),
        ),
        (SpanKind::Other(Some("metadata")), record("metadata", "", b"")),
    ];
    let file: Vec<u8> = parts.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    for step in [1, 7, 100, 1 << 20] {
        assert_eq!(records(&file, step), parts, "in steps of {step}");
    }
}

#[test]
fn responses_are_documents_by_their_status() {
    let by_status = [
        ("HTTP/1.1 200 OK", None),
        ("HTTP/2 200", None),
        ("HTTP/1.1 203 Non-Authoritative", None),
        (
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-10/11",
            None,
        ),
        (
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-10/12",
            Some("status 206"),
        ),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", None),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy",
            Some("status 5xx"),
        ),
        ("HTTP/1.1 101 Switching Protocols", Some("status 1xx")),
        ("HTTP/1.1 301 Moved", Some("status 3xx")),
        ("HTTP/1.1 304", Some("status 3xx")),
        ("HTTP/2.0 404 Not Found", Some("status 4xx")),
        ("HTTP/1.1 999 Denied", Some("other status")),
        ("HTTP/1.1 000 None", Some("other status")),
    ];
    for (line, other) in by_status {
        let body = format!("{line}\r\nContent-Type: text/html\r\n\r\n<p>text</p>");
        let file = record("response", "", body.as_bytes());
        for step in [1, 7, 1 << 20] {
            let part = other.map_or(SpanKind::Record, |kind| SpanKind::Other(Some(kind)));
            assert_eq!(records(&file, step), [(part, file.clone())], "{line}");
            let any = scanned(&file, step, 1 << 20, true);
            assert_eq!(any, [(SpanKind::Record, file.clone())], "{line}");
        }
    }
}

#[test]
fn markup_is_detected_in_pieces_of_any_size() {
    for (body, part) in [
        ("  \n<!DOCTYPE html><p>text", SpanKind::Record),
        ("<html><p>text", SpanKind::Record),
        ("plain", SpanKind::Other(Some("no text"))),
    ] {
        for (kind, head) in [
            ("response", "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n"),
            ("resource", ""),
        ] {
            for more in [0, 1000, 100_000] {
                let content = format!("{head}{body}{}", "x".repeat(more));
                let file = record(kind, "", content.as_bytes());
                for step in [1, 100, 1 << 20] {
                    assert_eq!(records(&file, step), [(part, file.clone())]);
                }
            }
        }
    }
}

#[test]
fn records_need_no_line_ends_between_them() {
    for version in ["0.17", "0.18", "1.0", "1.1"] {
        for end in ["\r\n", "\n"] {
            for separator in ["", "\n", "\r\n", "\r\n\r\n", "\n\n", "\n\n\n\n"] {
                let page = |text: &str| {
                    let body = format!("HTTP/1.1 200 OK{end}Content-Type: text/html{end}{end}<p>{text}</p>");
                    let head = format!(
                        "WARC/{version}{end}WARC-Type: response{end}Content-Length: {}{end}{end}",
                        body.len()
                    );
                    (
                        SpanKind::Record,
                        [head, body, separator.to_owned()].concat().into_bytes(),
                    )
                };
                let parts = [page("one"), page("Words that begin with WARC/1.0"), page("")];
                let file = parts.to_vec().concat_bytes();
                for step in [1, 2, 3, 5, 7, 100, 1 << 20] {
                    assert_eq!(
                        records(&file, step),
                        parts,
                        "{version} {separator:?} in steps of {step}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_truncated_header_ends_where_the_next_record_begins() {
    let cut = b"WARC/1.0\r\nWARC-Type: response\r\n".to_vec();
    let file = [page("one"), cut.clone(), page("two")].concat();
    for step in [1, 13, 1 << 20] {
        let found = records(&file, step);
        let bytes: Vec<_> = found.iter().map(|(_, bytes)| bytes.clone()).collect();
        assert_eq!(
            bytes,
            [page("one"), cut.clone(), page("two")],
            "in steps of {step}"
        );
    }
}

#[test]
fn a_huge_length_rejects_one_record_of_any_kind() {
    for kind in ["response", "request", "metadata", "conversion", "novel"] {
        let bad =
            format!("WARC/0.18\r\nWARC-Type: {kind}\r\nContent-Length: 999999999999\r\n\r\ntext\r\n\r\n");
        let file = [page("one"), bad.into_bytes(), page("two"), page("three")].concat();
        for (step, max) in [(1, 1 << 20), (13, 1 << 20), (1 << 20, 1 << 20)] {
            let found = spans(&file, step, max);
            let parts: Vec<_> = found.iter().map(|(part, _)| *part).collect();
            assert_eq!(parts, [SpanKind::Record; 4], "{kind} in steps of {step}");
            assert_eq!(found[2].1, page("two"), "{kind}");
            assert_eq!(found.concat_bytes(), file);
        }
    }
    // A record with a length above the limit does not include the records after it.
    let bad = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Type: text/plain\r\nContent-Length: 99999999\r\n\r\ntext\r\n\r\n";
    let many: Vec<Vec<u8>> = (0..100).map(|i| page(&i.to_string())).collect();
    let file = [page("one"), bad.to_vec(), many.concat()].concat();
    for step in [50, 1 << 20] {
        let found = spans(&file, step, 400);
        assert_eq!(found.len(), 102, "in steps of {step}");
        assert_eq!(found.concat_bytes(), file);
    }
}

#[test]
fn a_wrong_length_above_the_buffer_limit_affects_one_record() {
    let pages: Vec<Vec<u8>> = (0..1500).map(|i| page(&i.to_string().repeat(600))).collect();
    for length in [MAX_OTHER_BYTES, MAX_OTHER_BYTES + 500, 2_000_000, 1 << 40] {
        let bad = format!("WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: {length}\r\n\r\nshort\r\n\r\n");
        let file = [page("one"), bad.clone().into_bytes(), pages.concat()].concat();
        for step in [1 << 16, 1 << 20, 1 << 23] {
            let found = spans(&file, step, 64 << 20);
            let records = [page("one"), bad.clone().into_bytes()];
            let expected = records
                .iter()
                .chain(&pages)
                .map(|record| (SpanKind::Record, record));
            assert!(
                found.iter().map(|(part, bytes)| (*part, bytes)).eq(expected),
                "{length} in steps of {step}"
            );
        }
    }
}

#[test]
fn a_wrong_length_affects_one_record() {
    let wrong = |length: usize| {
        let body = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>a page of some length</p>";
        format!("WARC/1.0\r\nWARC-Type: response\r\nContent-Length: {length}\r\n\r\n{body}\r\n\r\n")
            .into_bytes()
    };
    for length in [3, 60, 100, 200, 400, 100_000] {
        let bad = wrong(length);
        let file = [page("one"), bad.clone(), page("two"), page("three")].concat();
        for step in [1, 13, 1 << 20] {
            let found = records(&file, step);
            let texts: Vec<_> = found
                .iter()
                .map(|(part, bytes)| (*part, String::from_utf8_lossy(bytes).into_owned()))
                .collect();
            assert_eq!(found.concat_bytes(), file);
            assert_eq!(found.first().unwrap().1, page("one"));
            assert_eq!(found.last().unwrap().1, page("three"), "{length} {texts:#?}");
            assert_eq!(found[found.len() - 2].1, page("two"), "{length} {texts:#?}");
        }
    }
}

#[test]
fn garbage_between_records_is_one_span() {
    let file = [
        page("one"),
        b"garbage\nmore of it\n\n".to_vec(),
        page("two"),
        b"WARC/1.0\r\nno header".to_vec(),
    ]
    .concat();
    for step in [1, 13, 1 << 20] {
        let found = records(&file, step);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[2].1, page("two"));
    }
}

#[test]
fn long_records_that_are_not_documents_are_not_buffered() {
    let long = record(
        "response",
        "",
        &[
            b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n".as_slice(),
            &[7; 5000],
        ]
        .concat(),
    );
    let file = [page("one"), long.clone(), page("two")].concat();
    let found = spans(&file, 100, 400);
    assert_eq!(found.first().unwrap().1, page("one"));
    assert_eq!(found.last().unwrap().1, page("two"));
    assert!(found.iter().all(|(_, bytes)| bytes.len() <= 500));
    assert_eq!(
        found
            .iter()
            .filter(|(part, _)| *part == SpanKind::Other(Some("no text")))
            .count(),
        1
    );
    assert_eq!(found.concat_bytes(), file);
}

trait ConcatBytes {
    fn concat_bytes(&self) -> Vec<u8>;
}

impl ConcatBytes for Vec<(SpanKind, Vec<u8>)> {
    fn concat_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
    }
}

/// The spans, in which continuations are joined to the span that they continue.
fn joined(found: Vec<(SpanKind, Vec<u8>)>) -> Vec<(SpanKind, Vec<u8>)> {
    let mut joined: Vec<(SpanKind, Vec<u8>)> = Vec::new();
    for (part, bytes) in found {
        match joined.last_mut().filter(|_| part == SpanKind::Other(None)) {
            Some((_, before)) => before.extend_from_slice(&bytes),
            None => joined.push((part, bytes)),
        }
    }
    joined
}

proptest! {
    #[test]
    fn spans_do_not_depend_on_the_size_of_pieces(
        tokens in prop::collection::vec(prop::sample::select(vec![
            "WARC/1.0\r\n", "WARC/0.18\n", "WARC-Type: response\r\n", "WARC-Type: request\r\n", "Content-Length: 12\r\n",
            "Content-Length: 40\r\n", "Content-Length: 500\r\n", "\r\n", "\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 404 Gone\r\n",
            "Content-Type: text/html\r\n", "<p>text</p>", "WARC/1.1\nWARC-Type: conversion\n", "W", "WAR",
            "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n",
            "WARC/0.18\nWARC-Type: conversion\nContent-Type: text/plain\nContent-Length: 4\n\ntext",
        ]), 0..40),
        step in 1usize..60,
    ) {
        let file = tokens.concat().into_bytes();
        let (whole, pieces) = (records(&file, 1 << 20), records(&file, step));
        prop_assert_eq!(whole.concat_bytes(), file.clone());
        prop_assert_eq!(whole, pieces);
        // With a small buffer, no bytes are lost either.
        for max in [0, 5, 30, 100] {
            let pieces = spans(&file, step, max);
            prop_assert_eq!(pieces.concat_bytes(), file.clone());
            prop_assert!(joined(pieces).iter().all(|(_, bytes)| !bytes.is_empty()));
        }
    }
}
