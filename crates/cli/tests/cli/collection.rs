//! Collections on the command line: verdicts, refusals, and their state after kill -9.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::corpus::Corpus;
use crate::sandbox::{Run, Sandbox, TWINPRINT, skip};

fn with_collection() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("news.jsonl", Corpus::new(3).jsonl(80));
    sandbox.run("collection create seen").ok();
    sandbox
}

#[test]
fn the_verdicts_of_a_collection_are_those_of_dedup() {
    let sandbox = with_collection();
    let answers = sandbox.run("collection add seen news.jsonl --quiet").ok().stdout;
    sandbox.run("dedup news.jsonl -o out --mode report --quiet").ok();
    let clusters = sandbox.rows("out/clusters.jsonl");
    let answers: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), clusters.len());
    let mut leaders = 0;
    for (answer, row) in answers.iter().zip(&clusters) {
        assert_eq!(answer["id"], row["id"]);
        assert_eq!(
            answer["verdict"] == "new",
            row["is_leader"].as_bool().unwrap(),
            "{answer} {row}"
        );
        leaders += usize::from(answer["verdict"] == "new");
    }
    assert!(leaders < answers.len(), "the corpus has duplicates");
    let again = sandbox
        .run("collection query seen news.jsonl --summary --quiet")
        .ok()
        .stdout;
    assert_eq!(again, format!("{{\"updated\":{}}}\n", answers.len()));
    let exported = sandbox.run("collection export seen").ok().stdout;
    assert_eq!(exported.lines().count(), answers.len());
}

#[test]
fn refusals_of_a_collection_name_the_cause() {
    let sandbox = with_collection();
    sandbox
        .run("collection create seen")
        .fails(1, &["seen", "not empty"]);
    sandbox
        .run("collection create new -k 99")
        .fails(2, &["k: 99", "24"]);
    sandbox
        .run("collection create new --threshold 0")
        .fails(2, &["threshold"]);
    for (option, said) in [
        ("--max-texts 0", "--max-texts"),
        ("--ttl 0", "--ttl"),
        ("--window 7d", "--stories"),
        ("--live 5", "--stories"),
    ] {
        sandbox
            .run(&format!("collection create new {option}"))
            .fails(2, &[said]);
    }
    sandbox
        .run("collection add nowhere news.jsonl")
        .fails(1, &["nowhere", "collection create"]);
    sandbox.run("collection delete seen").fails(2, &["ID"]);
    sandbox.put("seen/collection.redb", "not a store");
    sandbox
        .run("collection stat seen")
        .fails(1, &["seen/collection.redb", "damaged"]);
}

#[test]
fn a_source_is_deleted_and_a_damaged_store_repaired() {
    let sandbox = with_collection();
    let page = |n: u32| {
        format!(
            "{{\"id\":\"{n}\",\"url\":\"http://{}.example/{n}\",\"text\":\"page {n} of its own\"}}\n",
            if n < 4 { "a" } else { "b" }
        )
    };
    sandbox.put("pages.jsonl", (0..10).map(page).collect::<String>());
    sandbox.run("collection add seen pages.jsonl --quiet").ok();
    assert_eq!(
        sandbox
            .run("collection delete seen --source a.example")
            .ok()
            .stdout,
        "seen: 4 documents deleted\n"
    );
    // Deleting is repeatable, so that a script can run again after it was interrupted.
    for said in [
        "seen: 1 document deleted, 1 not in the collection\n",
        "seen: 0 documents deleted, 2 not in the collection\n",
    ] {
        let delete = "collection delete seen 4 nobody nobody";
        assert_eq!(sandbox.run(delete).ok().stdout, said);
    }
    assert_eq!(
        sandbox.run("collection repair seen mended").ok().stdout,
        "5 documents saved, 0 lost\n"
    );
    sandbox.run("collection check mended").ok();
}

/// The library's tests damage every page; these check that only the error is printed.
#[test]
fn a_damaged_page_is_named_and_the_rest_is_saved() {
    const PAGE: usize = 4096;
    let sandbox = with_collection();
    sandbox.put("many.jsonl", Corpus::new(7).jsonl(400));
    sandbox.run("collection add seen many.jsonl --quiet").ok();
    let whole = std::fs::read(sandbox.path("seen/collection.redb")).unwrap();
    let used = |page: &usize| whole[page * PAGE..][..PAGE].iter().any(|&byte| byte != 0);
    let pages: Vec<usize> = (0..whole.len() / PAGE).filter(used).step_by(9).collect();
    let (mut saved, mut refused) = (0, 0);
    for page in pages {
        let mut bytes = whole.clone();
        bytes[page * PAGE..][..PAGE].fill(0);
        sandbox.put("seen/collection.redb", &bytes);
        let succeeds = |command: &str, said: &str| {
            let run = sandbox.run(command);
            if run.code == Some(0) {
                return true;
            }
            run.fails(1, &["seen/collection.redb: the collection is damaged: ", said]);
            false
        };
        let advice = "twinprint collection repair seen TO";
        let is_whole = succeeds("collection check seen", advice);
        succeeds("collection query seen many.jsonl --summary --quiet", advice);
        succeeds("collection export seen", advice);
        succeeds(
            "dedup many.jsonl -o out --against seen --overwrite --quiet",
            advice,
        );
        if succeeds("collection repair seen mended", "no new collection was created") {
            let rest = sandbox
                .run("collection export mended")
                .ok()
                .stdout
                .lines()
                .count();
            assert!(rest == 400 || !is_whole, "page {page}");
            sandbox.run("collection check mended").ok();
            sandbox.bash("rm -r mended").ok();
            saved += usize::from(rest < 400);
        } else {
            assert!(!is_whole && !sandbox.path("mended").exists(), "page {page}");
            refused += 1;
        }
        assert!(
            std::fs::read(sandbox.path("seen/collection.redb")).unwrap() == bytes,
            "page {page}"
        );
    }
    assert!(
        saved > 0 && refused > 0,
        "{saved} saved in part, {refused} refused"
    );
}

#[test]
fn a_collection_on_a_read_only_medium_answers_and_refuses_writes() {
    let sandbox = with_collection();
    sandbox
        .bash("mkdir collections\nmv seen collections/seen\ntwinprint collection add collections/seen news.jsonl --quiet")
        .ok();
    let script = r#"
        { mount --bind collections collections && mount -o remount,bind,ro collections; } || exit 99
        set -eu
        seen=collections/seen
        "$0" collection query $seen news.jsonl --summary --quiet > asked
        "$0" collection stat $seen > stat
        "$0" collection check $seen
        "$0" collection export $seen > exported
        "$0" collection backup $seen copy
        "$0" collection restore copy again
        "$0" collection repair $seen mended
        "$0" dedup news.jsonl -o out --against $seen --quiet
        for refused in "collection add $seen news.jsonl" "collection delete $seen a" \
            "dedup news.jsonl -o kept --against $seen --append"
        do
            ! "$0" $refused 2> refused
            grep -q "cannot be written (Read-only file system" refused
        done
        test ! -e kept
        "$0" serve collections --listen 127.0.0.1:0 --log quiet > printed & process=$!
        trap 'kill $process; wait $process' EXIT
        until grep -qs '^http.*:[0-9]' printed; do sleep 0.1; done
        service=$(sed 's|^http://||' printed)
        ask() {
            exec 3<> "/dev/tcp/${service%:*}/${service#*:}"
            printf '%s %s HTTP/1.1\r\nHost: %s\r\nX-Twinprint: 1\r\nConnection: close\r\n\r\n' "$1" "$2" "$service" >&3
            head -n 1 <&3 | cut -d ' ' -f 2
        }
        ask GET /readyz
        ask GET /v1/collections/seen/groups
        ask DELETE /v1/collections/seen/documents/a
        "#;
    let run = |rights: &[&str]| {
        let mut command = sandbox.command("unshare");
        command
            .args(rights)
            .args(["--mount", "bash", "-c", script, TWINPRINT]);
        command.output().ok().map(Run::of)
    };
    let mounted = |run: &Run| run.code != Some(99) && !run.stderr.contains("unshare: ");
    let run = run(&[])
        .filter(mounted)
        .or_else(|| run(&["--user", "--map-root-user"]).filter(mounted));
    let Some(run) = run else {
        return skip(
            "a_collection_on_a_read_only_medium_answers_and_refuses_writes",
            "nothing can be mounted here; the library's own tests open collections for reading alone",
        );
    };
    let stdout = run.ok().stdout;
    for part in [
        "whole: ",
        "backed up: ",
        "restored: ",
        "80 documents saved, 0 lost",
    ] {
        assert!(stdout.contains(part), "no {part:?} in {stdout}");
    }
    assert!(stdout.ends_with("503\n200\n503\n"), "{stdout}");
    assert_eq!(sandbox.text("asked"), "{\"updated\":80}\n");
    assert_eq!(sandbox.text("exported").lines().count(), 80);
}

#[test]
fn documents_without_ids_do_not_replace_those_of_another_day() {
    let sandbox = with_collection();
    let add = |text: &str| {
        let fed = format!(
            "echo '{{\"text\":\"{text}\"}}' | {TWINPRINT} collection add seen - --format jsonl --summary --quiet"
        );
        sandbox.bash(&fed).ok().stdout
    };
    assert_eq!(
        add("the bridge is closed for repairs until spring"),
        "{\"new\":1}\n"
    );
    assert_eq!(add("a bakery won the prize for its rye bread"), "{\"new\":1}\n");
    assert_eq!(
        add("a bakery won the prize for its rye bread"),
        "{\"updated\":1}\n"
    );
    let exported = sandbox.run("collection export seen").ok().stdout;
    assert_eq!(exported.lines().count(), 2, "{exported}");
}

#[test]
fn rejected_documents_are_reported_with_file_and_line() {
    let sandbox = with_collection();
    let long = "x".repeat(3000);
    sandbox.put(
        "odd.jsonl",
        format!(
            "{{\"id\":\"a\",\"text\":\"one of some words\",\"score\":\"high\"}}\n{{\"id\":\"{long}\",\"text\":\"two\"}}\n{{\"id\":\"\",\"text\":\"three\"}}\n\
             {{\"id\":\"d\",\"text\":4}}\n{{\"id\":\"e\",\"text\":\"five\"}}\n"
        ),
    );
    sandbox.run("collection create scored --canonical score").ok();
    let run = sandbox
        .run("collection add scored odd.jsonl --summary")
        .incomplete();
    for part in [
        "odd.jsonl:2: id",
        "odd.jsonl:4: ",
        "score: ignored in 1 document",
        "odd.jsonl:1",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert!(run.stdout.contains("\"new\":"), "{}", run.stdout);
    sandbox
        .run("collection add scored odd.jsonl --quiet --strict")
        .fails(
            1,
            &["odd.jsonl:2", "2 of 5 records rejected, and --strict allows none"],
        );
    sandbox.put(
        "refused.jsonl",
        format!("{{\"id\":\"{long}\",\"text\":\"three\"}}\n"),
    );
    sandbox
        .run("collection add scored refused.jsonl --quiet")
        .fails(1, &["none of the records is a document: 1 rejected (1 refused)"]);
}

#[test]
fn documents_are_added_if_the_answers_are_not_read() {
    let sandbox = with_collection();
    sandbox.put("many.jsonl", Corpus::new(5).jsonl(3000));
    sandbox
        .bash(&format!(
            "{TWINPRINT} collection add seen many.jsonl --quiet | head -n 1"
        ))
        .ok();
    let stats: Value = serde_json::from_str(&sandbox.run("collection stat seen").ok().stdout).unwrap();
    assert_eq!(stats["stats"]["documents"], 3000);
}

#[test]
fn an_index_is_not_built_in_the_directory_of_a_collection() {
    let sandbox = with_collection();
    sandbox.put("old.u64", [7; 8]);
    sandbox
        .run("index build old.u64 -o seen")
        .fails(1, &["seen is the directory of a collection"]);
    sandbox.run("collection check seen").ok();
}

/// After a kill the collection has all acknowledged documents, and none that were not sent.
#[test]
fn a_collection_killed_at_any_time_has_the_acknowledged_documents() {
    let sandbox = Sandbox::new();
    sandbox.run("collection create seen").ok();
    let mut sent = BTreeSet::new();
    let mut acknowledged = BTreeSet::new();
    for cycle in 0..6 {
        let ids: Vec<String> = (0..3000).map(|n| format!("{cycle}-{n}")).collect();
        let line =
            |id: &String| format!("{{\"id\":\"{id}\",\"text\":\"page {id} of its own, cycle {cycle}\"}}\n");
        sandbox.put("pages.jsonl", ids.iter().map(line).collect::<String>());
        sent.extend(ids);
        let mut command = sandbox.command(TWINPRINT);
        command
            .args(["collection", "add", "seen", "pages.jsonl", "--quiet"])
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        for (n, line) in answers.lines().enumerate() {
            let Ok(answer) = serde_json::from_str::<Value>(&line.unwrap()) else {
                break;
            };
            acknowledged.insert(answer["id"].as_str().unwrap().to_owned());
            if n == 37 * cycle {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        sandbox.run("collection check seen").ok();
        let exported = sandbox.run("collection export seen").ok().stdout;
        let stored: BTreeSet<String> = exported
            .lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["id"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert!(
            acknowledged.is_subset(&stored),
            "cycle {cycle}: {:?}",
            acknowledged.difference(&stored).next()
        );
        assert!(stored.is_subset(&sent));
    }
    assert!(acknowledged.len() > 100, "{}", acknowledged.len());
}
