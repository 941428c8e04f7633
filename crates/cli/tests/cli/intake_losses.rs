//! `dedup` counts the losses of damaged and unusable files, and exits with code 3.

use crate::corpus::Corpus;
use crate::intake::adds_up;
use crate::sandbox::Sandbox;

#[test]
fn an_archive_is_read_up_to_a_damaged_member_and_the_loss_is_counted() {
    let page = |i: usize| {
        let text = format!("Page {i} is about {} and nothing else.", i * i);
        let head = format!(
            "WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        Corpus::gzip(format!("{head}{text}\r\n\r\n").as_bytes())
    };
    let members: Vec<Vec<u8>> = (0..20).map(page).collect();
    let mut cut = members.clone();
    let half = cut[10].len() / 2;
    cut[10].truncate(half);
    let mut damaged = members.clone();
    damaged[10][half..half + 4].fill(0xff);
    for (name, members) in [("cut", cut), ("damaged", damaged)] {
        let sandbox = Sandbox::new();
        let archive = members.concat();
        sandbox.put("in.warc.gz", &archive);
        let run = sandbox.run("dedup in.warc.gz -o out --quiet");
        run.fails(
            3,
            &["in.warc.gz:11: ", "not read from here on: ", "of the stored file"],
        );
        let report = sandbox.json("out/report.json");
        adds_up(&report);
        assert_eq!(report["records"]["read"], 11, "{name}: {report:#}");
        assert_eq!(report["records"]["rejected"], 1, "{name}");
        let not_taken = report["input"]["not_taken"]["unread_bytes"].as_u64().unwrap() as usize;
        // The count is not exact at member boundaries, and the damaged member may consume bytes of the members after it.
        let lost = archive.len() - members[..9].concat().len();
        assert!(not_taken <= lost, "{name}: {not_taken} of {lost}");
        assert!(not_taken >= members[13..].concat().len(), "{name}: {not_taken}");
    }
}

#[test]
fn damage_of_every_kind_gives_code_3_and_is_counted() {
    let text = |i: usize| format!("document {i} is about {} and nothing else", i * i);
    let objects: Vec<String> = (0..200)
        .map(|i| format!("{{\"text\":\"{}\"}}", text(i)))
        .collect();
    let lines = objects.join("\n") + "\n";
    let array = format!("[{}]", objects.join(",\n"));
    let rows: Vec<String> = (0..200).map(|i| format!("{i},{}\n", text(i))).collect();
    let rows = rows.concat();
    let gzip = Corpus::gzip(lines.as_bytes());
    let mut flipped = gzip.clone();
    let middle = flipped.len() / 2;
    flipped[middle..middle + 20].fill(0xff);
    // File name, content, message, and the unit in which the loss is counted.
    let cases: [(&str, Vec<u8>, &str, &str); 9] = [
        ("cut.jsonl.gz", gzip[..middle].to_vec(), "is cut off", "bytes"),
        ("flipped.jsonl.gz", flipped, "is damaged", "unread_bytes"),
        (
            "junk.jsonl.gz",
            [gzip, b"junk".to_vec()].concat(),
            "bytes that are not gzip follow",
            "unread_bytes",
        ),
        (
            "cut.jsonl",
            lines.as_bytes()[..lines.len() - 9].to_vec(),
            "EOF while parsing",
            "lines",
        ),
        (
            "cut.json",
            array.as_bytes()[..array.len() / 2].to_vec(),
            "the file ends within the array",
            "bytes",
        ),
        (
            "broken.json",
            array.replacen(",\n", "\n", 3).into_bytes(),
            "a comma or ] is missing",
            "lines",
        ),
        (
            "quote.csv",
            format!("id,text\n0,good\n1,\"open\n{rows}").into_bytes(),
            "is never closed",
            "lines",
        ),
        (
            "cut.csv",
            format!("id,text\n{rows}7").into_bytes(),
            "the row has 1 fields",
            "lines",
        ),
        (
            "object.json",
            b"{\"data\":[{\"text\":\"a\"}]}".to_vec(),
            "an object with the fields data",
            "bytes",
        ),
    ];
    for (name, bytes, says, known) in cases {
        let sandbox = Sandbox::new();
        sandbox.put(name, bytes);
        sandbox.put("good.txt", "One text that has nothing to do with it.");
        let run = sandbox.run(&format!("dedup {name} good.txt -o out --quiet"));
        let run = run.fails(3, &[name, says, "1 file unreadable, cut off or damaged"]);
        assert_eq!(
            run.stderr.matches(name).count(),
            1,
            "one line a file: {}",
            run.stderr
        );
        let report = sandbox.json("out/report.json");
        adds_up(&report);
        assert_eq!(report["input"]["damaged_files"].as_array().unwrap().len(), 1);
        assert!(
            report["input"]["not_taken"][known].as_u64().unwrap() > 0,
            "{name}: {report:#}"
        );
        let rejects = sandbox.rows("out/rejects.jsonl");
        let reason = rejects.last().unwrap()["reason"].as_str().unwrap();
        assert!(
            reason.contains(says) && reason.contains("not read from here on: "),
            "{reason}"
        );
        assert_eq!(report["records"]["rejected"], rejects.len());
        std::fs::remove_dir_all(sandbox.path("out")).unwrap();
        let run = sandbox
            .run(&format!("dedup {name} good.txt -o out"))
            .fails(3, &[name]);
        assert!(
            run.stdout.contains("damaged              1  file; not used: "),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn a_file_without_a_usable_record_gives_code_3_in_every_format() {
    let rows = |delimiter: char| {
        let rows = (0..50).map(|i| format!("{i}{delimiter}body {i}\n"));
        format!("id{delimiter}body\n{}", rows.collect::<String>())
    };
    let cases: [(&str, Vec<u8>, &str); 5] = [
        (
            "none.csv",
            rows(',').into_bytes(),
            "no field \"text\"; there are id, body",
        ),
        (
            "none.tsv.gz",
            Corpus::gzip(rows('\t').as_bytes()),
            "no field \"text\"",
        ),
        (
            "none.jsonl",
            b"{\"body\":\"b\"}\n".repeat(50),
            "no field \"text\"",
        ),
        (
            "none.json",
            b"[{\"body\":1},{\"body\":2}]".to_vec(),
            "no field \"text\"",
        ),
        (
            "login.jsonl",
            b"<html>\n<p>Log in\n</html>\n".to_vec(),
            "invalid JSON",
        ),
    ];
    for (name, bytes, says) in cases {
        let sandbox = Sandbox::new();
        sandbox.put("big.jsonl", Corpus::new(5).jsonl(6000));
        sandbox.put(name, bytes);
        for command in ["dedup", "cluster"] {
            let run = sandbox
                .run(&format!("{command} big.jsonl {name} -o {command} --quiet"))
                .fails(3, &[name, says, "1 file without any usable record"]);
            assert_eq!(run.stderr.lines().count(), 2, "{}", run.stderr);
        }
        let report = sandbox.json("dedup/report.json");
        assert_eq!(report["input"]["damaged_files"][0]["source"], name);
        assert_eq!(
            report["input"]["not_taken"]["rows"],
            report["records"]["rejected"]
        );
        // Files without any record are not an error.
        sandbox.put("empty.csv", "id,text\n");
        sandbox.put("empty.json", "[]");
        sandbox.put("empty.jsonl", "");
        sandbox
            .run("dedup big.jsonl empty.csv empty.json empty.jsonl -o good --quiet")
            .ok();
        sandbox
            .run("dedup empty.csv empty.json empty.jsonl -o nothing --quiet")
            .ok();
    }
}
