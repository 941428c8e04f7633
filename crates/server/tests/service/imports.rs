//! Tests of import and export: imported and rejected lines, interrupted imports, idempotency keys.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use twinprint_server::Limits;

use crate::client::{Response, TestService, page, read};

const IMPORT: &str = "/v1/collections/c/import";

/// Imports lines with additional headers.
fn import(running: &TestService, headers: &str, lines: &str) -> Response {
    let headers = format!("Content-Type: application/x-ndjson\r\n{headers}");
    running.call_with("POST", IMPORT, &headers, lines.as_bytes())
}

#[test]
fn an_exported_collection_can_be_imported_without_loss() {
    let running = TestService::new();
    for n in 0..30 {
        running.add(&format!("d{n}"), &page(n % 20, n / 20));
    }
    let lines = running.get("/v1/collections/c/export").is(200).body;
    assert_eq!(lines.lines().count(), 30);
    running.call("PUT", "/v1/collections/other", "{}").is(201);
    let with_invalid_lines = format!("{lines}\nnot json\n{{\"id\":\"no text\"}}\n");
    let ndjson = "Content-Type: application/x-ndjson\r\n";
    let imported = running
        .call_with(
            "POST",
            "/v1/collections/other/import",
            ndjson,
            with_invalid_lines.as_bytes(),
        )
        .is(207)
        .json();
    assert_eq!(
        (&imported["verdicts"], &imported["rejected"]),
        (&json!({"new": 20, "near": 10}), &json!(2))
    );
    assert_eq!(imported["rejects"][0]["line"], 32);
    assert_eq!((&imported["lines"], &imported["taken"]), (&json!(32), &json!(30)));
    let without_times = |lines: &str| -> Vec<Value> {
        lines
            .lines()
            .map(|line| {
                let mut value: Value = serde_json::from_str(line).unwrap();
                for field in ["added", "changed"] {
                    value.as_object_mut().unwrap().remove(field);
                }
                value
            })
            .collect()
    };
    let copy = running.get("/v1/collections/other/export").is(200).body;
    assert_eq!(without_times(&lines), without_times(&copy));
}

#[test]
fn the_status_shows_whether_lines_were_rejected() {
    let running = TestService::new();
    let valid = json!({"id": "a", "text": page(1, 0)}).to_string();
    assert_eq!(import(&running, "", "").is(200).json()["lines"], 0);
    let whole = import(&running, "", &format!("\n{valid}\n\n")).is(200).json();
    assert_eq!(
        whole,
        json!({"lines": 1, "taken": 1, "rejected": 0, "verdicts": {"new": 1}, "rejects": []})
    );
    let invalid = format!("{{\"id\": \"x\", \"unknown\": \"{}\"}}\n", "y".repeat(5000));
    let some = import(&running, "", &format!("{valid}\n{}", invalid.repeat(150)))
        .is(207)
        .json();
    assert_eq!(
        (&some["lines"], &some["taken"], &some["rejected"]),
        (&json!(151), &json!(1), &json!(150))
    );
    let listed = some["rejects"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[0]["line"]), (100, &json!(2)));
    assert!(some.to_string().len() < 40_000);
    let none = import(&running, "", &invalid.repeat(3)).is(422).json();
    assert_eq!(
        (&none["import"]["taken"], &none["import"]["rejected"]),
        (&json!(0), &json!(3))
    );
    assert!(none["detail"].as_str().unwrap().contains("line 1"), "{none}");
}

#[test]
fn an_interrupted_import_reports_its_progress_and_can_be_repeated() {
    let limits = Limits {
        body_timeout: Duration::from_millis(300),
        ..Limits::default()
    };
    let running = TestService::new().restart(limits);
    let line = |n: u64| {
        let wide = json!({"wide": "x".repeat(60_000)});
        json!({"id": n.to_string(), "text": page(n, 0), "fields": wide}).to_string() + "\n"
    };
    let lines: String = (0..40).map(line).collect();
    let mut stream = running.connect();
    let head = format!(
        "POST {IMPORT} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\n\
         Idempotency-Key: k\r\nContent-Length: {}\r\n\r\n",
        lines.len() + 100
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(lines.as_bytes()).unwrap();
    let problem = read(&mut stream).is(408).json();
    let taken = problem["import"]["taken"].as_u64().unwrap();
    let stats = running.get("/v1/collections/c/stats").is(200).json();
    assert!(taken > 0 && stats["documents"] == taken, "{problem} {stats}");
    // The key is free, and a repeat of the whole import stores each document once.
    let repeated = import(&running, "Idempotency-Key: k\r\n", &lines).is(200).json();
    assert_eq!(
        (&repeated["verdicts"]["updated"], &repeated["taken"]),
        (&json!(taken), &json!(40))
    );
}

#[test]
fn an_import_with_an_idempotency_key_is_executed_once() {
    let running = TestService::new();
    let lines: String = (0..3)
        .map(|n| json!({"id": n.to_string(), "text": page(n, 0)}).to_string() + "\n")
        .collect();
    let key = "Idempotency-Key: once\r\n";
    let first = import(&running, key, &lines).is(200).json();
    running
        .call("DELETE", "/v1/collections/c/documents/1", "")
        .is(200);
    assert_eq!(import(&running, key, &lines).is(200).json(), first);
    running.get("/v1/collections/c/documents/1").is(404);
    import(&running, key, "{}\n").is(422);
    // While the first import is in progress, there is no answer to replay.
    let mut stream = running.connect();
    let head = format!(
        "POST {IMPORT} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\n\
         Idempotency-Key: slow\r\nContent-Length: {}\r\n\r\n",
        lines.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut early = (0..200).map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        import(&running, "Idempotency-Key: slow\r\n", "{}\n").status
    });
    assert!(early.any(|status| status == 409));
    stream.write_all(lines.as_bytes()).unwrap();
    read(&mut stream).is(200);
}

#[test]
fn a_deletion_with_an_idempotency_key_is_executed_once() {
    let running = TestService::new();
    let key = "Idempotency-Key: once\r\nX-Twinprint: 1\r\n";
    let delete = |path: &str| running.call_with("DELETE", &format!("/v1/collections/c{path}"), key, b"");
    running.add("a", &page(1, 0));
    let first = delete("/documents/a").is(200).json();
    running.add("a", &page(1, 0));
    assert_eq!(delete("/documents/a").is(200).json(), first);
    running.get("/v1/collections/c/documents/a").is(200);
    let job = delete("/sources/a.example").is(202).json();
    assert_eq!(delete("/sources/a.example").is(202).json()["id"], job["id"]);
    delete("").is(204);
    delete("").is(204);
    // A late repeat does not delete a new collection of the same name.
    running.call("PUT", "/v1/collections/c", "").is(201);
    assert!(delete("").is(204).body.is_empty());
    running.get("/v1/collections/c").is(200);
}
