//! Runs on disk: beyond the memory limit, after kills, by several processes, and refused options.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// The files of a result that do not tell of the run itself.
fn result(sandbox: &Sandbox, out: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = sandbox.tree(out);
    files.retain(|name, _| !name.contains("report.") && !name.contains(".twinprint"));
    assert!(files.len() >= 4, "{:?}", files.keys());
    files
}

fn corpus(files: usize, documents: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(11);
    for file in 0..files {
        sandbox.put(&format!("in/{file}.jsonl"), corpus.jsonl(documents));
    }
    sandbox
}

#[test]
fn tables_beyond_the_memory_limit_are_kept_on_disk() {
    let sandbox = Sandbox::new();
    // Long ids fill the tables with few documents.
    let mut corpus = Corpus::new(5);
    let rows = corpus.texts(2000).into_iter().enumerate();
    let row = |(i, text)| {
        format!(
            "{}\n",
            serde_json::json!({"id": format!("{i:030000}"), "text": text})
        )
    };
    sandbox.put("long.jsonl", rows.map(row).collect::<String>());
    let run = sandbox
        .run("dedup long.jsonl -o limited --threads 1 --memory 150MiB")
        .ok();
    assert!(run.stderr.contains("begins again on disk"), "{}", run.stderr);
    sandbox.run("dedup long.jsonl -o free --quiet").ok();
    assert_eq!(result(&sandbox, "limited"), result(&sandbox, "free"));
    assert!(!sandbox.path("limited.stages").exists());
    // An option that a run on disk does not offer ends the run instead.
    let refused = sandbox.run("dedup long.jsonl -o annotated --threads 1 --memory 150MiB --order similar");
    refused.fails(1, &["MiB", "limit"]);
}

#[test]
fn a_killed_run_goes_on_with_the_same_result() {
    let sandbox = corpus(6, 1500);
    sandbox.run("dedup in -o whole --pairs=distinct --quiet").ok();
    let command = "dedup in -o killed --pairs=distinct --on-disk --quiet";
    for milliseconds in [20, 90, 200, 350, 500, 650] {
        let child = sandbox
            .command(env!("CARGO_BIN_EXE_twinprint"))
            .args(command.split(' '))
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        let _ended = child.kill();
        child.wait().unwrap();
        if sandbox.path("killed/report.json").exists() {
            break;
        }
    }
    if !sandbox.path("killed/report.json").exists() {
        sandbox.run(command).ok();
    }
    assert_eq!(result(&sandbox, "killed"), result(&sandbox, "whole"));
    assert!(!sandbox.path("killed.stages").exists());
}

#[test]
fn an_interrupted_run_is_refused_with_other_options_and_begins_anew_on_request() {
    let sandbox = corpus(3, 60);
    sandbox.run("shard analyse in -o out --quiet").ok();
    sandbox
        .run("dedup in -o out --on-disk --threshold 0.9")
        .fails(1, &["out.stages", "other options"]);
    // A run in memory does not need the folder, and leaves it alone.
    sandbox.run("dedup in -o other --threshold 0.9 --quiet").ok();
    assert!(sandbox.path("out.stages").exists());
    sandbox
        .run("dedup in -o out --on-disk --threshold 0.9 --fresh --quiet")
        .ok();
    assert_eq!(result(&sandbox, "out"), result(&sandbox, "other"));
}

#[test]
fn a_run_goes_on_with_another_memory_limit() {
    let sandbox = corpus(3, 60);
    sandbox.run("dedup in -o whole --memory 1GiB --quiet").ok();
    sandbox
        .run("shard analyse in -o out --memory 200MiB --threads 2 --quiet")
        .ok();
    sandbox
        .run("shard classes in -o out --memory 300MiB --threads 2 --quiet")
        .ok();
    sandbox
        .run("dedup in -o out --on-disk --memory 1GiB --quiet")
        .ok();
    assert_eq!(result(&sandbox, "out"), result(&sandbox, "whole"));
}

#[test]
fn the_status_begins_no_run() {
    let sandbox = corpus(3, 60);
    let status = sandbox.run("shard status in -o out").ok().stdout;
    assert!(status.contains("no stage has begun: out.stages"), "{status}");
    assert!(!sandbox.path("out.stages").exists());
    sandbox.run("dedup in -o out --on-disk --quiet").ok();
    let status = sandbox.run("shard status in -o out").ok().stdout;
    assert!(status.contains("out has a complete result"), "{status}");
    assert!(!sandbox.path("out.stages").exists());
}

#[test]
fn a_stage_runs_and_has_no_estimate() {
    let sandbox = corpus(3, 60);
    sandbox
        .run("shard analyse in -o out --dry-run")
        .fails(2, &["--dry-run", "dedup --on-disk --dry-run"]);
    assert!(!sandbox.path("out.stages").exists());
}

#[test]
fn a_folder_of_another_run_is_refused_with_one_fix() {
    let sandbox = corpus(3, 60);
    sandbox.run("shard analyse in -o out --quiet").ok();
    let refused = sandbox.run("dedup in -o out --on-disk --threshold 0.9");
    assert!(
        !refused.stderr.contains("the same command resumes"),
        "{}",
        refused.stderr
    );
    refused.fails(1, &["other options", "delete it", "--on-disk --fresh"]);
}

#[test]
fn a_stage_waits_for_the_stages_before_it() {
    let sandbox = corpus(3, 60);
    sandbox.run("shard analyse in -o out --task 1/2").ok();
    let early = sandbox.run("shard join in -o out");
    early.fails(1, &["\"analyse\" is not complete", "2 of 3 tasks"]);
    let status = sandbox.run("shard status in -o out").ok().stdout;
    assert!(status.contains("analyse          2 of 3 tasks"), "{status}");
    assert!(status.contains("verify           0 of ? tasks"), "{status}");
    sandbox
        .run("shard analyse in -o out --task 3/2")
        .fails(2, &["--task", "2/8"]);
}

#[test]
fn options_that_need_a_run_in_memory_are_refused() {
    let sandbox = corpus(1, 20);
    let refused = sandbox.run("dedup in -o out --on-disk --order similar");
    refused.fails(2, &["--order", "on disk"]);
    let stdin = sandbox.bash("cat in/0.jsonl | twinprint dedup - --format jsonl -o out --on-disk");
    stdin.fails(2, &["stdin", "file"]);
}

/// A passage of `words` words that depend on `seed`.
fn passage(seed: usize, words: usize) -> String {
    let word = |i: usize| {
        format!(
            "p{:x}",
            (seed * 7919 + i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
        )
    };
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// Three files of texts with passages. Each passage is in two texts, and one is in a hundred.
fn corpus_of_passages() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(3);
    for file in 0..3 {
        let rows = corpus.texts(120).into_iter().enumerate().map(|(i, text)| {
            let number = file * 120 + i;
            let more = if number % 3 == 0 {
                passage(1000, 200)
            } else {
                passage(number / 2, 60)
            };
            let row = serde_json::json!({"id": number, "text": format!("{text} {more}")});
            format!("{row}\n")
        });
        sandbox.put(&format!("in/{file}.jsonl"), rows.collect::<String>());
    }
    sandbox
}

#[test]
fn partial_copies_are_those_of_a_run_in_memory() {
    let sandbox = corpus_of_passages();
    sandbox.run("dedup in -o whole --parts --quiet").ok();
    for stage in twinprint::Stage::ALL {
        for task in ["2/2", "1/2"] {
            let command = format!(
                "shard {} in -o staged --parts --task {task} --quiet",
                stage.name()
            );
            sandbox.run(&command).ok();
        }
    }
    let run = sandbox.run("dedup in -o staged --parts --on-disk").ok();
    assert!(run.stdout.contains("parts.jsonl"), "{}", run.stdout);
    assert_eq!(result(&sandbox, "staged"), result(&sandbox, "whole"));
    let rows = |name: &str| sandbox.tree("staged")[name].split(|&byte| byte == b'\n').count();
    let (pairs, holders) = (rows("parts.jsonl"), rows("passages.jsonl"));
    assert!(pairs > 20 && holders > 64, "{pairs} and {holders} rows");
}

#[test]
fn known_texts_and_added_files_have_their_partial_copies() {
    let sandbox = corpus_of_passages();
    sandbox.run("collection create seen").ok();
    sandbox.run("collection add seen in/1.jsonl --quiet").ok();
    let added = std::fs::read(sandbox.path("in/2.jsonl")).unwrap();
    std::fs::remove_file(sandbox.path("in/2.jsonl")).unwrap();
    let command = "dedup in --parts --against seen --quiet";
    let on_disk = format!("{command} -o out --on-disk --incremental --overwrite");
    sandbox.run(&on_disk).ok();
    sandbox.put("in/2.jsonl", added);
    let run = sandbox.run(&on_disk).ok();
    assert!(
        run.stderr.is_empty() || run.stderr.contains("2 of 3 files"),
        "{}",
        run.stderr
    );
    sandbox.run(&format!("{command} -o whole")).ok();
    assert_eq!(result(&sandbox, "out"), result(&sandbox, "whole"));
    let known = &sandbox.json("out/report.json")["records"]["removed_known"];
    assert!(known.as_u64().unwrap() >= 100, "{known}");
    let rows = |name: &str| sandbox.tree("out")[name].split(|&byte| byte == b'\n').count();
    let (pairs, holders) = (rows("parts.jsonl"), rows("passages.jsonl"));
    assert!(pairs > 20 && holders > 64, "{pairs} and {holders} rows");
}

#[test]
fn duplicates_of_a_collection_are_removed_by_every_process() {
    let sandbox = corpus(3, 300);
    sandbox.run("collection create seen").ok();
    sandbox.run("collection add seen in/1.jsonl --quiet").ok();
    sandbox.run("dedup in -o whole --against seen --quiet").ok();
    let stages = [
        "analyse",
        "classes",
        "items",
        "against",
        "parameters",
        "join",
        "candidates",
        "verify",
        "lead",
    ];
    for stage in stages.iter().chain(&["groups", "recall"]) {
        for task in ["2/2", "1/2"] {
            let command = format!("shard {stage} in -o staged --against seen --task {task} --quiet");
            sandbox.run(&command).ok();
        }
    }
    let run = sandbox.run("dedup in -o staged --against seen --on-disk").ok();
    assert!(run.stdout.contains("known from before"), "{}", run.stdout);
    assert_eq!(result(&sandbox, "staged"), result(&sandbox, "whole"));
    let refused = sandbox.run("dedup in -o more --against seen --append --on-disk");
    refused.fails(2, &["--append", "on disk"]);
}

#[test]
fn an_incremental_run_over_more_files_has_the_result_of_one_run() {
    let sandbox = corpus(4, 300);
    let added = std::fs::read(sandbox.path("in/3.jsonl")).unwrap();
    std::fs::remove_file(sandbox.path("in/3.jsonl")).unwrap();
    let incremental = "dedup in -o out --on-disk --incremental --pairs=distinct";
    sandbox.run(incremental).ok();
    assert!(sandbox.path("out.stages/8-verify").exists());
    assert!(!sandbox.path("out.stages/6-join").exists());
    sandbox.put("in/3.jsonl", added);
    sandbox.run(incremental).fails(1, &["out", "--overwrite"]);
    let run = sandbox.run(&format!("{incremental} --overwrite")).ok();
    assert!(
        run.stderr.contains("3 of 4 files were analysed"),
        "{}",
        run.stderr
    );
    sandbox.run("dedup in -o whole --pairs=distinct --quiet").ok();
    assert_eq!(result(&sandbox, "out"), result(&sandbox, "whole"));
    sandbox
        .run("dedup in -o other --incremental")
        .fails(2, &["--on-disk"]);
}

#[test]
fn no_process_of_a_stage_empties_the_folder() {
    let sandbox = corpus(3, 60);
    sandbox.run("shard analyse in -o out --quiet").ok();
    for options in ["--fresh", "--on-disk --fresh"] {
        let refused = sandbox.run(&format!("shard classes in -o out {options}"));
        refused.fails(2, &["--fresh", "delete the folder"]);
    }
    let status = sandbox.run("shard status in -o out").ok().stdout;
    assert!(status.contains("analyse          3 of 3 tasks"), "{status}");
    let help = sandbox.run("shard --help").ok().stdout;
    assert!(
        !help.contains("--fresh") && help.contains("delete the folder"),
        "{help}"
    );
    sandbox
        .run("dedup in -o out --fresh")
        .fails(2, &["--fresh", "--on-disk"]);
}

#[test]
fn a_damaged_file_is_named_and_the_run_begins_anew_on_request() {
    let sandbox = corpus(3, 60);
    sandbox.run("dedup in -o whole --quiet").ok();
    sandbox.run("shard analyse in -o out --quiet").ok();
    sandbox.put("out.stages/1-analyse/00001/documents-00000", "no rows");
    let refused = sandbox.run("dedup in -o out --on-disk");
    refused.fails(
        1,
        &["1-analyse/00001/documents-00000", "7 bytes instead of", "--fresh"],
    );
    sandbox.run("dedup in -o out --on-disk --fresh --quiet").ok();
    assert_eq!(result(&sandbox, "out"), result(&sandbox, "whole"));
}

#[test]
fn few_files_are_open_at_a_time() {
    // Each file is a part of the input. A run has four files of each part.
    let sandbox = corpus(63, 12);
    sandbox.run("dedup in -o whole --pairs=distinct --quiet").ok();
    let command = "twinprint dedup in -o limited --pairs=distinct --on-disk --quiet";
    sandbox.bash(&format!("ulimit -n 180; {command}")).ok();
    assert_eq!(result(&sandbox, "limited"), result(&sandbox, "whole"));
}
