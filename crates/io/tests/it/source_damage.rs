//! Files that are truncated, changed or followed by junk: the loss is reported and counted, and the rest is read.

use std::io::Read;

use crate::corpus_files::{Inputs, Kind, Owned, packed, read_all};
use proptest::prelude::*;
use twinprint_io::source::{Intake, SourceError, SourceOptions};

const CODECS: [&str; 5] = [".gz", ".zst", ".bz2", ".xz", ".lz4"];
const FORMATS: [&str; 4] = ["jsonl", "json", "csv", "txt"];

fn options() -> SourceOptions {
    SourceOptions {
        lines: true,
        ..SourceOptions::default()
    }
}

/// A file of `records` records, without a line end after the last.
fn file(format: &str, records: usize) -> String {
    let text = |i: usize| format!("record {i} has the number {}", i * i);
    let object = |i: usize| format!("{{\"id\":{i},\"text\":\"{}\"}}", text(i));
    let all = 0..records;
    match format {
        "jsonl" => all.map(object).collect::<Vec<_>>().join("\n"),
        "json" => format!("[{}]", all.map(object).collect::<Vec<_>>().join(",\n")),
        "csv" => format!(
            "id,text\n{}",
            all.map(|i| format!("{i},{}", text(i)))
                .collect::<Vec<_>>()
                .join("\n")
        ),
        _ => all.map(text).collect::<Vec<_>>().join("\n"),
    }
}

fn packed_as(codec: &str, bytes: &[u8]) -> Vec<u8> {
    packed(&format!("a{codec}"), bytes)
}

/// The damage done to a file.
#[derive(Clone, Debug)]
enum Damage {
    /// The end is missing, from a position in thousandths of the file.
    Cut(usize),
    /// A bit is flipped, at a position in thousandths.
    Flip(usize, u8),
    /// Bytes follow the file.
    Junk(Vec<u8>),
    /// Bytes are overwritten, at a position in thousandths.
    Overwritten(usize, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let position = 0usize..1000;
    prop_oneof![
        position.clone().prop_map(Damage::Cut),
        (position.clone(), 0u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        // Bytes that are neither padding nor the beginning of another member of any codec.
        prop::collection::vec(b'a'..=b'z', 1..40).prop_map(Damage::Junk),
        (position, prop::collection::vec(any::<u8>(), 1..40))
            .prop_map(|(at, bytes)| Damage::Overwritten(at, bytes)),
    ]
}

impl Damage {
    fn apply_to(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let position = |at: usize| bytes.len() * at / 1000;
        match self {
            Self::Cut(at) => bytes.truncate(position(*at).max(1)),
            Self::Flip(at, bit) => {
                let at = position(*at);
                bytes[at] ^= 1 << bit;
            }
            Self::Junk(junk) => bytes.extend_from_slice(junk),
            Self::Overwritten(at, others) => {
                let at = position(*at);
                for (byte, other) in bytes[at..].iter_mut().zip(others) {
                    *byte = *other;
                }
            }
        }
        bytes
    }
}

/// The numbers of documents and of rejects.
fn counts(records: &[Owned]) -> (u64, u64) {
    let documents = records
        .iter()
        .filter(|r| matches!(r.kind, Kind::Document { .. }))
        .count();
    let rejects = records
        .iter()
        .filter(|r| matches!(r.kind, Kind::Rejected(_)))
        .count();
    (documents as u64, rejects as u64)
}

/// The intake, even if no record was accepted.
fn intake_of(intake: Result<Intake, SourceError>) -> Intake {
    match intake {
        Ok(intake) => intake,
        Err(SourceError::NothingAccepted(intake)) => *intake,
        Err(other) => panic!("{other}"),
    }
}

/// True if a decoder fails on a compressed file.
fn is_broken(codec: &str, bytes: &[u8]) -> bool {
    let mut stream: Box<dyn Read + '_> = match codec {
        ".gz" => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        ".zst" => match zstd::Decoder::new(bytes) {
            Ok(decoder) => Box::new(decoder),
            Err(_) => return true,
        },
        ".bz2" => Box::new(bzip2::read::MultiBzDecoder::new(bytes)),
        ".xz" => Box::new(lzma_rust2::XzReader::new(bytes, true)),
        other => unreachable!("{other}"),
    };
    stream.read_to_end(&mut Vec::new()).is_err()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_loss_of_a_damaged_compressed_file_is_reported(
        records in 1usize..60,
        damage in damage(),
        format in prop::sample::select(&FORMATS[..]),
        codec in prop::sample::select(&CODECS[..]),
        ended in any::<bool>(),
    ) {
        let mut plain = file(format, records);
        if ended {
            plain.push('\n');
        }
        let inputs = Inputs::new();
        let bytes = damage.apply_to(packed_as(codec, plain.as_bytes()));
        let path = inputs.put_raw(&format!("a.{format}{codec}"), &bytes);
        let sources = inputs.find(&[&path], &options()).expect("found");
        let found = read_all(&sources, 1 << 20);
        let intake = intake_of(sources.intake());
        prop_assert_eq!(counts(&found), (intake.accepted, intake.rejected));
        prop_assert_eq!(intake.rejected, intake.files.iter().map(|file| file.rejected).sum::<u64>());
        let lost = intake.damaged().next().is_some();
        // If records are missing, the file is reported as damaged.
        prop_assert!(lost || intake.records() >= records as u64, "{:?}", intake);
        if let Damage::Junk(_) = damage {
            prop_assert!(lost, "junk after a stream must be reported");
            let taken = intake.accepted == records as u64;
            prop_assert!(taken || codec != ".gz", "{:?}", intake);
        }
        if let Damage::Cut(_) = damage {
            prop_assert!(lost, "{:?}", intake);
        }
    }

    #[test]
    fn a_file_is_reported_as_damaged_exactly_if_its_decoder_fails(
        records in 1usize..200,
        damage in damage(),
        codec in prop::sample::select(&CODECS[..4]),
    ) {
        let plain = file("txt", records);
        let inputs = Inputs::new();
        let bytes = damage.apply_to(packed_as(codec, plain.as_bytes()));
        let path = inputs.put_raw(&format!("a.txt{codec}"), &bytes);
        let sources = inputs.find(&[&path], &options()).expect("found");
        let found = read_all(&sources, 1 << 20);
        let intake = intake_of(sources.intake());
        prop_assert_eq!(counts(&found), (intake.accepted, intake.rejected));
        // An undecodable line does not count as damage of the file, even if it is the only line.
        let damaged = intake.damaged().filter(|(file, _)| !file.nothing_taken).count();
        prop_assert_eq!(damaged == 1, is_broken(codec, &bytes));
        let loss = intake.loss();
        // The loss may include the begin of a line. Its length depends on the buffers of the decoder.
        prop_assert_eq!(loss.lines, u64::from(loss.bytes > 0));
        prop_assert!(loss.unread_bytes <= bytes.len() as u64);
    }

    #[test]
    fn lines_of_a_cut_off_plain_file_are_all_counted(
        records in 1usize..40,
        cut in 0usize..1000,
        format in prop::sample::select(&FORMATS[..]),
    ) {
        let plain = file(format, records);
        let bytes = &plain.as_bytes()[..plain.len() * cut / 1000];
        let inputs = Inputs::new();
        let path = inputs.put(&format!("a.{format}"), bytes);
        let sources = inputs.find(&[&path], &options()).expect("found");
        let found = read_all(&sources, 1 << 20);
        let intake = intake_of(sources.intake());
        let lines = bytes.split_inclusive(|&byte| byte == b'\n').count() as u64;
        let ends_in_record = !matches!(bytes.last(), None | Some(b'\n' | b'}'));
        match format {
            // Half a line is a valid text.
            "txt" => prop_assert_eq!((intake.accepted, intake.rejected), (lines, 0)),
            "csv" => prop_assert_eq!(intake.records(), lines.saturating_sub(1)),
            "jsonl" => {
                prop_assert_eq!(intake.records(), lines);
                prop_assert_eq!(intake.damaged().count() == 1, ends_in_record && !bytes.is_empty());
            }
            _ => {
                prop_assert_eq!(intake.damaged().count(), 1);
                let damage = intake.damaged().next().expect("a damaged file").1;
                let from = found.last().expect("a reject").line;
                prop_assert_eq!(damage.line, from);
                if intake.accepted > 0 {
                    // The loss begins after the last element, or at the beginning of the next one.
                    let taken = file(format, intake.accepted as usize).len() - 1;
                    let rest = bytes.len() - taken;
                    let begun = if rest > 2 { rest - 2 } else { rest };
                    prop_assert_eq!(damage.loss.bytes, begun as u64);
                }
            }
        }
    }
}

#[test]
fn the_last_line_before_trailing_junk_is_read() {
    let inputs = Inputs::new();
    let mut bytes = packed_as(".gz", b"one\ntwo");
    bytes.extend_from_slice(b"no gzip");
    let path = inputs.put_raw("a.txt.gz", bytes);
    let sources = inputs.find(&[&path], &options()).expect("found");
    let records = read_all(&sources, 1 << 20);
    assert_eq!([records[0].text(), records[1].text()], ["one", "two"]);
    let reason = records[2].reason();
    assert_eq!(reason.kind(), "junk after the stream");
    let loss = reason.loss().expect("a loss");
    assert_eq!((loss.bytes, loss.unread_bytes), (0, 7));
}

#[test]
fn a_whole_file_followed_by_junk_is_rejected() {
    let inputs = Inputs::new();
    let mut bytes = packed_as(".gz", b"one\ntwo");
    bytes.extend_from_slice(b"no gzip");
    let path = inputs.put_raw("a.txt.gz", bytes);
    let records = inputs.read(&[&path], &SourceOptions::default());
    let reason = records[0].reason();
    assert_eq!(reason.kind(), "junk after the stream");
    let text = reason.to_string();
    assert!(
        text.contains("if it is complete, remove these bytes") && !text.contains("was read"),
        "{text}"
    );
    let loss = reason.loss().expect("a loss");
    assert_eq!((records.len(), loss.bytes, loss.unread_bytes), (1, 7, 7));
}

#[test]
fn no_row_is_lost_if_the_header_is_damaged() {
    let inputs = Inputs::new();
    let path = inputs.put("a.csv", b"id,text,caf\xc3\n1,one,x\n2,two,y\n");
    let records = inputs.read(&[&path], &options());
    assert_eq!([records[0].text(), records[1].text()], ["one", "two"]);
}

#[test]
fn whole_files_that_cannot_be_decompressed_are_damaged() {
    for codec in CODECS {
        let inputs = Inputs::new();
        let bytes = packed_as(codec, "a text of some words\n".repeat(50).as_bytes());
        let path = inputs.put_raw(&format!("a.txt{codec}"), &bytes[..bytes.len() - 3]);
        let good = inputs.put("b.txt", "another");
        let sources = inputs
            .find(&[&path, &good], &SourceOptions::default())
            .expect("found");
        let records = read_all(&sources, 1 << 20);
        assert!(records[0].reason().is_damage(), "{codec}");
        let intake = sources.intake().expect("one is taken");
        assert_eq!(intake.damaged().count(), 1, "{codec}");
        let loss = intake.loss();
        assert!(loss.bytes + loss.unread_bytes > 0, "{codec}");
    }
}
