//! Selection of files and records: globs, patterns, limits, statuses. Everything skipped is counted.

use serde_json::json;

use crate::sandbox::Sandbox;

fn sources() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, text) in [
        ("src/a.py", "def a(): return one"),
        ("src/b/c.py", "def c(): return two"),
        ("src/b/d.rs", "fn d() -> u32 { three }"),
        ("src/e.txt", "four and five"),
        ("src/node_modules/f.txt", "six and seven"),
    ] {
        sandbox.put(name, text);
    }
    sandbox
}

#[test]
fn files_of_a_glob_with_an_extension_are_read_as_text() {
    let sandbox = sources();
    let run = sandbox.run("dedup src/**/*.py -o out").ok();
    assert!(
        run.stdout
            .contains("as text              2  files whose extensions name another format or none: 2 .py"),
        "{}",
        run.stdout
    );
    let report = sandbox.json("out/report.json");
    assert_eq!(report["records"]["kept"], 2);
    assert_eq!(report["input"]["read_as_text"], json!({".py": 2}));
    assert_eq!(sandbox.text("out/kept/b/c.py"), "def c(): return two");
    // The shell expands globs as well.
    sandbox.run("dedup src/a.py src/b/c.py -o named --quiet").ok();
    assert_eq!(sandbox.json("named/report.json")["records"]["kept"], 2);
}

#[test]
fn patterns_choose_files_and_excluded_ones_are_counted() {
    let sandbox = sources();
    let run = sandbox
        .run("dedup src -o out --exclude node_modules/ --exclude *.rs")
        .ok();
    for message in [
        "1  file excluded",
        "1  folder excluded, with everything in it",
        "2  files of other kinds",
    ] {
        assert!(run.stdout.contains(message), "{message}: {}", run.stdout);
    }
    let skipped = &sandbox.json("out/report.json")["input"]["skipped"];
    assert_eq!(
        *skipped,
        json!({"(excluded folder)": 1, "(excluded)": 1, ".py": 2})
    );
    let run = sandbox
        .run("dedup src -o some --include *.py --include /b/*.rs")
        .ok();
    assert!(run.stdout.contains("2  files not included"), "{}", run.stdout);
    assert_eq!(sandbox.json("some/report.json")["records"]["kept"], 3);
    // The config.toml of the run repeats it.
    for out in ["out", "some"] {
        sandbox
            .run(&format!(
                "dedup --config {out}/config.toml -o again-{out} --quiet"
            ))
            .ok();
        assert_eq!(
            sandbox.tree(&format!("{out}/kept")),
            sandbox.tree(&format!("again-{out}/kept"))
        );
    }
    sandbox
        .run("dedup src -o none --exclude !a")
        .fails(1, &["\"!a\" begins with !"]);
    sandbox
        .run("fingerprint src --exclude *.txt --exclude node_modules --quiet")
        .fails(
            1,
            &["no file to read in src", "1 (excluded)", "1 (excluded folder)"],
        );
}

#[test]
fn limits_and_empty_folders_are_reported() {
    let sandbox = sources();
    std::fs::create_dir(sandbox.path("hollow")).unwrap();
    let run = sandbox.run("dedup src hollow src/e.txt -o out --limit 1").ok();
    for message in [
        "1 file  named again, and read once",
        "limit                1  records, and nothing after them was read; 1 file not begun",
        "1 folder  without a file to read: hollow",
    ] {
        assert!(run.stdout.contains(message), "{message}: {}", run.stdout);
    }
    let input = &sandbox.json("out/report.json")["input"];
    assert_eq!(
        (&input["limit_reached"], &input["files_not_begun"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(input["empty_inputs"], json!(["hollow"]));
    assert!(
        sandbox.text("out/report.md").contains("limit"),
        "{}",
        sandbox.text("out/report.md")
    );
    sandbox.put("c.toml", "limit = 0\n");
    sandbox
        .run("dedup src -o none --config c.toml")
        .fails(2, &["c.toml", "limit"]);
}

#[test]
fn a_named_file_is_text_with_any_extension() {
    let sandbox = Sandbox::new();
    for name in [
        "in/inputrc.arrows",
        "in/notes.warc",
        "in/notes.feather",
        "in/notes.ipc",
        "in/notes.tab",
    ] {
        sandbox.put(name, format!("A line of {name}, and one more.\n"));
    }
    sandbox.run("dedup in --any-text -o out --quiet").ok();
    let records = &sandbox.json("out/report.json")["records"];
    assert_eq!((&records["kept"], &records["rejected"]), (&json!(5), &json!(0)));
    sandbox.run("dedup in/inputrc.arrows -o named --quiet").ok();
    assert_eq!(sandbox.json("named/report.json")["records"]["kept"], 1);
}

#[test]
fn pages_of_error_status_are_no_documents() {
    let sandbox = Sandbox::new();
    let page = |status: &str, text: &str| {
        let body = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n\r\n<p>{text}</p>");
        format!(
            "WARC/0.18\r\nWARC-Type: response\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let archive = [
        page("200 OK", "a page"),
        page("404 Not Found", "nothing here"),
        page("200 OK", "another page"),
    ]
    .concat();
    sandbox.put("a.warc", &archive);
    let run = sandbox.run("dedup a.warc -o out").ok();
    assert!(
        run.stdout
            .contains("1  records that are not documents: 1 status 4xx"),
        "{}",
        run.stdout
    );
    assert_eq!(sandbox.json("out/report.json")["records"]["kept"], 2);
    assert_eq!(sandbox.text("out/kept/a.warc"), archive);
    sandbox.run("dedup a.warc -o any --any-status --quiet").ok();
    assert_eq!(sandbox.json("any/report.json")["records"]["kept"], 3);
    assert!(sandbox.text("any/config.toml").contains("any-status = true"));
}
