//! The same documents in every format, codec and charset give the same groups.

#[path = "../../io/tests/it/corpus_files.rs"]
mod corpus_files;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use corpus_files::{Inputs, unpacked};
use serde_json::{Value, json};
use twinprint_dedup::{DedupJob, DedupOptions, dedup};
use twinprint_io::progress::Silent;
use twinprint_io::results::Report;
use twinprint_io::source::{Charset, Setting, SourceOptions};

/// Texts and near copies of some of them. Many contain quotes, delimiters, line ends and ideographs.
fn texts(count: u64) -> Vec<String> {
    let mut state = 7u64;
    let mut below = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut texts: Vec<String> = Vec::new();
    for i in 0..count {
        if i > 10 && below(3) == 0 {
            let copy = texts[below(i) as usize].clone();
            texts.push(if below(2) == 0 {
                copy
            } else {
                format!("{copy} w{}", below(50))
            });
            continue;
        }
        let words = (0..30 + below(90)).map(|_| match below(40) {
            0 => "\"so,".to_owned(),
            1 => "a;b\tc".to_owned(),
            2 => "\r\n[x]}".to_owned(),
            3 => "图书馆".to_owned(),
            4 => "\"\\".to_owned(),
            _ => format!("w{}", below(3000)),
        });
        texts.push(words.collect::<Vec<_>>().join(" "));
    }
    texts
}

/// Runs a job. Returns its groups and its report.
fn groups(inputs: &[String], options: &SourceOptions, out: &Path) -> (Vec<Value>, Report) {
    let job = DedupJob {
        inputs,
        source: options,
        options: &DedupOptions::new().expect("options"),
        out,
    };
    let report = dedup(&job, &Silent, &Arc::default()).expect("done");
    let clusters = fs::read_to_string(out.join("clusters.jsonl")).expect("clusters");
    let group = |line: &str| {
        let mut row: Value = serde_json::from_str(line).expect("a row");
        for name in ["id", "source", "line", "duplicate_of"] {
            row[name].take();
        }
        row
    };
    (clusters.lines().map(group).collect(), report)
}

fn table(texts: &[String], delimiter: u8) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new()
        .delimiter(delimiter)
        .from_writer(Vec::new());
    writer.write_record(["id", "text", "more"]).expect("written");
    for (i, text) in texts.iter().enumerate() {
        writer
            .write_record([i.to_string().as_str(), text, ""])
            .expect("written");
    }
    writer.into_inner().expect("written")
}

#[test]
fn every_format_and_codec_gives_the_same_groups() {
    let texts = texts(5000);
    let inputs = Inputs::new();
    let objects: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(i, text)| json!({"id": i, "text": text}))
        .collect();
    let lines: Vec<String> = objects.iter().map(Value::to_string).collect();
    let lines = lines.join("\n") + "\n";
    let pretty = serde_json::to_vec_pretty(&objects).expect("written");
    for (i, text) in texts.iter().enumerate() {
        inputs.put(&format!("folder/{i:04}.txt"), text);
    }
    let mut names = vec!["folder".to_owned()];
    let mut put = |name: &str, bytes: &[u8]| {
        inputs.put(name, bytes);
        names.push(name.to_owned());
    };
    for codec in ["", ".gz", ".zst", ".bz2", ".xz", ".lz4"] {
        put(&format!("a.jsonl{codec}"), lines.as_bytes());
    }
    put("a.csv", &table(&texts, b','));
    put("b.csv.gz", &table(&texts, b';'));
    put("a.tsv", &table(&texts, b'\t'));
    put("a.json", &pretty);
    put("b.json.xz", &serde_json::to_vec(&objects).expect("written"));
    let utf16: Vec<u8> = std::iter::once('\u{feff}')
        .chain(String::from_utf8(table(&texts, b'\t')).expect("UTF-8").chars())
        .flat_map(|c| {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .flat_map(|unit| unit.to_le_bytes())
                .collect::<Vec<_>>()
        })
        .collect();
    put("utf16.tsv", &utf16);

    let mut expected: Option<(Vec<Value>, u64)> = None;
    for name in names {
        let out = inputs.sibling("out");
        let (rows, report) = groups(&[inputs.path(&name)], &SourceOptions::default(), &out);
        assert_eq!(
            (report.records.read, report.records.rejected),
            (5000, 0),
            "{name}"
        );
        assert!(report.records.removed > 500);
        let (first, kept) = expected.get_or_insert_with(|| (rows.clone(), report.records.kept));
        assert!(*first == rows, "{name} gives other groups");
        // The kept records can be read again and are complete.
        let again = inputs.sibling("again");
        let (_, second) = groups(
            &[out.join("kept").to_str().expect("UTF-8").to_owned()],
            &SourceOptions::default(),
            &again,
        );
        assert_eq!(
            (second.records.read, second.records.rejected),
            (*kept, 0),
            "{name}"
        );
        for dir in [out, again] {
            fs::remove_dir_all(dir).expect("removed");
        }
    }
}

#[test]
fn a_text_is_the_same_in_every_charset() {
    let inputs = Inputs::new();
    let texts = [
        (
            "gbk",
            "博物馆将在周末延长开放时间,参观者可以凭学生证免费入场,儿童须由家长陪同。",
        ),
        (
            "gb18030",
            "河边的小路已经修好了,傍晚有很多人在那里散步,孩子们追着风筝跑来跑去㐂。",
        ),
        (
            "big5",
            "市場裡的水果攤從清晨就開始營業,老闆說今年的芒果特別甜,請大家多多捧場。",
        ),
        (
            "shift_jis",
            "駅前の喫茶店は朝七時に開きます。窓際の席では港を出る船がよく見えます。",
        ),
        (
            "euc-kr",
            "강가의 오솔길이 새로 단장되어 저녁마다 많은 사람들이 산책을 나옵니다.",
        ),
        (
            "windows-1252",
            "Le marché ouvre à six heures; les pêcheurs vendent déjà leurs crevettes près du môle.",
        ),
        (
            "windows-1251",
            "Рынок открывается в шесть часов, рыбаки уже продают улов у причала.",
        ),
    ];
    let mut counts = BTreeMap::from([
        ("UTF-8".to_owned(), texts.len() as u64 + 1),
        ("UTF-16LE".to_owned(), 1),
    ]);
    let mut jsonl = Vec::new();
    for (label, text) in texts {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).expect("a charset");
        let bytes = encoding.encode(text).0;
        inputs.put(&format!("texts/{label}.txt"), &bytes);
        inputs.put(&format!("texts/{label}-utf8.txt"), text);
        let table = format!("text\n\"{text}\"\n");
        inputs.put(&format!("texts/{label}.csv"), encoding.encode(&table).0);
        // gb18030 contains GBK, and both have the name GBK in the report.
        let name = if label == "gb18030" {
            "GBK"
        } else {
            encoding.name()
        };
        *counts.entry(name.to_owned()).or_default() += 2;
        if label == "gbk" {
            let line = format!("{{\"text\":\"{text}\"}}\n");
            jsonl.extend_from_slice(&encoding.encode(&line).0);
            let utf16: Vec<u8> = format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect();
            inputs.put("texts/utf16.txt", utf16);
            inputs.put("texts/utf8-mark.txt", format!("\u{feff}{text}"));
        }
    }
    let out = inputs.sibling("out");
    let (rows, report) = groups(&[inputs.path("texts")], &SourceOptions::default(), &out);
    assert_eq!(
        (report.records.rejected, report.records.kept),
        (0, texts.len() as u64),
        "{rows:?}"
    );
    assert_eq!(report.input.charsets, counts);
    for side in ["kept", "removed"] {
        for entry in fs::read_dir(out.join(side)).expect("listed") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
            // A CSV file whose only row was removed still has its header in kept/.
            if !(side == "kept" && path.extension().is_some_and(|e| e == "csv")) {
                assert_eq!(
                    unpacked(&path),
                    unpacked(&inputs.root().join("texts").join(name)),
                    "{side}/{name}"
                );
            }
        }
    }
    // JSON is read as UTF-8 unless `charset` names another charset.
    let path = inputs.put("a.jsonl", &jsonl);
    assert!(
        inputs.read(&[&path], &SourceOptions::default())[0]
            .reason()
            .setting()
            == Some(Setting::Charset)
    );
    let named = SourceOptions {
        charset: Charset::named("gbk"),
        ..SourceOptions::default()
    };
    assert_eq!(inputs.read(&[&path], &named)[0].text(), texts[0].1);
}
