//! Compressed streams: complete, truncated, damaged, and with lines that are too long.

use crate::corpus_files::{Inputs, Kind, packed};
use twinprint_io::source::{RecordKind, RejectReason, SourceOptions};

const CODECS: [&str; 6] = ["", ".gz", ".zst", ".bz2", ".xz", ".lz4"];

fn lines(n: usize) -> Vec<u8> {
    (0..n)
        .flat_map(|i| format!("{{\"id\":{i},\"text\":\"line {i} {}\"}}\n", i * i).into_bytes())
        .collect()
}

#[test]
fn files_of_several_members_or_frames_are_read() {
    let inputs = Inputs::new();
    let parts = [lines(10), lines(5)];
    for codec in &CODECS[1..] {
        let name = format!("a.jsonl{codec}");
        let path = inputs.put_raw(&name, parts.each_ref().map(|p| packed(&name, p)).concat());
        let records = inputs.read(&[&path], &SourceOptions::default());
        assert_eq!(records.len(), 15);
        assert_eq!(records[14].text(), "line 4 16");
    }
}

#[test]
fn a_file_with_another_codec_than_its_name_states_is_rejected_with_the_right_name() {
    let named = [
        ("a.jsonl", ".gz"),
        ("a.jsonl.gz", ""),
        ("a.jsonl.zst", ".xz"),
        ("a.html", ".bz2"),
    ];
    for (name, codec) in named {
        let inputs = Inputs::new();
        let path = inputs.put_raw(name, packed(&format!("b{codec}"), &lines(20)));
        let records = inputs.read(&[&path], &SourceOptions::default());
        let reason = records[0].reason();
        assert_eq!((records.len(), reason.kind()), (1, "other codec"), "{name}");
        let text = reason.to_string();
        assert!(
            text.contains("but its name") && text.contains("rename it"),
            "{text}"
        );
        assert!(reason.is_damage() && reason.loss().is_some());
    }
}

#[test]
fn a_zstd_window_of_31_bits_is_read() {
    let inputs = Inputs::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.window_log(31).expect("a window");
    encoder.long_distance_matching(true).expect("set");
    std::io::Write::write_all(&mut encoder, &lines(100)).expect("packed");
    let path = inputs.put_raw("a.jsonl.zst", encoder.finish().expect("packed"));
    assert_eq!(inputs.read(&[&path], &SourceOptions::default()).len(), 100);
}

#[test]
fn a_truncated_stream_keeps_its_earlier_records_and_the_next_file() {
    let plain = lines(4_000);
    for codec in &CODECS[1..] {
        let inputs = Inputs::new();
        let bytes = packed(&format!("a{codec}"), &plain);
        let next = inputs.put("z.jsonl", lines(1));
        for cut in [
            1,
            3,
            9,
            bytes.len() / 3,
            bytes.len() / 2,
            bytes.len() - 5,
            bytes.len() - 1,
        ] {
            let path = inputs.put_raw(&format!("a.jsonl{codec}"), &bytes[..cut]);
            let records = inputs.read(&[&path, &next], &SourceOptions::default());
            let (last, before) = records.split_last().expect("records");
            assert_eq!((last.source, last.text()), (1, "line 0 0"));
            let (reject, documents) = before.split_last().expect("a reject");
            assert!(
                matches!(reject.reason().cause(), RejectReason::Truncated { .. }),
                "{cut}: {reject:?}"
            );
            assert_eq!(reject.line, documents.len() as u64 + 1);
            for (i, document) in documents.iter().enumerate() {
                assert_eq!(document.text(), format!("line {i} {}", i * i));
            }
            // The other codecs compress these bytes into a single block, which is decoded completely or not at all.
            let has_several_blocks = [".gz", ".zst", ".xz"].contains(codec);
            if has_several_blocks && cut > bytes.len() * 9 / 10 {
                assert!(
                    documents.len() > 1000,
                    "most records come before the cut: {}",
                    documents.len()
                );
            }
        }
    }
}

#[test]
fn a_damaged_stream_ends_with_a_reject() {
    for codec in &CODECS[1..] {
        let inputs = Inputs::new();
        let mut bytes = packed(&format!("a{codec}"), &lines(4_000));
        let middle = bytes.len() / 2;
        for byte in &mut bytes[middle..middle + 64] {
            *byte = !*byte;
        }
        let path = inputs.put_raw(&format!("a.jsonl{codec}"), &bytes);
        let records = inputs.read(&[&path], &SourceOptions::default());
        let last = records.last().expect("a reject");
        let lost = matches!(
            last.reason().cause(),
            RejectReason::Corrupt { .. } | RejectReason::Truncated { .. }
        );
        assert!(lost, "{last:?}");
    }
}

#[test]
fn a_file_with_the_extension_of_another_codec_is_rejected() {
    let inputs = Inputs::new();
    for name in CODECS[1..]
        .iter()
        .flat_map(|codec| ["jsonl", "txt"].map(|format| format!("a.{format}{codec}")))
    {
        let path = inputs.put_raw(&name, "{\"text\":\"plain after all\"}\n");
        let records = inputs.read(&[&path], &SourceOptions::default());
        assert_eq!(records.len(), 1);
        assert!(
            matches!(records[0].reason().cause(), RejectReason::OtherCodec(_)),
            "{:?}",
            records[0]
        );
    }
}

#[test]
fn long_records_are_rejected_by_position_in_every_codec() {
    // Much shorter than the 256 KiB that are read at once, and longer.
    for long in [101, 3 << 20] {
        let mut bytes = b"{\"text\":\"short\"}\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', long));
        bytes.extend_from_slice(b"\n\n{\"text\":\"after\"}\n");
        bytes.extend(std::iter::repeat_n(b'y', long));
        let options = SourceOptions {
            max_document: 100,
            ..SourceOptions::default()
        };
        for codec in CODECS {
            let inputs = Inputs::new();
            let path = inputs.put(&format!("a.jsonl{codec}"), &bytes);
            let records = inputs.read(&[&path], &options);
            let too_long = RejectReason::TooLong {
                bytes: Some(long as u64),
                limit: 100,
            };
            assert_eq!(records[0].text(), "short");
            assert_eq!((records[1].line, records[1].reason()), (2, &too_long));
            assert_eq!(records[2].kind, Kind::Blank);
            assert_eq!((records[3].line, records[3].text()), (4, "after"));
            assert_eq!((records[4].line, records[4].reason()), (5, &too_long));
            assert_eq!(records.len(), 5);
        }
    }
}

#[test]
fn files_above_the_limit_are_rejected_and_files_at_the_limit_read() {
    let options = SourceOptions {
        max_document: 100,
        ..SourceOptions::default()
    };
    for codec in CODECS {
        let inputs = Inputs::new();
        let at = inputs.put(&format!("at.txt{codec}"), "a".repeat(100));
        let mark = inputs.put(
            &format!("mark.txt{codec}"),
            format!("\u{feff}{}", "a".repeat(100)),
        );
        let over = inputs.put(&format!("over.txt{codec}"), "a".repeat(101));
        let far = inputs.put(&format!("far.txt{codec}"), "a".repeat(3 << 20));
        let records = inputs.read(&[&at, &mark, &over, &far], &options);
        assert_eq!(records[0].text().len(), 100);
        assert_eq!(records[1].text().len(), 100);
        for record in &records[2..] {
            assert!(
                matches!(record.reason(), RejectReason::TooLong { limit: 100, .. }),
                "{record:?}"
            );
        }
    }
}

#[test]
fn a_decompression_bomb_is_rejected_at_its_ratio_limit() {
    // 1.5 GiB of blank lines in a few hundred kilobytes of zstd.
    let inputs = Inputs::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    let mut page = vec![b' '; 1 << 20];
    page.push(b'\n');
    for _ in 0..1536 {
        std::io::Write::write_all(&mut encoder, &page).expect("packed");
    }
    let bytes = encoder.finish().expect("packed");
    let path = inputs.put_raw("a.jsonl.zst", &bytes);
    let last = |max_ratio| {
        let options = SourceOptions {
            max_ratio,
            ..SourceOptions::default()
        };
        let sources = inputs.find(&[&path], &options).expect("found");
        let mut reason = None;
        for batch in sources.read(1 << 20) {
            let batch = batch.expect("a batch");
            for chunk in batch.chunks.iter().filter(|chunk| chunk.records() > 0) {
                chunk.documents(&options, &mut |record| {
                    if let RecordKind::Rejected { reason: why } = record.kind {
                        reason = Some(why);
                    }
                });
            }
        }
        reason
    };
    let reason = last(2).expect("a reject");
    assert!(
        matches!(reason.cause(), RejectReason::Swells { ratio: 2, bytes } if *bytes == 1 << 30),
        "{reason}"
    );
    assert_eq!(last(1 << 40), None);
}
