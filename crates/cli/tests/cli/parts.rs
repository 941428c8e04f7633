//! `--parts` on the command line: partial copies, passages of many texts, and their positions in the original texts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// `n` words that begin with `name`.
fn words(name: &str, n: usize) -> String {
    (0..n)
        .map(|i| format!("{name}{}", i * i))
        .collect::<Vec<_>>()
        .join(" ")
}

/// `holders` records, each with the passage between words of its own.
fn around(passage: &str, holders: usize, own: usize) -> String {
    let mut lines = String::new();
    for i in 0..holders {
        let text = format!(
            "{}. {passage}! {}",
            words(&format!("x{i}x"), own),
            words(&format!("y{i}y"), own)
        );
        writeln!(lines, "{}", json!({"id": format!("t{i}"), "text": text})).unwrap();
    }
    lines
}

fn numbers(value: &Value) -> Vec<usize> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn partial_copies_are_reported_with_their_passages() {
    let sandbox = Sandbox::new();
    let passage = words("passage", 80);
    let rows = [
        ("a", passage.clone()),
        ("b", format!("{} {passage} {}", words("x", 120), words("y", 120))),
        ("c", words("z", 120)),
    ];
    let lines = rows
        .each_ref()
        .map(|(id, text)| json!({"id": id, "text": text}).to_string());
    sandbox.put("docs.jsonl", lines.join("\n"));
    sandbox.run("dedup docs.jsonl -o out --parts -q").ok();
    let parts = sandbox.rows("out/parts.jsonl");
    assert_eq!(parts.len(), 1, "{parts:?}");
    let part = &parts[0];
    assert_eq!((&part["a"], &part["b"]), (&"a".into(), &"b".into()));
    assert!(part["containment"].as_f64().unwrap() > 0.99 && part["jaccard"].as_f64().unwrap() < 0.3);
    for field in ["passages", "original_chars", "original_bytes"] {
        let at = numbers(&part[field][0]);
        assert_eq!((at[0], at[1]), (0, passage.len()));
        assert_eq!(&rows[1].1[at[2]..at[3]], passage);
    }
    let report = sandbox.json("out/report.json");
    assert_eq!(
        (&report["parts"]["rows"], &report["records"]["removed"]),
        (&1.into(), &0.into())
    );
    assert_eq!(sandbox.text("out/passages.jsonl"), "");
    sandbox
        .run("dedup docs.jsonl -o no --parts=1.5")
        .fails(2, &["--parts: 1.5"]);
    sandbox
        .run("dedup docs.jsonl -o no --parts --no-verify")
        .fails(2, &["--parts", "without verification"]);
}

#[test]
fn a_passage_of_many_texts_is_listed_once_with_all_holders() {
    let sandbox = Sandbox::new();
    let passage = words("passage", 100);
    for holders in [64, 65, 70, 500] {
        // One of the equal texts represents all of them.
        let lines = around(&passage, holders, 40);
        let first = lines.lines().next().unwrap().replace("t0", "copy").to_uppercase();
        let first = first.replace("\"ID\"", "\"id\"").replace("\"TEXT\"", "\"text\"");
        sandbox.put("in.jsonl", format!("{lines}{first}\n"));
        let run = sandbox
            .run(&format!("dedup in.jsonl -o {holders} --parts --mode report"))
            .ok();
        let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let pairs = sandbox.rows(&format!("{holders}/parts.jsonl"));
        let rows = sandbox.rows(&format!("{holders}/passages.jsonl"));
        let page = sandbox.text(&format!("{holders}/report.html"));
        let text = sandbox.text(&format!("{holders}/report.md"));
        let parts = &sandbox.json(&format!("{holders}/report.json"))["parts"];
        if holders == 64 {
            assert_eq!((pairs.len(), rows.len()), (64 * 63 / 2, 0));
            assert!(said.contains("2,016 pairs of partial copies"), "{said}");
            assert!(text.contains("2,016 pairs of texts in `parts.jsonl`"), "{text}");
            continue;
        }
        assert!(pairs.is_empty(), "{pairs:?}");
        let expected: Vec<String> = (0..holders).map(|i| format!("t{i}")).collect();
        let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected);
        for row in &rows {
            assert_eq!((&row["passage"], &row["holders"]), (&1.into(), &holders.into()));
            let i: usize = row["line"].as_u64().unwrap() as usize - 1;
            let record: Value = serde_json::from_str(lines.lines().nth(i).unwrap()).unwrap();
            let at = numbers(&row["original_bytes"][0]);
            assert_eq!(&record["text"].as_str().unwrap()[at[0]..at[1]], passage);
            let of_this_text = if i == 0 { 2 } else { 1 };
            assert_eq!(row["documents"], of_this_text);
            assert!((0.3..0.7).contains(&row["share"].as_f64().unwrap()), "{row}");
        }
        assert_eq!(rows.iter().filter(|row| row["is_reference"] == true).count(), 1);
        assert_eq!(
            [
                &parts["rows"],
                &parts["passages"],
                &parts["holders"],
                &parts["most_holders"],
                &parts["unplaced"]
            ],
            [&json!(0), &json!(1), &json!(holders), &json!(holders), &json!(0)]
        );
        let counted =
            format!("1 passage in passages.jsonl, each shared by more than 64 texts, in {holders} rows");
        assert!(said.contains(&counted), "{said}");
        let counted = format!("1 passage of more than 64 texts in `passages.jsonl`, in {holders} rows");
        assert!(text.contains(&counted), "{text}");
        for expected in [
            "passages of more than 64 texts</span>",
            "超过 64 篇共有的段落</span>",
            &format!("<dd>{holders}</dd>"),
        ] {
            assert!(page.contains(expected), "no {expected}");
        }
    }
}

#[test]
fn omitted_passages_are_counted() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", around(&words("notice", 40), 70, 150));
    let run = sandbox.run("dedup in.jsonl -o out --parts --mode report").ok();
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "left out: 1 passage that more than 64 texts share, but less than 30 % of each text";
    assert!(said.contains(expected), "{said}");
    assert!(
        sandbox
            .text("out/report.md")
            .contains("Not listed: 1 passage of more than 64 texts")
    );
    assert!(sandbox.text("out/report.html").contains("都不足 30"));
    assert_eq!(sandbox.text("out/passages.jsonl"), "");
    // A lower share lists it.
    sandbox
        .run("dedup in.jsonl -o lower --parts=0.05 --mode report -q")
        .ok();
    assert_eq!(sandbox.rows("lower/passages.jsonl").len(), 70);
}

#[test]
fn ranges_are_those_of_the_original_text() {
    let sandbox = Sandbox::new();
    let sentence = |i: usize| {
        format!(
            "Ligne n{i}: “ﬁ{}”, caf\u{65}\u{301} {i}…",
            words(&format!("w{i}z"), 6)
        )
    };
    let passage: Vec<String> = (0..12).map(sentence).collect();
    let passage = passage.join("\r\n");
    // The last character does not belong to a word.
    let expected = passage.trim_end_matches('…');
    let text = |name: &str| {
        format!(
            "{}.\r\n{passage}\r\n«{}»",
            words(name, 60),
            words(&format!("{name}b"), 40)
        )
    };
    let csv = |name: &str| format!("id,text\r\n{name},\"{}\"\r\n", text(name).replace('"', "\"\""));
    let page = |name: &str| {
        let marked = text(name).replace('“', "&ldquo;<b>").replace('”', "</b>&rdquo;");
        format!("<title>{name}</title><nav>Home</nav><main><p>{marked}</p></main>")
    };
    let warc = |name: &str| {
        let page = page(name);
        format!(
            "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://{name}.example/\r\nContent-Type: text/html; charset=utf-8\r\n\
             Content-Length: {}\r\n\r\n{page}\r\n\r\n",
            page.len()
        )
    };
    let utf16 = |text: &str| {
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    sandbox.put("in/a.txt", format!("\u{FEFF}{}", text("a")));
    sandbox.put("in/b.txt", utf16(&text("b")));
    sandbox.put("in/c.csv", csv("c"));
    sandbox.put("in/d.html", page("d"));
    sandbox.put("in/e.warc", warc("e"));
    sandbox.put(
        "in/f.jsonl",
        format!("{{\"no\": 1}}\n\n{}\n", json!({"text": text("f")})),
    );
    sandbox.put("in/g.json", json!([{"text": text("g")}]).to_string());
    sandbox.put("in/h.jsonl", utf16(&json!({"text": text("h")}).to_string()));
    sandbox.put("in/i.csv.gz", Corpus::gzip(csv("i").as_bytes()));
    // The record without a text is rejected.
    sandbox
        .run("dedup in -o out --parts --mode report -q")
        .incomplete();
    let parts = sandbox.rows("out/parts.jsonl");
    assert_eq!(parts.len(), 9 * 8 / 2);
    for row in parts {
        for (source, from) in [("a_source", 0), ("b_source", 2)] {
            let name = row[source].as_str().unwrap().trim_start_matches("in/");
            let (name, kind) = name.split_once('.').unwrap();
            let original = match kind {
                "html" | "warc" => page(name),
                _ => text(name),
            };
            let [bytes, chars] = ["original_bytes", "original_chars"].map(|field| numbers(&row[field][0]));
            let cut = &original[bytes[from]..bytes[from + 1]];
            let by_chars = original
                .chars()
                .skip(chars[from])
                .take(chars[from + 1] - chars[from]);
            assert_eq!(cut, by_chars.collect::<String>());
            let shown = cut.replace("&ldquo;<b>", "“").replace("</b>&rdquo;", "”");
            assert_eq!(shown, expected, "{name}.{kind}");
        }
    }
}

#[test]
fn the_help_names_the_shortest_passage() {
    use twinprint::PartsReport;
    let help = Sandbox::new().run("dedup --help").ok().stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        format!("more than {} texts", PartsReport::MAX_PAIRED_TEXTS),
        format!(
            "{} words ({} characters",
            PartsReport::NOTICED_WORDS,
            PartsReport::NOTICED_CHARS
        ),
        format!(
            "{} words ({} characters",
            PartsReport::SHORTEST_WORDS,
            PartsReport::SHORTEST_CHARS
        ),
    ] {
        assert!(help.contains(&expected), "no {expected} in {help}");
    }
}
