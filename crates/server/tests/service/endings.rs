//! Too much at a time, secrets that stay, and an orderly end.

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use serde_json::json;
use twinprint_server::{Limits, LogFormat, Service, ServiceOptions};

use crate::client::{Running, page, read};

/// The same collections under other limits.
fn again(running: Running, limits: Limits) -> Running {
    let Running { service, dir } = running;
    service.stop();
    let options = ServiceOptions {
        dir: dir.path().join("collections"),
        backup_dir: None,
        listen: "127.0.0.1:0".parse().unwrap(),
        token_file: None,
        limits,
        log_format: LogFormat::Quiet,
    };
    let service = Service::start(&options).unwrap();
    Running { service, dir }
}

#[test]
fn who_asks_too_much_is_told_to_come_again() {
    let ask = json!({"id": "a", "text": page(1, 0).repeat(20)});
    let none = Limits::default();
    for (limits, path) in [
        (Limits { requests: 0, ..none }, "check"),
        (
            Limits {
                total_body_bytes: 4096,
                ..none
            },
            "check",
        ),
        (Limits { exports: 0, ..none }, "export"),
    ] {
        let running = again(Running::new(), limits);
        let refused = if path == "export" {
            running.get("/v1/collections/c/export")
        } else {
            running.post(path, &ask)
        };
        let refused = refused.is(429);
        assert!(refused.head.contains("retry-after: 1"), "{refused:?}");
        assert!(!refused.json()["limit"].is_null(), "{refused:?}");
        // What watches it is answered in any case.
        running.get("/livez").is(200);
        running.get("/metrics").is(200);
    }
}

#[test]
fn a_request_under_way_is_answered_before_the_end() {
    let running = Running::new();
    let mut stream = running.connect();
    let documents: Vec<_> = (0..50)
        .map(|n| json!({"id": n.to_string(), "text": page(n, 0)}))
        .collect();
    let body = json!({"documents": documents}).to_string();
    let (first, rest) = body.split_at(100);
    // One answer shows that the connection is served.
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
    let Running { service, dir } = running;
    let stopping = std::thread::spawn(move || service.stop());
    std::thread::sleep(Duration::from_millis(200));
    stream.write_all(rest.as_bytes()).unwrap();
    let answer = read(&mut stream).is(200).json();
    assert_eq!(answer["items"].as_array().unwrap().len(), 50);
    stopping.join().unwrap();
    let collection = twinprint::collection::Collection::open(&dir.path().join("collections/c")).unwrap();
    assert_eq!(collection.len(), 50);
}

#[test]
fn secrets_stay_in_their_collection() {
    let running = Running::new();
    let path = |rest: &str| format!("/v1/collections/keyed{rest}");
    let mut told = running.call("PUT", &path(""), "{\"keyed\": true}").is(201).body;
    for n in 0..3 {
        let body = json!({"id": n.to_string(), "text": page(1, n)}).to_string();
        told += &running
            .call("POST", &path("/check-and-insert"), &body)
            .is(200)
            .body;
        told += &running.get(&path(&format!("/documents/{n}"))).is(200).body;
    }
    for rest in ["", "/export", "/stats", "/changes", "/groups"] {
        told += &running.get(&path(rest)).is(200).body;
    }
    for word in ["fingerprint", "secret", "key\""] {
        assert!(!told.contains(word), "{word} in {told}");
    }
    let explained = running.get(&path("/explain?a=0&b=1")).is(200).json();
    assert_eq!(
        (&explained["fingerprints"], &explained["explanation"]["bits"]),
        (&json!(["", ""]), &json!([]))
    );
}

#[test]
fn a_collection_of_fingerprints_alone_goes_by_distance() {
    let running = Running::new();
    running
        .call("PUT", "/v1/collections/f", "{\"store\": \"none\", \"k\": 3}")
        .is(201);
    let add = |id: &str, digits: &str| {
        let body = json!({"id": id, "fingerprint": digits}).to_string();
        let answer = running
            .call("POST", "/v1/collections/f/check-and-insert", &body)
            .is(200)
            .json();
        assert_eq!(answer["verified"], false);
        (
            answer["verdict"].as_str().unwrap().to_owned(),
            answer["best"]["hamming"].as_u64(),
        )
    };
    let digits = "0123456789abcdef0123456789abcdef";
    assert_eq!(add("a", digits), ("new".to_owned(), None));
    assert_eq!(
        add("b", &digits.replacen('0', "7", 1)),
        ("near".to_owned(), Some(3))
    );
    assert_eq!(add("c", &digits.replacen('0', "f", 1)), ("new".to_owned(), None));
    // Where texts are kept, a fingerprint can be asked about and not added.
    let body = json!({"id": "a", "fingerprint": digits});
    running.post("check", &body).is(200);
    running.post("check-and-insert", &body).is(422);
}

#[test]
fn changes_are_told_in_pages() {
    let running = Running::new();
    for n in 0..7 {
        running
            .post(
                "check-and-insert",
                &json!({"id": n.to_string(), "text": page(n, 0)}),
            )
            .is(200);
    }
    let (mut since, mut ids) = (0, Vec::new());
    loop {
        let part = running
            .get(&format!("/v1/collections/c/changes?since={since}&limit=3"))
            .is(200)
            .json();
        let changes = part["changes"].as_array().unwrap().clone();
        if changes.is_empty() {
            break;
        }
        ids.extend(
            changes
                .iter()
                .map(|change| change["id"].as_str().unwrap().to_owned()),
        );
        since = part["next"].as_u64().unwrap();
    }
    assert_eq!(ids, ["0", "1", "2", "3", "4", "5", "6"]);
    let refused = running.get("/v1/collections/c/changes?limit=5000").is(422).json();
    assert_eq!((&refused["limit"], &refused["got"]), (&json!(1000), &json!(5000)));
}
