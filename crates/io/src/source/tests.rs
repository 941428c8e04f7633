//! The splitter compared with its brute-force twin, which splits all bytes at once; and stdin.

use std::io::{self, Read};
use std::sync::Arc;

use proptest::prelude::*;
use twinprint_text::charset::Charset;

use super::block::BOM;
use super::byte_stream::ByteStream;
use super::discover::discover;
use super::loss::Loss;
use super::record_limits::RecordLimits;
use super::reject::RejectReason;
use super::scan::{Lines, Scan, SpanKind, content, scanner};
use super::split::{SplitItem, Splitter, StreamFailure};
use super::{Codec, Format, SourceError, SourceOptions};

/// A line that the splitter reported: its number, and its bytes or the length of a line that is too long.
type SplitLine = (u64, Result<Vec<u8>, u64>);

/// The unread bytes that a broken stream reports.
const UNREAD: u64 = 9;

fn broken(error: &io::Error) -> StreamFailure {
    StreamFailure {
        reason: RejectReason::Unreadable {
            message: error.to_string(),
        },
        unread_bytes: UNREAD,
    }
}

fn up_to(max: u64) -> SourceOptions {
    SourceOptions {
        max_document: max,
        ..SourceOptions::default()
    }
}

fn record_limits(max: u64) -> RecordLimits {
    RecordLimits::of(&up_to(max))
}

fn lines_to(max: u64) -> Box<dyn Scan> {
    scanner(Format::Lines, Charset::UTF_8, &up_to(max))
}

/// A stream that reads by the default method of [`ByteStream`].
struct OnlyRead<R>(R);

impl<R: Read> Read for OnlyRead<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl<R: Read + Send> ByteStream for OnlyRead<R> {}

fn split(
    stream: impl Read + Send,
    piece: usize,
    max: u64,
    limit: u64,
) -> (Vec<SplitLine>, u64, Option<RejectReason>) {
    let mut splitter = Splitter::new(
        OnlyRead(stream),
        lines_to(max),
        Charset::UTF_8,
        piece,
        record_limits(max),
        limit,
    );
    let (mut lines, mut count, mut lost) = (Vec::new(), 0, None);
    while let Some(next) = splitter.next(broken) {
        assert!(lost.is_none(), "an item follows the rest of a broken stream");
        match next {
            SplitItem::RecordBlock(piece) => {
                let mut records = 0;
                for (span, bytes) in piece.parts() {
                    if span.part == SpanKind::Opening {
                        assert_eq!(bytes, BOM);
                        continue;
                    }
                    records += u64::from(span.part == SpanKind::Record);
                    for (line, number) in Lines(bytes).zip(span.line..) {
                        let length = content(line).len() as u64;
                        let long = length > max;
                        let blank = !long && line.iter().all(u8::is_ascii_whitespace);
                        assert_eq!(blank, span.part == SpanKind::Blank);
                        lines.push((number, if long { Err(length) } else { Ok(line.to_vec()) }));
                    }
                }
                assert_eq!(records, piece.records);
                count += records;
            }
            SplitItem::Rejected {
                line,
                raw_len,
                reason,
            } => {
                count += 1;
                match reason {
                    RejectReason::TooLong { bytes, limit } => {
                        assert_eq!((bytes, limit), (Some(raw_len), max));
                        lines.push((line, Err(raw_len)));
                    }
                    reason => lost = Some(reason),
                }
            }
        }
    }
    (lines, count, lost)
}

fn split_by_definition(bytes: &[u8], max: u64, limit: u64) -> (Vec<SplitLine>, u64) {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let (mut lines, mut count) = (Vec::new(), 0);
    for (line, number) in bytes.split_inclusive(|&b| b == b'\n').zip(1..) {
        if count == limit {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let length = text.len() as u64;
        count += u64::from(length > max || text.iter().any(|b| !b" \t\r\x0c".contains(b)));
        lines.push((
            number,
            if length > max {
                Err(length)
            } else {
                Ok(line.to_vec())
            },
        ));
    }
    (lines, count)
}

/// A reader that returns a few bytes at a time, and then an error or the end.
struct SlowReader<'a> {
    bytes: &'a [u8],
    step: usize,
    error: bool,
}

impl Read for SlowReader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() && self.error {
            return Err(io::Error::other("broken"));
        }
        let length = self.step.min(buf.len()).min(self.bytes.len());
        buf[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes = &self.bytes[length..];
        Ok(length)
    }
}

fn lines() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![4 => "[ab]{0,12}", 1 => "[ \t\r]{0,3}", 1 => "[ab]{12,60}", 1 => "[ab]{0,5}\r"];
    (prop::collection::vec(line, 0..20), any::<bool>(), any::<bool>()).prop_map(|(lines, mark, end)| {
        let mut bytes = if mark { BOM.to_vec() } else { Vec::new() };
        bytes.extend_from_slice(lines.join("\n").as_bytes());
        if end {
            bytes.push(b'\n');
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pieces_contain_the_lines(
        bytes in lines(), piece in 1usize..40, max in 0u64..70, limit in prop_oneof![0u64..10, Just(u64::MAX)], step in 1usize..20,
    ) {
        let stream = SlowReader { bytes: &bytes, step, error: false };
        let (lines, count, lost) = split(stream, piece, max, limit);
        prop_assert_eq!((lines, count), split_by_definition(&bytes, max, limit));
        prop_assert_eq!(lost, None);
    }

    #[test]
    fn a_broken_stream_yields_its_complete_lines_and_one_reject(
        bytes in lines(), piece in 1usize..40, max in 0u64..70, step in 1usize..20,
    ) {
        let (lines, count, lost) = split(SlowReader { bytes: &bytes, step, error: true }, piece, max, u64::MAX);
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
        let (expected, records) = split_by_definition(&bytes[..whole], max, u64::MAX);
        prop_assert_eq!(lines, expected);
        prop_assert_eq!(count, records + 1);
        // The bytes after the last line end, or after the byte order mark, are lost.
        let whole = whole.max(if bytes.starts_with(BOM) { BOM.len() } else { 0 });
        let loss = Loss {
            bytes: (bytes.len() - whole) as u64,
            lines: u64::from(whole < bytes.len()),
            ..Loss::unread(UNREAD)
        };
        let reason = RejectReason::Unreadable { message: "broken".to_owned() };
        prop_assert_eq!(lost, Some(reason.losing(loss)));
    }
}

#[test]
fn a_long_line_is_not_buffered() {
    // A line of half a gigabyte, then a short one.
    let long = 512u64 << 20;
    let stream = io::repeat(b'x').take(long).chain(&b"\nshort\n"[..]);
    let max = 1 << 18;
    let mut splitter = Splitter::new(
        OnlyRead(stream),
        lines_to(max),
        Charset::UTF_8,
        1 << 16,
        record_limits(max),
        u64::MAX,
    );
    let first = splitter.next(broken);
    assert!(matches!(first, Some(SplitItem::Rejected { line: 1, raw_len, .. }) if raw_len == long));
    let Some(SplitItem::RecordBlock(piece)) = splitter.next(broken) else {
        panic!("expected the short line")
    };
    assert_eq!((piece.spans[0].line, piece.records), (2, 1));
    assert_eq!(piece.data, b"short\n");
    assert!(piece.data.capacity() < 1 << 20);
    assert_eq!(splitter.next(broken), None);
}

fn from_stdin(bytes: &[u8], options: &SourceOptions) -> Result<super::discover::Discovered, SourceError> {
    let dir = tempfile::tempdir().expect("a directory");
    discover(
        &["-".to_owned()],
        options,
        dir.path(),
        &Arc::default(),
        &mut &bytes[..],
    )
}

#[test]
fn stdin_is_spooled_and_its_codec_is_detected() {
    let options = SourceOptions {
        format: Some(Format::Jsonl),
        ..SourceOptions::default()
    };
    for (bytes, codec, name) in [
        (&b"{}\n"[..], Codec::Plain, "stdin.jsonl"),
        (b"\x1f\x8b\x08", Codec::Gzip, "stdin.jsonl.gz"),
        (b"\x28\xb5\x2f\xfd\x00", Codec::Zstd, "stdin.jsonl.zst"),
        (b"", Codec::Plain, "stdin.jsonl"),
    ] {
        let found = from_stdin(bytes, &options).expect("found");
        let file = &found.files[0];
        assert_eq!(
            (file.codec, file.label.as_str(), file.bytes),
            (codec, "stdin", bytes.len() as u64)
        );
        assert_eq!(file.relative.to_str(), Some(name));
    }
    let none = from_stdin(b"", &SourceOptions::default());
    assert!(matches!(none, Err(SourceError::StdinFormat)));
    let dir = tempfile::tempdir().expect("a directory");
    let twice = ["-".to_owned(), "-".to_owned()];
    let twice = discover(&twice, &options, dir.path(), &Arc::default(), &mut io::empty());
    assert!(matches!(twice, Err(SourceError::StdinTwice)));
    assert_eq!(
        std::fs::read_dir(dir.path()).expect("listed").count(),
        0,
        "the copy of stdin is not deleted"
    );
}
