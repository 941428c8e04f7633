//! The examples in the help of every command are run, over made-up inputs of the names they use.

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// The commands that the help lists.
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

/// Lines behind "Examples:" that are indented by two spaces; what is indented further explains them.
fn examples(help: &str) -> Vec<String> {
    let listed = help.split("Examples:\n").nth(1).unwrap_or_default();
    listed
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .map(str::to_owned)
        .collect()
}

/// One of each input that an example names.
fn inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(7);
    for name in ["news.jsonl", "a.jsonl", "b.jsonl"] {
        sandbox.put(name, corpus.jsonl(60));
    }
    for name in ["crawl/a.txt", "crawl/b.md", "crawl/deep/c.txt", "notes/d.txt"] {
        sandbox.put(name, corpus.document());
    }
    let nested = corpus.texts(40).into_iter();
    let nested = nested.map(|text| serde_json::json!({"body": {"text": text}}).to_string());
    let nested = nested.collect::<Vec<_>>().join("\n");
    sandbox.put("dump.jsonl.gz", Corpus::gzip(nested.as_bytes()));
    sandbox.put("old.txt", "The cat sat on the mat and looked at the rain.");
    sandbox.put("new.txt", "The cat sat on a mat and looked at the rain.");
    let vector = |i: u32| format!("{{\"id\":{i},\"embedding\":[0.{i},-0.25,0.5,1]}}\n");
    sandbox.put("vectors.jsonl", (1..9).map(vector).collect::<String>());
    sandbox
}

#[test]
fn every_command_shows_examples_that_work() {
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
            let run = inputs().bash(&example);
            assert_eq!(run.code, Some(0), "{example}\n{run:#?}");
            assert!(
                !run.stdout.is_empty() || example.contains(" > "),
                "{example} says nothing"
            );
            assert!(!run.stderr.contains("error"), "{example}\n{}", run.stderr);
        }
    }
}

#[test]
fn help_and_version_need_nothing() {
    let sandbox = Sandbox::new();
    let version = sandbox.run("--version").ok().stdout;
    assert_eq!(version, format!("twinprint {}\n", env!("CARGO_PKG_VERSION")));
    let bare = sandbox.run("");
    assert_eq!(bare.code, Some(2), "no command is wrong usage");
    assert!(bare.stderr.contains("Usage:"));
}
