//! Tests of overload and shutdown.

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use serde_json::json;
use twinprint_server::Limits;

use crate::client::{TestService, page, read};

#[test]
fn requests_beyond_a_limit_are_answered_with_429() {
    let document = json!({"id": "a", "text": page(1, 0).repeat(20)});
    let default = Limits::default();
    for (limits, path) in [
        (
            Limits {
                requests: 0,
                ..default
            },
            "check",
        ),
        (
            Limits {
                total_body_bytes: 4096,
                ..default
            },
            "check",
        ),
        (
            Limits {
                exports: 0,
                ..default
            },
            "export",
        ),
    ] {
        let running = TestService::new().restart(limits);
        let refused = if path == "export" {
            running.get("/v1/collections/c/export")
        } else {
            running.post(path, &document)
        };
        let refused = refused.is(429);
        assert!(refused.head.contains("retry-after: 1"), "{refused:?}");
        assert!(!refused.json()["limit"].is_null(), "{refused:?}");
        // The monitoring routes answer regardless of the limits.
        running.get("/livez").is(200);
        running.get("/metrics").is(200);
    }
}

#[test]
fn a_request_in_progress_is_answered_before_shutdown() {
    let running = TestService::new();
    let mut stream = running.connect();
    let documents: Vec<_> = (0..50)
        .map(|n| json!({"id": n.to_string(), "text": page(n, 0)}))
        .collect();
    let body = json!({"documents": documents}).to_string();
    let (first, rest) = body.split_at(100);
    // The first answer shows that the connection is accepted.
    stream
        .write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    while line != "ok\n" {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0);
    }
    let head = format!(
        "POST /v1/collections/c/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{first}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let TestService { service, dir } = running;
    let stopping = std::thread::spawn(move || service.stop());
    std::thread::sleep(Duration::from_millis(200));
    stream.write_all(rest.as_bytes()).unwrap();
    let answer = read(&mut stream).is(200).json();
    assert_eq!(answer["items"].as_array().unwrap().len(), 50);
    stopping.join().unwrap();
    let collection = twinprint_collection::Collection::open(&dir.path().join("collections/c")).unwrap();
    assert_eq!(collection.len(), 50);
}
