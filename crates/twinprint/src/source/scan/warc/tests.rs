use proptest::prelude::*;

use super::*;

/// A record of a type with a body.
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

/// The spans of a file that arrives in pieces of `step` bytes, as the splitter hands them on.
fn spans(file: &[u8], step: usize, max: u64) -> Vec<(Part, Vec<u8>)> {
    let mut scan = WarcScan::new(max);
    let (mut held, mut told) = (Vec::new(), Vec::new());
    let mut take = |held: &mut Vec<u8>, spans: Vec<Span>| {
        let mut at = 0;
        for span in spans {
            told.push((span.part, held[at..span.end].to_vec()));
            at = span.end;
        }
        held.drain(..at);
    };
    for piece in file.chunks(step) {
        let from = held.len();
        held.extend_from_slice(piece);
        let mut found = Vec::new();
        scan.scan(&held, from, &mut found).unwrap();
        take(&mut held, found);
    }
    let mut found = Vec::new();
    let _ = scan.finish(&held, &mut found);
    take(&mut held, found);
    told
}

fn records(file: &[u8], step: usize) -> Vec<(Part, Vec<u8>)> {
    spans(file, step, 1 << 20)
}

#[test]
fn records_are_told_by_what_they_are() {
    let parts = [
        (
            Part::Other(Some("warcinfo")),
            record("warcinfo", "", b"software: own\r\n"),
        ),
        (
            Part::Other(Some("request")),
            record("request", "", b"GET / HTTP/1.1\r\n\r\n"),
        ),
        (Part::Record, page("one")),
        (
            Part::Other(Some("revisit")),
            record("revisit", "", b"HTTP/1.1 304 Not Modified\r\n\r\n"),
        ),
        (
            Part::Other(Some("no text")),
            record(
                "response",
                "",
                b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG",
            ),
        ),
        (Part::Other(Some("no text")), record("response", "", b"")),
        (
            Part::Record,
            record("conversion", "Content-Type: text/plain\r\n", b"plain text"),
        ),
        (
            Part::Record,
            record("resource", "Content-Type: text/html\r\n", b"<p>page"),
        ),
        (Part::Other(Some("metadata")), record("metadata", "", b"")),
    ];
    let file: Vec<u8> = parts.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    for step in [1, 7, 100, 1 << 20] {
        assert_eq!(records(&file, step), parts, "in steps of {step}");
    }
}

#[test]
fn a_wrong_length_costs_one_record() {
    let wrong = |said: usize| {
        let body = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>a page of some length</p>";
        format!("WARC/1.0\r\nWARC-Type: response\r\nContent-Length: {said}\r\n\r\n{body}\r\n\r\n")
            .into_bytes()
    };
    for said in [3, 60, 100, 200, 400, 100_000] {
        let bad = wrong(said);
        let file = [page("one"), bad.clone(), page("two"), page("three")].concat();
        for step in [1, 13, 1 << 20] {
            let told = records(&file, step);
            let texts: Vec<_> = told
                .iter()
                .map(|(part, bytes)| (*part, String::from_utf8_lossy(bytes).into_owned()))
                .collect();
            assert_eq!(told.concat_bytes(), file);
            assert_eq!(told.first().unwrap().1, page("one"));
            assert_eq!(told.last().unwrap().1, page("three"), "{said} {texts:#?}");
            assert_eq!(told[told.len() - 2].1, page("two"), "{said} {texts:#?}");
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
        let told = records(&file, step);
        assert_eq!(told.len(), 4, "{told:?}");
        assert_eq!(told[2].1, page("two"));
    }
}

#[test]
fn long_records_that_are_no_documents_are_not_held() {
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
    let told = spans(&file, 100, 400);
    assert_eq!(told.first().unwrap().1, page("one"));
    assert_eq!(told.last().unwrap().1, page("two"));
    assert!(told.iter().all(|(_, bytes)| bytes.len() <= 500));
    assert_eq!(
        told.iter()
            .filter(|(part, _)| *part == Part::Other(Some("no text")))
            .count(),
        1
    );
    assert_eq!(told.concat_bytes(), file);
}

trait ConcatBytes {
    fn concat_bytes(&self) -> Vec<u8>;
}

impl ConcatBytes for Vec<(Part, Vec<u8>)> {
    fn concat_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
    }
}

proptest! {
    #[test]
    fn spans_do_not_depend_on_how_the_bytes_arrive(
        tokens in prop::collection::vec(prop::sample::select(vec![
            "WARC/1.0\r\n", "WARC-Type: response\r\n", "WARC-Type: request\r\n", "Content-Length: 12\r\n", "Content-Length: 40\r\n",
            "\r\n", "\n", "HTTP/1.1 200 OK\r\n", "Content-Type: text/html\r\n", "<p>text</p>", "WARC/1.1\nWARC-Type: conversion\n",
        ]), 0..40),
        step in 1usize..60,
    ) {
        let file = tokens.concat().into_bytes();
        let (whole, pieces) = (records(&file, 1 << 20), records(&file, step));
        prop_assert_eq!(whole.concat_bytes(), file);
        prop_assert_eq!(whole, pieces);
    }
}
