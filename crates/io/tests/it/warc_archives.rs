//! Generated web archives: every record is a document, a reject, or counted as another kind. Every byte of a record that is not rejected
//! is in `kept/` or `removed/`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::corpus_files::{Inputs, gzip, unpacked};
use proptest::prelude::*;
use twinprint_io::sink::{RecordAction, copy_records};
use twinprint_io::source::{RecordKind, SourceOptions, Sources};

/// The type, a header field and the content of a record, and the kind it is counted as if it is not a document.
type Content = (&'static str, &'static str, &'static str, Option<&'static str>);

/// Records of all kinds. No content has four consecutive line ends after its HTTP head.
const CONTENTS: [Content; 21] = [
    ("warcinfo", "", "software: made up\r\n", Some("warcinfo")),
    (
        "request",
        "",
        "GET / HTTP/1.1\r\nHost: pages.example\r\n\r\n",
        Some("request"),
    ),
    ("metadata", "", "fetchTimeMs: 5\n", Some("metadata")),
    ("metadata", "", "", Some("metadata")),
    (
        "revisit",
        "",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        Some("revisit"),
    ),
    ("continuation", "", "more of it", Some("continuation")),
    ("novel", "", "of a later version", Some("other type")),
    (
        "conversion",
        "Content-Type: text/plain",
        "A text taken out of a page.\n",
        None,
    ),
    (
        "conversion",
        "Content-Type: application/pdf",
        "%PDF",
        Some("no text"),
    ),
    (
        "resource",
        "Content-Type: text/html",
        "<p>A page that was not sent.</p>",
        None,
    ),
    (
        "response",
        "",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>About WARC/1.0 files.</p>",
        None,
    ),
    (
        "response",
        "",
        "HTTP/2 200\r\nContent-Type: text/html;\r\n charset=utf-8\r\n\r\n<p>Folded.</p>\n",
        None,
    ),
    (
        "response",
        "",
        "HTTP/1.1 200\nContent-Type: text/plain\nTransfer-Encoding: chunked\n\n5\r\nWords\r\n0\r\n\r\n",
        None,
    ),
    (
        "response",
        "",
        "HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\n\r\n<p>Half</p>",
        Some("status 206"),
    ),
    (
        "response",
        "",
        "HTTP/1.1 304 Not Modified\r\n\r\n",
        Some("status 3xx"),
    ),
    (
        "response",
        "",
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>Nothing here.</p>",
        Some("status 4xx"),
    ),
    (
        "response",
        "",
        "HTTP/1.1 500 Broken\r\nContent-Type: text/html\r\n\r\n<p>Broken.</p>",
        Some("status 5xx"),
    ),
    (
        "response",
        "",
        "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\u{89}PNG",
        Some("no text"),
    ),
    ("response", "", "<p>No head at all.</p>", Some("no http head")),
    ("response", "", "", Some("empty response")),
    (
        "response",
        "WARC-Target-URI: dns:pages.example",
        "20200101000000\n192.0.2.1\n",
        Some("other protocol"),
    ),
];

/// The parameters of a generated record.
#[derive(Clone, Debug)]
struct Recipe {
    content: Content,
    version: &'static str,
    line_end: &'static str,
    separator: &'static str,
    length: Length,
}

/// The length in the header of a record.
#[derive(Clone, Debug)]
enum Length {
    Correct,
    /// Too short: a share of the content in 256ths.
    Short(u8),
    /// Too long by this number of bytes.
    Long(u64),
}

fn length() -> impl Strategy<Value = Length> {
    prop_oneof![
        6 => Just(Length::Correct),
        1 => any::<u8>().prop_map(Length::Short),
        1 => prop_oneof![1u64..300, Just(1 << 40), Just(u64::MAX)].prop_map(Length::Long),
    ]
}

fn recipe() -> impl Strategy<Value = Recipe> {
    (
        prop::sample::select(CONTENTS.to_vec()),
        prop::sample::select(vec!["0.17", "0.18", "1.0", "1.1"]),
        prop::sample::select(vec!["\r\n", "\n"]),
        prop::sample::select(vec!["\r\n\r\n", "\n\n", "\r\n", "\n", ""]),
        length(),
    )
        .prop_map(|(content, version, line_end, separator, length)| Recipe {
            content,
            version,
            line_end,
            separator,
            length,
        })
}

/// A record in an archive.
struct Placed {
    bytes: Vec<u8>,
    other: Option<&'static str>,
    damaged: bool,
}

/// The consecutive records of an archive.
fn place(records: &[Recipe]) -> Vec<Placed> {
    place_before(records, Vec::new())
}

/// The consecutive records of an archive, which the bytes `after` follow.
fn place_before(records: &[Recipe], mut after: Vec<u8>) -> Vec<Placed> {
    // From the last to the first record, because a wrong length depends on the bytes that follow.
    let mut placed = Vec::new();
    for record in records.iter().rev() {
        let (kind, field, content, other) = record.content;
        let end = record.line_end;
        let field = if field.is_empty() {
            String::new()
        } else {
            format!("{field}{end}")
        };
        let written = format!("{content}{}", record.separator);
        let wrong = wrong_length(record, written.as_bytes(), &after);
        let head = format!(
            "WARC/{}{end}WARC-Type: {kind}{end}{field}Content-Length: {:020}{end}{end}",
            record.version,
            wrong.unwrap_or(content.len() as u64),
        );
        let bytes = [head, written].concat().into_bytes();
        after.splice(..0, bytes.iter().copied());
        placed.push(Placed {
            bytes,
            other,
            damaged: wrong.is_some(),
        });
    }
    placed.reverse();
    placed
}

/// A detectably wrong length: no record ends there. `None` if the length is correct or not detectable.
fn wrong_length(record: &Recipe, written: &[u8], after: &[u8]) -> Option<u64> {
    let content = record.content.2.len();
    let length = match record.length {
        Length::Correct => return None,
        Length::Short(share) => content * usize::from(share) / 256,
        Length::Long(more) => {
            let length = (content as u64).saturating_add(more);
            match usize::try_from(length) {
                Ok(length) if length <= written.len() + after.len() => length,
                _ => return Some(length),
            }
        }
    };
    let all = [written, after].concat();
    let ends = |at: usize| {
        let rest = &all[at..];
        rest.is_empty() || rest.starts_with(b"WARC/") || matches!(rest[0], b'\r' | b'\n')
    };
    let mut positions = (length..all.len()).filter(|&at| at != content && !ends(at));
    positions.next().map(|at| at as u64)
}

/// The records counted in reading.
#[derive(Debug, Default)]
struct Counts {
    /// For each counted record, whether it is a document.
    documents: Vec<bool>,
    rejected_bytes: u64,
    other: BTreeMap<&'static str, u64>,
}

fn read(sources: &Sources) -> Counts {
    let mut counts = Counts::default();
    for batch in sources.read(1 << 20) {
        for chunk in &batch.expect("a batch").chunks {
            chunk.documents(sources.options(), &mut |record| match record.kind {
                RecordKind::Document { .. } => counts.documents.push(true),
                RecordKind::Rejected { .. } => {
                    counts.documents.push(false);
                    counts.rejected_bytes += record.raw_len;
                }
                RecordKind::Other { kind } => *counts.other.entry(kind).or_default() += 1,
                RecordKind::Blank => {}
            });
        }
    }
    counts
}

/// Reads an archive and copies its documents alternately to both sides. Returns the counts and the bytes of both sides.
fn read_and_copy(name: &str, file: &[u8]) -> (Counts, Vec<u8>, Vec<u8>) {
    let inputs = Inputs::new();
    let path = inputs.put_raw(name, file);
    let sources = inputs.find(&[&path], &SourceOptions::default()).expect("found");
    let counts = read(&sources);
    let turn = RefCell::new(false);
    let fate = |ordinal: u64| {
        if !counts.documents[ordinal as usize] {
            return RecordAction::Reject;
        }
        if turn.replace_with(|turn| !*turn) {
            RecordAction::Remove
        } else {
            RecordAction::Keep
        }
    };
    let out = inputs.sibling("out");
    copy_records(&sources, &fate, &out, &|_| {}).expect("copied");
    let side = |side: &str| unpacked(&out.join(side).join(name)).unwrap_or_default();
    let (kept, removed) = (side("kept"), side("removed"));
    (counts, kept, removed)
}

/// The expected bytes of each side, kept and removed.
fn sides(placed: &[Placed]) -> (Vec<u8>, Vec<u8>) {
    let (mut kept, mut removed) = (Vec::new(), Vec::new());
    let mut turn = false;
    for record in placed.iter().filter(|record| !record.damaged) {
        let side = if turn && record.other.is_none() {
            &mut removed
        } else {
            &mut kept
        };
        side.extend_from_slice(&record.bytes);
        turn ^= record.other.is_none();
    }
    (kept, removed)
}

proptest! {
    #[test]
    fn every_record_is_counted_once_and_copied_once(
        recipes in prop::collection::vec(recipe(), 1..12),
        packed in any::<bool>(),
    ) {
        let placed = place(&recipes);
        let (name, file) = if packed {
            ("a.warc.gz", placed.iter().flat_map(|record| gzip(&record.bytes)).collect::<Vec<u8>>())
        } else {
            ("a.warc", placed.iter().flat_map(|record| record.bytes.clone()).collect())
        };
        let (counts, kept, removed) = read_and_copy(name, &file);
        let intact = || placed.iter().filter(|record| !record.damaged);
        let mut other = BTreeMap::new();
        for kind in intact().filter_map(|record| record.other) {
            *other.entry(kind).or_insert(0) += 1;
        }
        prop_assert_eq!(counts.other, other);
        let documents = intact().filter(|record| record.other.is_none()).count();
        prop_assert_eq!(counts.documents.iter().filter(|&&is_document| is_document).count(), documents);
        let rejected = counts.documents.len() - documents;
        prop_assert_eq!(rejected, placed.iter().filter(|record| record.damaged).count());
        let expected = sides(&placed);
        prop_assert_eq!(String::from_utf8_lossy(&kept), String::from_utf8_lossy(&expected.0));
        prop_assert_eq!(String::from_utf8_lossy(&removed), String::from_utf8_lossy(&expected.1));
    }

    #[test]
    fn a_truncated_archive_loses_only_its_last_record(
        mut recipes in prop::collection::vec(recipe(), 1..8),
        at in any::<prop::sample::Index>(),
    ) {
        for record in &mut recipes {
            record.length = Length::Correct;
        }
        let placed = place(&recipes);
        let file: Vec<u8> = placed.iter().flat_map(|record| record.bytes.clone()).collect();
        let cut = &file[..at.index(file.len())];
        let (counts, kept, removed) = read_and_copy("a.warc", cut);
        let mut start = 0;
        let begun = placed.iter().filter(|record| {
            let begins = start < cut.len();
            start += record.bytes.len();
            begins
        });
        let begun = begun.count() as u64;
        let counted = counts.documents.len() as u64 + counts.other.values().sum::<u64>();
        prop_assert_eq!(counted, begun);
        let rejected = counts.documents.iter().filter(|&&is_document| !is_document).count();
        prop_assert!(rejected <= 1);
        if rejected == 0 {
            prop_assert_eq!(kept.len() + removed.len(), cut.len());
        }
    }

    #[test]
    fn every_byte_of_a_damaged_archive_is_accounted_for(
        recipes in prop::collection::vec(recipe(), 1..8),
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0..40usize, damage()), 1..6),
    ) {
        let mut file: Vec<u8> = place(&recipes).into_iter().flat_map(|record| record.bytes).collect();
        for (at, length, new) in damages {
            let at = at.index(file.len() + 1);
            let end = (at + length).min(file.len());
            file.splice(at..end, new);
        }
        let (counts, kept, removed) = read_and_copy("a.warc", &file);
        let copied = kept.len() as u64 + removed.len() as u64;
        prop_assert_eq!(copied + counts.rejected_bytes, file.len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_wrong_length_above_the_limit_rejects_one_record(
        recipe in recipe(),
        length in prop_oneof![(1u64 << 20)..(3 << 20), Just(1 << 40)],
        packed in any::<bool>(),
    ) {
        let text = "A page of some length, with words that say nothing much. ".repeat(3000);
        let page = |content: &'static str| Recipe {
            content: ("resource", "Content-Type: text/plain", content, None),
            version: "1.0",
            line_end: "\r\n",
            separator: "\r\n\r\n",
            length: Length::Correct,
        };
        let long = Recipe { length: Length::Long(length), ..recipe };
        let mut all = vec![page("first"), long];
        all.extend((0..16).map(|_| page("page")));
        let mut placed = place(&all[2..]);
        for record in &mut placed {
            // A page of more than 100 kB.
            record.bytes = format!(
                "WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{text}\r\n\r\n",
                text.len()
            ).into_bytes();
        }
        let after: Vec<u8> = placed.iter().flat_map(|record| record.bytes.clone()).collect();
        let mut before = place_before(&all[..2], after);
        before.append(&mut placed);
        let pack = |record: &Placed| if packed { gzip(&record.bytes) } else { record.bytes.clone() };
        let file: Vec<u8> = before.iter().flat_map(pack).collect();
        let (counts, kept, removed) = read_and_copy(if packed { "a.warc.gz" } else { "a.warc" }, &file);
        let damaged = before.iter().filter(|record| record.damaged);
        let lost: usize = damaged.clone().map(|record| record.bytes.len()).sum();
        prop_assert_eq!(counts.documents.iter().filter(|&&is_document| !is_document).count(), damaged.count());
        prop_assert_eq!(counts.documents.iter().filter(|&&is_document| is_document).count(), 17);
        prop_assert!(counts.other.is_empty());
        prop_assert_eq!(counts.rejected_bytes, lost as u64);
        let expected = sides(&before);
        prop_assert!(kept == expected.0 && removed == expected.1);
    }
}

/// Bytes that replace others.
fn damage() -> impl Strategy<Value = Vec<u8>> {
    let tokens = prop::sample::select(vec![
        "",
        "\n",
        "\r\n\r\n",
        "WARC/1.0\r\n",
        "WARC/1.",
        "W",
        "Content-Length: 7\r\n",
        "HTTP/1.1 ",
    ]);
    prop_oneof![
        tokens.prop_map(|token| token.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..20),
    ]
}
