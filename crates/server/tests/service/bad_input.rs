//! What no honest client sends: each has its documented status, and the service goes on as before.

use std::io::{Read, Write};
use std::time::Duration;

use serde_json::json;
use twinprint_server::Limits;

use crate::client::{Running, page, read};

const JSON: &str = "Content-Type: application/json\r\n";

fn strict() -> Running {
    Running::with(
        Limits {
            body_bytes: 1 << 20,
            unpacked_body_bytes: 4 << 20,
            header_timeout: Duration::from_millis(500),
            body_timeout: Duration::from_millis(800),
            batch_documents: 20,
            connections: 30,
            ..Limits::default()
        },
        None,
    )
}

fn still_well(running: &Running) {
    let answer = running
        .post("check", &json!({"id": "x", "text": page(1, 0)}))
        .is(200)
        .json();
    assert_eq!(answer["verdict"], "new");
    assert_eq!(
        running.get("/v1/collections/c/stats").is(200).json()["documents"],
        0
    );
}

#[test]
fn bodies_that_make_no_sense() {
    let running = strict();
    let path = "/v1/collections/c/check";
    let send = |body: &str| running.call_with("POST", path, JSON, body.as_bytes()).status;
    assert_eq!(send(""), 400);
    assert_eq!(send("{"), 400);
    assert_eq!(send("\u{0}"), 400);
    assert_eq!(send(&"[".repeat(200_000)), 422);
    let deep = format!(
        "{{\"id\":\"a\",\"text\":\"x\",\"fields\":{{\"x\":{}",
        "[".repeat(200_000)
    );
    assert_eq!(send(&deep), 400);
    assert_eq!(send("{\"id\":\"a\",\"text\":\"\\ud800\"}"), 400);
    assert_eq!(send("{\"id\":\"a\",\"text\":\"x\",\"score\":NaN}"), 400);
    for document in [
        json!([]),
        json!({"id": "a"}),
        json!({"id": "", "text": "x"}),
        json!({"id": "a".repeat(3000), "text": "x"}),
        json!({"id": 7, "text": "x"}),
        json!({"id": "a", "text": "x", "html": "y"}),
        json!({"id": "a", "text": "x", "colour": "red"}),
        json!({"id": "a", "text": "x", "ttl": -1}),
        json!({"id": "a", "text": "x", "ttl": 0}),
        json!({"id": "a", "text": "x", "ttl": u64::MAX}),
        json!({"id": "a", "text": "x", "score": "good"}),
        json!({"id": "a", "fingerprint": "0123"}),
        json!({"id": "a", "fingerprint": "+".repeat(32)}),
        json!({"id": "a", "fingerprint": "é".repeat(16)}),
        json!({"id": "a", "text": "x", "fields": {"long": "y".repeat(70_000)}}),
    ] {
        let said = document.to_string();
        let response = running.call("POST", path, &said);
        assert_eq!(
            response.status,
            422,
            "{} -> {response:?}",
            &said[..said.len().min(80)]
        );
        response.is(422);
    }
    let many = json!({"documents": vec![json!({"id": "a", "text": "x"}); 21]});
    let refused = running.post("documents", &many).is(413).json();
    assert_eq!((&refused["limit"], &refused["got"]), (&json!(20), &json!(21)));
    let mut one_odd = vec![json!({"id": "a", "text": "x"}); 5];
    one_odd[3]["score"] = json!("good");
    let refused = running
        .post("documents", &json!({"documents": one_odd}))
        .is(422)
        .json();
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("documents[3].score"), "{detail}");
    running
        .post("similar", &json!({"document": {"id": "a", "text": "x"}, "k": 99}))
        .is(422);
    running
        .call_with("POST", path, "Content-Type: text/plain\r\n", b"{}")
        .is(415);
    running.call_with("POST", path, "", b"{}").is(415);
    still_well(&running);
}

#[test]
fn paths_that_lead_nowhere() {
    let running = strict();
    for name in [
        "..",
        "..%2f..%2fetc",
        "A",
        "a.b",
        "%00",
        "a%20b",
        "~root",
        &"a".repeat(65),
    ] {
        let status = running.call("PUT", &format!("/v1/collections/{name}"), "").status;
        assert!(status == 422 || status == 404, "{name}: {status}");
        assert_eq!(
            running.get(&format!("/v1/collections/{name}/stats")).status,
            404,
            "{name}"
        );
    }
    running.get("/v1/collections/%ff/stats").is(400);
    running.get("/nowhere").is(404);
    running.get("/v1/collections/c/groups/not-a-number").is(400);
    running.get("/v1/collections/c/groups?limit=many").is(400);
    running.get("/v1/collections/c/groups?unknown=1").is(400);
    running
        .get("/v1/collections/c/groups/18446744073709551615")
        .is(404);
    running.get("/v1/collections/c/documents/..%2f..%2fx").is(404);
    running.get("/v1/collections/c/explain?a=x&b=y").is(404);
    running.get("/v1/jobs/1").is(404);
    running.call("PATCH", "/v1/collections/c", "").is(405);
    running.call("PUT", "/v1/collections/d", "{\"k\": 99}").is(422);
    running
        .call("PUT", "/v1/collections/d", "{\"threshold\": 0}")
        .is(422);
    running
        .call("PUT", "/v1/collections/d", "{\"colour\": 1}")
        .is(422);
    still_well(&running);
}

#[test]
fn bodies_that_are_too_much() {
    let running = strict();
    let path = "/v1/collections/c/check";
    let long = vec![b' '; 2 << 20];
    running.call_with("POST", path, JSON, &long).is(413);
    // A claim of a gigabyte is refused without waiting for it.
    let mut stream = running.connect();
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: 1073741824\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    read(&mut stream).is(413);
    // Chunks without end are refused once they are too much.
    let mut stream = running.connect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\n{JSON}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    // Nobody reads on after the answer, so writing ends in an error.
    while stream.write_all(chunk.as_bytes()).is_ok() {}
    let refused = read(&mut stream).status;
    assert!(refused == 413 || refused == 0, "{refused}");
    let pack = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let document = json!({"id": "a", "text": page(1, 0)}).to_string();
    let gzip = format!("{JSON}Content-Encoding: gzip\r\n");
    running
        .call_with("POST", path, &gzip, &pack(document.as_bytes()))
        .is(200);
    let zstd = format!("{JSON}Content-Encoding: zstd\r\n");
    let packed = zstd::bulk::compress(document.as_bytes(), 1).unwrap();
    running.call_with("POST", path, &zstd, &packed).is(200);
    running
        .call_with("POST", path, &gzip, &pack(&vec![b' '; 64 << 20]))
        .is(413);
    running
        .call_with(
            "POST",
            path,
            &zstd,
            &zstd::bulk::compress(&vec![b' '; 64 << 20], 1).unwrap(),
        )
        .is(413);
    running.call_with("POST", path, &gzip, b"no gzip").is(400);
    for codings in ["gzip, gzip", "br", "gzip\r\nContent-Encoding: gzip"] {
        let stacked = format!("{JSON}Content-Encoding: {codings}\r\n");
        running
            .call_with("POST", path, &stacked, &pack(document.as_bytes()))
            .is(415);
    }
    let deep = json!({"id": "deep", "html": "<div>".repeat(100_000)});
    let status = running.post("check", &deep).status;
    assert!(status == 200 || status == 422, "{status}");
    still_well(&running);
}

#[test]
fn clients_that_are_slow_or_many() {
    let running = strict();
    // Headers that never end.
    let mut slow = running.connect();
    slow.write_all(b"GET /livez HTTP/1.1\r\nHost: local").unwrap();
    // A body that dribbles.
    let mut dribble = running.connect();
    let head = format!(
        "POST /v1/collections/c/check HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: 1000\r\n\r\n{{"
    );
    dribble.write_all(head.as_bytes()).unwrap();
    read(&mut dribble).is(408);
    // The connection of the first is closed, with or without a word.
    let answered = read(&mut slow).status;
    assert!(answered == 0 || answered == 408 || answered == 400, "{answered}");
    let idle: Vec<_> = (0..60).map(|_| running.connect()).collect();
    std::thread::sleep(Duration::from_millis(100));
    drop(idle);
    std::thread::sleep(Duration::from_millis(300));
    let headers = format!("X: {}\r\n", "y".repeat(1000)).repeat(200);
    assert_eq!(running.call_with("GET", "/livez", &headers, b"").status, 431);
    still_well(&running);
}

/// Sends a request for an export of some megabytes.
fn ask_for_much(running: &Running) -> std::net::TcpStream {
    let mut stream = running.connect();
    stream
        .write_all(b"GET /v1/collections/c/export HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    stream
}

#[test]
fn clients_that_do_not_take_their_answer() {
    let running = Running::with(
        Limits {
            write_timeout: Duration::from_millis(700),
            exports: 1,
            ..Limits::default()
        },
        None,
    );
    for n in 0..200 {
        let text: Vec<String> = (0..20).map(|i| page(n * 100 + i, 0)).collect();
        running
            .post(
                "check-and-insert?durability=buffered",
                &json!({"id": n.to_string(), "text": text.join(" ")}),
            )
            .is(200);
    }
    let whole = running.get("/v1/collections/c/export").is(200).body.len();
    assert!(whole > 2 << 20, "{whole}");
    let slow = |running: &Running| -> u64 {
        let metrics = running.get("/metrics").is(200).body;
        let line = metrics
            .lines()
            .find(|line| line.starts_with("twinprint_connections_slow_total "));
        line.unwrap().split(' ').nth(1).unwrap().parse().unwrap()
    };
    let closed = |count: u64| {
        for _ in 0..2000 {
            if slow(&running) == count {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("nobody was let go");
    };
    // One that reads nothing holds the only export there may be, until it is let go.
    let mut silent = ask_for_much(&running);
    let mut first = [0];
    silent.read_exact(&mut first).unwrap();
    running.get("/v1/collections/c/export").is(429);
    closed(1);
    assert_eq!(running.get("/v1/collections/c/export").is(200).body.len(), whole);
    let mut rest = Vec::new();
    // It ends early, with an error or without.
    let _reset = silent.read_to_end(&mut rest);
    assert!(rest.len() < whole, "{}", rest.len());
    // One that takes a byte now and then is let go as well; one that takes its time but goes on is not.
    let mut dribble = ask_for_much(&running);
    let dribbling = std::thread::spawn(move || {
        let mut byte = [0];
        let mut taken = 0;
        while matches!(dribble.read(&mut byte), Ok(1)) && taken < 1_000_000 {
            taken += 1;
            std::thread::sleep(Duration::from_millis(if taken < 100 { 20 } else { 0 }));
        }
        taken
    });
    closed(2);
    assert!(dribbling.join().unwrap() < whole);
    let mut leisurely = ask_for_much(&running);
    let mut part = vec![0; 256 << 10];
    let mut taken = 0;
    while taken < whole {
        let read = leisurely.read(&mut part).unwrap();
        assert!(read > 0, "closed after {taken}");
        taken += read;
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(slow(&running), 2);
}

#[test]
fn an_idempotency_key_stands_for_one_body() {
    let running = Running::new();
    let path = "/v1/collections/c/check-and-insert";
    let body = |n: u64| json!({"id": "a", "text": page(n, 0)}).to_string();
    let key = format!("{JSON}Idempotency-Key: one\r\n");
    let first = running.call_with("POST", path, &key, body(1).as_bytes()).is(200);
    let again = running.call_with("POST", path, &key, body(1).as_bytes()).is(200);
    assert_eq!(first.body, again.body);
    assert_eq!(first.json()["verdict"], "new");
    running.call_with("POST", path, &key, body(2).as_bytes()).is(422);
    assert_eq!(
        running.get("/v1/collections/c/changes").json()["changes"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let long = format!("{JSON}Idempotency-Key: {}\r\n", "k".repeat(300));
    running.call_with("POST", path, &long, body(1).as_bytes()).is(400);
    // A collection that comes after it under its name knows nothing of it.
    running.call("DELETE", "/v1/collections/c", "").is(204);
    running.call_with("PUT", "/v1/collections/c", JSON, b"{}").is(201);
    let anew = running.call_with("POST", path, &key, body(1).as_bytes()).is(200);
    assert_eq!(anew.json()["verdict"], "new");
    running
        .call_with("GET", "/v1/collections/c/documents/a", "", b"")
        .is(200);
}
