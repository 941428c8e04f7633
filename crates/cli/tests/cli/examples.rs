//! The examples in the help of every command run, on generated inputs with the names that they use.

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// The commands that the help lists, except `help`.
fn commands() -> Vec<String> {
    let help = Sandbox::new().run("--help").ok().stdout;
    let listed = help.split("\nCommands:\n").nth(1).unwrap();
    listed
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .filter(|command| command != "help")
        .collect()
}

/// The lines after "Examples:" that are indented by two spaces. Lines indented further explain them.
fn examples(help: &str) -> Vec<String> {
    let listed = help.split("Examples:\n").nth(1).unwrap_or_default();
    listed
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .map(str::to_owned)
        .collect()
}

/// A sandbox with every input that an example names.
fn sandbox_with_inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(7);
    let labelled = |row: &str| row.replacen('{', "{\"topic\":\"made up\",", 1) + "\n";
    for name in ["news.jsonl", "a.jsonl", "b.jsonl"] {
        sandbox.put(name, corpus.jsonl(60).lines().map(labelled).collect::<String>());
    }
    for name in ["crawl/a.txt", "crawl/b.md", "crawl/deep/c.txt", "notes/d.txt"] {
        sandbox.put(name, corpus.document());
    }
    let nested = corpus.texts(40).into_iter();
    let nested = nested.map(|text| serde_json::json!({"body": {"text": text}}).to_string());
    let nested = nested.collect::<Vec<_>>().join("\n");
    sandbox.put("dump.jsonl.gz", Corpus::gzip(nested.as_bytes()));
    let pair = serde_json::json!({"a": "d0", "b": "d1", "jaccard": 0.9});
    sandbox.put("pairs.jsonl", pair.to_string());
    sandbox.put("old.txt", "The cat sat on the mat and looked at the rain.");
    sandbox.put("new.txt", "The cat sat on a mat and looked at the rain.");
    let vector = |i: u32| format!("{{\"id\":{i},\"embedding\":[0.{i},-0.25,0.5,1]}}\n");
    for (name, first) in [("old.u64", 0u64), ("new.u64", 3)] {
        let fingerprints = (first..first + 90).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ first);
        sandbox.put(name, fingerprints.flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
    }
    let page = "<main>The kettle whistled twice before anyone stood up.</main>";
    let record = format!(
        "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.example/\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{page}\r\n\r\n",
        page.len()
    );
    sandbox.put("crawl.warc.gz", Corpus::gzip(record.as_bytes()));
    let features = |i: u32| format!("{{\"id\":{i},\"features\":{{\"price\":{i}.5,\"size\":1}}}}\n");
    sandbox.put("features.jsonl", (1..9).map(features).collect::<String>());
    sandbox.put("vectors.jsonl", (1..9).map(vector).collect::<String>());
    sandbox
}

/// The commands that create the directory that an example uses, unless the example creates it.
fn setup_commands(command: &str, example: &str) -> &'static [&'static str] {
    match command {
        "index" if example.contains("clusters.parquet") => &["dedup news.jsonl -o out"],
        "index" if !example.contains(" build ") => &["index build old.u64 -o seen"],
        "dedup" if example.contains("--against") => &["collection create seen"],
        "collection" if example.contains(" stories ") => &[
            "collection create topical --stories",
            "collection add topical b.jsonl --summary",
        ],
        "collection" => &[
            "collection create seen",
            "collection add seen b.jsonl --summary",
            "collection backup seen backup",
        ],
        "verify" => &["dedup news.jsonl -o out"],
        "eval" if example.contains("--clusters") => &["cluster news.jsonl -o stories"],
        _ => &[],
    }
}

/// A script that runs an example. A service is stopped once it is ready; for `replay` a service is started first.
/// Services get a free port.
fn script(command: &str, example: &str) -> String {
    let start = |serve: &str| {
        format!(
            "{serve} > ready &\nservice=$!\nuntil [ -s ready ]; do sleep 0.1; done\naddress=$(cat ready)\n"
        )
    };
    let stop = "kill $service\nwait $service\n";
    match command {
        "serve" => {
            let free_port = if example.contains("--listen") {
                ""
            } else {
                " --listen 127.0.0.1:0"
            };
            format!("{}{stop}echo $address", start(&format!("{example}{free_port}")))
        }
        "replay" => {
            let start = start("twinprint serve collections --listen 127.0.0.1:0 --log quiet");
            let example = example.replace("http://127.0.0.1:8080", "$address");
            format!("{start}{example}\n{stop}")
        }
        _ => example.to_owned(),
    }
}

#[test]
fn examples_in_the_help_of_every_command_succeed() {
    let commands = commands();
    assert!(commands.len() >= 3, "{commands:?}");
    for command in commands {
        let help = Sandbox::new().run(&format!("{command} --help")).ok().stdout;
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{command} --help shows no examples");
        for example in examples {
            assert!(
                example.contains(&format!("twinprint {command}")),
                "{command} --help: {example}"
            );
            let sandbox = sandbox_with_inputs();
            for prepare in setup_commands(&command, &example) {
                sandbox.run(prepare).ok();
            }
            let run = sandbox.bash(&script(&command, &example));
            assert_eq!(run.code, Some(0), "{example}\n{run:#?}");
            assert!(
                !run.stdout.is_empty() || example.contains(" > "),
                "{example} writes nothing"
            );
            assert!(!run.stderr.contains("error"), "{example}\n{}", run.stderr);
        }
    }
}

#[test]
fn help_and_version_need_no_input() {
    let sandbox = Sandbox::new();
    let version = sandbox.run("--version").ok().stdout;
    assert_eq!(version, format!("twinprint {}\n", env!("CARGO_PKG_VERSION")));
    let bare = sandbox.run("");
    assert_eq!(bare.code, Some(2), "no command is wrong usage");
    assert!(bare.stderr.contains("Usage:"));
}

/// The options under a heading of a help text.
fn options_under<'h>(help: &'h str, heading: &str) -> Vec<&'h str> {
    let lines = help.lines().skip_while(|&line| line != heading).skip(1);
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    let options = lines.map(str::trim_start).filter(|line| line.starts_with('-'));
    options
        .flat_map(|line| line.split([' ', ',']))
        .filter(|word| word.starts_with("--"))
        .collect()
}

#[test]
fn no_other_option_is_listed_under_the_heading_of_shared_options() {
    for command in [
        "dedup",
        "cluster",
        "fingerprint",
        "eval",
        "calibrate",
        "replay",
        "collection add",
        "index query",
    ] {
        let help = Sandbox::new().run(&format!("{command} --help")).ok().stdout;
        let rejected = options_under(&help, "Rejected records:");
        assert_eq!(rejected, ["--strict", "--max-rejected"], "{command}");
        let fields = options_under(&help, "Fields:");
        assert!(
            fields
                .iter()
                .all(|option| option.ends_with("-key") || *option == "--labels"),
            "{command}: {fields:?}"
        );
        let input = options_under(&help, "Input:");
        for other in ["--output", "--quiet", "--threads", "--docs", "--profile"] {
            assert!(!input.contains(&other), "{command}: {other}");
        }
    }
}
