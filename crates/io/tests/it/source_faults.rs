//! Undecodable bytes in every format and codec: each rejects only its own record, and every loss is counted.

use crate::corpus_files::{Inputs, Kind, Owned, read_all, unpacked};
use proptest::prelude::*;
use twinprint_io::sink::{RecordAction, copy_records};
use twinprint_io::source::{Charset, RejectReason, SourceOptions};

const CODECS: [&str; 6] = ["", ".gz", ".zst", ".bz2", ".xz", ".lz4"];
const FORMATS: [&str; 5] = ["jsonl", "json", "csv", "tsv", "txt"];
const CHARSETS: [&str; 8] = [
    "utf-8",
    "utf-16le",
    "utf-16be",
    "gbk",
    "gb18030",
    "big5",
    "shift_jis",
    "euc-kr",
];
/// Charsets whose characters may contain the byte of a bracket, so that arrays in them cannot be split.
const NO_ARRAYS: [&str; 4] = ["gbk", "gb18030", "big5", "shift_jis"];

/// An undecodable character: a lone surrogate in UTF-16, in other charsets a byte that no character has.
#[derive(Clone, Copy, Debug)]
enum Fault {
    First,
    Second,
}

fn fault() -> impl Strategy<Value = Option<Fault>> {
    prop::option::weighted(0.3, prop::sample::select(&[Fault::First, Fault::Second][..]))
}

/// A text, possibly with an undecodable character in it.
#[derive(Clone, Debug)]
struct Text {
    before: String,
    fault: Option<Fault>,
    after: String,
}

fn texts() -> impl Strategy<Value = Vec<Text>> {
    // Every charset has these characters.
    let part = "[a-z 一中大日本]{0,6}";
    let text = (part, fault(), part).prop_map(|(before, fault, after)| Text {
        before: format!("x{before}"),
        fault,
        after: format!("{after}x"),
    });
    prop::collection::vec(text, 1..12)
}

/// A writer of a file in a format and a charset.
struct Writer {
    format: &'static str,
    charset: Charset,
    bytes: Vec<u8>,
}

impl Writer {
    fn new(format: &'static str, charset: Charset) -> Self {
        let mut writer = Self {
            format,
            charset,
            bytes: Vec::new(),
        };
        if writer.is_utf16() {
            writer.push("\u{feff}");
        }
        writer
    }

    fn is_utf16(&self) -> bool {
        [Charset::UTF_16LE, Charset::UTF_16BE].contains(&self.charset)
    }

    fn unit(&mut self, unit: u16) {
        self.bytes.extend(if self.charset == Charset::UTF_16BE {
            unit.to_be_bytes()
        } else {
            unit.to_le_bytes()
        });
    }

    fn push(&mut self, text: &str) {
        if self.is_utf16() {
            text.encode_utf16().for_each(|unit| self.unit(unit));
        } else {
            let encoded = self.charset.encode(text).expect("the charset has it");
            self.bytes.extend_from_slice(&encoded);
        }
    }

    fn fault(&mut self, fault: Fault) {
        match fault {
            _ if !self.is_utf16() => self.bytes.push(0xff),
            Fault::First => self.unit(0xd83d),
            Fault::Second => self.unit(0xde00),
        }
    }

    /// Writes the bytes before the first record. The name of the last column may contain a fault.
    fn begin(&mut self, fault: Option<Fault>) {
        match self.format {
            "json" => self.push("["),
            "csv" => self.push("id,text,a"),
            "tsv" => self.push("id\ttext\ta"),
            _ => return,
        }
        if self.format != "json" {
            if let Some(fault) = fault {
                self.fault(fault);
            }
            self.push("b\n");
        }
    }

    fn record(&mut self, number: usize, text: &Text) {
        let (before, after) = match self.format {
            "jsonl" | "json" => (format!("{{\"id\":\"{number}\",\"text\":\""), "\"}"),
            "csv" => (format!("{number},"), ",z"),
            "tsv" => (format!("{number}\t"), "\tz"),
            _ => (String::new(), ""),
        };
        self.push(&before);
        self.push(&text.before);
        if let Some(fault) = text.fault {
            self.fault(fault);
        }
        self.push(&text.after);
        self.push(after);
    }
}

/// The name of a file in a format and a codec.
fn name(format: &str, codec: &str) -> String {
    format!("a.{format}{codec}")
}

fn rejects(records: &[Owned]) -> Vec<&RejectReason> {
    let reason = |record: &'_ Owned| match &record.kind {
        Kind::Rejected(_) => true,
        Kind::Document { .. } | Kind::Blank => false,
    };
    records.iter().filter(|&r| reason(r)).map(Owned::reason).collect()
}

fn accepted(records: &[Owned]) -> Vec<&str> {
    let is_document = |record: &&Owned| matches!(record.kind, Kind::Document { .. });
    records.iter().filter(is_document).map(Owned::text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn an_undecodable_character_rejects_only_its_record(
        texts in texts(),
        header in fault(),
        odd in prop::option::weighted(0.3, any::<u8>()),
        ended in any::<bool>(),
        format in prop::sample::select(&FORMATS[..]),
        charset in prop::sample::select(&CHARSETS[..]),
        codec in prop::sample::select(&CODECS[..]),
        batch in 1usize..200,
    ) {
        prop_assume!(format != "json" || !NO_ARRAYS.contains(&charset));
        let of = Charset::named(charset).expect("a charset");
        let separator = if format == "json" { ",\n" } else { "\n" };
        let mut file = Writer::new(format, of);
        let odd = odd.filter(|_| file.is_utf16());
        file.begin(header);
        let mut last_bytes = 0;
        for (number, text) in texts.iter().enumerate() {
            if number > 0 {
                file.push(separator);
            }
            let before = file.bytes.len();
            file.record(number, text);
            last_bytes = file.bytes.len() - before;
        }
        if format == "json" {
            file.push("]");
        }
        if ended {
            file.push("\n");
        }
        file.bytes.extend(odd);

        let inputs = Inputs::new();
        let path = inputs.put(&name(format, codec), &file.bytes);
        let options = SourceOptions { charset: Some(of), lines: true, ..SourceOptions::default() };
        let sources = inputs.find(&[&path], &options).expect("found");
        let records = read_all(&sources, batch);
        prop_assert_eq!(&records, &read_all(&sources, 1 << 20));
        let rejected = rejects(&records);
        let intake = match sources.intake() {
            Ok(intake) => intake,
            Err(error) => {
                prop_assert!(accepted(&records).is_empty(), "{}", error);
                prop_assert!(!rejected.is_empty());
                return Ok(());
            }
        };
        prop_assert_eq!(intake.accepted, accepted(&records).len() as u64);
        prop_assert_eq!(intake.rejected, rejected.len() as u64);
        prop_assert_eq!(intake.files.iter().map(|file| file.rejected).sum::<u64>(), intake.rejected);
        // An odd byte belongs to the last line, is a further line, or follows the array.
        let last = texts.len() - 1;
        let spoils_last = odd.is_some() && !ended && format != "json";
        let good: Vec<(usize, &Text)> = texts
            .iter()
            .enumerate()
            .filter(|&(number, text)| text.fault.is_none() && !(spoils_last && number == last))
            .collect();
        let expected: Vec<String> = good.iter().map(|(_, text)| format!("{}{}", text.before, text.after)).collect();
        prop_assert_eq!(accepted(&records), expected);
        let more = usize::from(odd.is_some() && !spoils_last);
        prop_assert_eq!(rejected.len(), texts.len() - good.len() + more);
        if more > 0 {
            let last = rejected[rejected.len() - 1];
            let is_odd = matches!(last.cause(), RejectReason::OddByte { .. });
            prop_assert_eq!(is_odd, format != "json", "{}", last);
        }
        let lost = match odd {
            None => 0,
            // The line end after the array is lost with the byte.
            Some(_) if format == "json" && ended => 3,
            Some(_) if format == "json" || ended => 1,
            // A record that is undecodable for another reason is not reported as cut off.
            Some(_) if texts[last].fault.is_some() => 0,
            Some(_) => last_bytes + 1,
        };
        let losses = || rejected.iter().filter_map(|reason| reason.loss());
        prop_assert_eq!(losses().map(|loss| loss.bytes).sum::<u64>(), lost as u64);
        prop_assert_eq!(losses().map(|loss| loss.unread_bytes).sum::<u64>(), 0);
        prop_assert_eq!(intake.loss().bytes, lost as u64);

        let out = inputs.sibling("out");
        let is_good = |ordinal: u64| good.iter().any(|&(number, _)| number as u64 == ordinal);
        let fate = |ordinal| if is_good(ordinal) { RecordAction::Keep } else { RecordAction::Reject };
        copy_records(&sources, &fate, &out, &|_| {}).expect("copied");
        let mut kept = Writer::new(format, of);
        kept.begin(header);
        for (position, &(number, text)) in good.iter().enumerate() {
            if position > 0 && format == "json" {
                kept.push(separator);
            }
            kept.record(number, text);
            // A line end is added to a last line, but not to a last row.
            if matches!(format, "jsonl" | "txt") || format != "json" && (number < last || ended) {
                kept.push("\n");
            }
        }
        if format == "json" {
            kept.push(if ended && odd.is_none() { "]\n" } else { "]" });
        }
        prop_assert_eq!(unpacked(&out.join("kept").join(name(format, codec))), Some(kept.bytes));
    }
}

#[test]
fn the_loss_of_a_truncated_record_is_in_bytes_of_the_file() {
    let cut = "{\"text\":\"\u{4e00}\u{20000}x";
    for charset in ["utf-8", "utf-16le", "utf-16be"] {
        let mut file = Writer::new("jsonl", Charset::named(charset).expect("a charset"));
        file.push("{\"text\":\"whole\"}\n");
        let before = file.bytes.len();
        file.push(cut);
        let lost = file.bytes.len() - before;
        let inputs = Inputs::new();
        let path = inputs.put("a.jsonl", &file.bytes);
        let options = SourceOptions {
            charset: Charset::named(charset),
            ..SourceOptions::default()
        };
        let sources = inputs.find(&[&path], &options).expect("found");
        read_all(&sources, 1 << 20);
        let loss = sources.intake().expect("one is taken").loss();
        assert_eq!((loss.bytes, loss.lines), (lost as u64, 1), "{charset}");
    }
}

#[test]
fn the_intake_does_not_depend_on_threads() {
    use rayon::prelude::*;

    let objects: Vec<String> = (0..60_000)
        .map(|i| match i % 3 {
            0 => format!("{{\"text\":\"document {i}\"}}"),
            1 => format!("{{\"field{i}\":\"no text, and rather long so that there are several chunks\"}}"),
            _ => format!("{i}"),
        })
        .collect();
    let inputs = Inputs::new();
    // All objects are on one line.
    let path = inputs.put("a.json", format!("[{}]", objects.join(",")));
    let cut = inputs.put("b.json", format!("[{}", objects[..9].join(",")));
    let intake = |order: &dyn Fn(usize, usize) -> usize| {
        let sources = inputs
            .find(&[&path, &cut], &SourceOptions::default())
            .expect("found");
        let batches: Vec<_> = sources
            .read(1 << 30)
            .map(|batch| batch.expect("a batch"))
            .collect();
        let chunks: Vec<_> = batches.iter().flat_map(|batch| &batch.chunks).collect();
        assert!(chunks.len() > 3);
        for i in 0..chunks.len() {
            chunks[order(i, chunks.len())].documents(sources.options(), &mut |_| {});
        }
        sources.intake().expect("some are taken")
    };
    let forward = intake(&|i, _| i);
    assert!(
        forward.examples[0].reason.as_str().contains("field1;"),
        "{:?}",
        forward.examples
    );
    assert_eq!(intake(&|i, n| n - 1 - i), forward);
    assert_eq!(intake(&|i, n| (i + n / 2) % n), forward);
    let sources = inputs
        .find(&[&path, &cut], &SourceOptions::default())
        .expect("found");
    for batch in sources.read(1 << 20) {
        let chunks = batch.expect("a batch").chunks;
        chunks
            .par_iter()
            .for_each(|chunk| chunk.documents(sources.options(), &mut |_| {}));
    }
    assert_eq!(sources.intake().expect("some are taken"), forward);
}

#[test]
fn arrays_that_cannot_be_split_are_rejected_whole_and_counted() {
    for charset in NO_ARRAYS {
        let of = Charset::named(charset).expect("a charset");
        for codec in CODECS {
            let inputs = Inputs::new();
            let path = inputs.put(&name("json", codec), b"[{\"text\":\"x\"}]");
            let good = inputs.put("b.txt", "a text");
            let options = SourceOptions {
                charset: Some(of),
                ..SourceOptions::default()
            };
            let sources = inputs.find(&[&path, &good], &options).expect("found");
            let records = read_all(&sources, 1 << 20);
            let reason = records[0].reason();
            assert!(
                matches!(reason.cause(), RejectReason::NotCuttable { .. }),
                "{reason}"
            );
            let loss = sources.intake().expect("one is taken").loss();
            assert_eq!((loss.bytes, loss.unread_bytes), (0, sources.list()[0].bytes));
        }
    }
}
