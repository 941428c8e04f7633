//! Tests of invalid requests: each gets its documented status, and the service continues to work.

use std::io::{Read, Write};
use std::time::Duration;

use serde_json::json;
use twinprint_server::Limits;

use crate::client::{TestService, page, read};

const JSON: &str = "Content-Type: application/json\r\n";

/// A service with tight limits.
fn strict() -> TestService {
    TestService::with(
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

/// Asserts that the service still works and that no document was added.
fn assert_unaffected(running: &TestService) {
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
fn invalid_bodies_are_refused() {
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
        // The fields of a document in their order.
        json!(["a", "some text", null, null, null, null, null, null, null, {}]),
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
        let body = document.to_string();
        let response = running.call("POST", path, &body);
        assert_eq!(
            response.status,
            422,
            "{} -> {response:?}",
            &body[..body.len().min(80)]
        );
        response.is(422);
    }
    let many = json!({"documents": vec![json!({"id": "a", "text": "x"}); 21]});
    let refused = running.post("documents", &many).is(413).json();
    assert_eq!((&refused["limit"], &refused["got"]), (&json!(20), &json!(21)));
    let mut with_invalid = vec![json!({"id": "a", "text": "x"}); 5];
    with_invalid[3]["score"] = json!("good");
    let refused = running
        .post("documents", &json!({"documents": with_invalid}))
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
    assert_unaffected(&running);
}

#[test]
fn invalid_paths_are_refused() {
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
    assert_unaffected(&running);
}

#[test]
fn oversized_bodies_are_refused() {
    let running = strict();
    let path = "/v1/collections/c/check";
    let long = vec![b' '; 2 << 20];
    running.call_with("POST", path, JSON, &long).is(413);
    // A declared length of 1 GiB is refused before the body arrives.
    let mut stream = running.connect();
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: 1073741824\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    read(&mut stream).is(413);
    // An endless chunked body is refused once it exceeds the limit.
    let mut stream = running.connect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\n{JSON}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    // The service stops reading after the answer, so writing fails in the end.
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
    running.call_with("POST", path, &gzip, b"not gzip").is(400);
    for codings in ["gzip, gzip", "br", "gzip\r\nContent-Encoding: gzip"] {
        let stacked = format!("{JSON}Content-Encoding: {codings}\r\n");
        running
            .call_with("POST", path, &stacked, &pack(document.as_bytes()))
            .is(415);
    }
    let deep = json!({"id": "deep", "html": "<div>".repeat(100_000)});
    let status = running.post("check", &deep).status;
    assert!(status == 200 || status == 422, "{status}");
    assert_unaffected(&running);
}

#[test]
fn slow_clients_time_out_and_idle_ones_do_no_harm() {
    let running = strict();
    // Headers that never end
    let mut slow = running.connect();
    slow.write_all(b"GET /livez HTTP/1.1\r\nHost: local").unwrap();
    // A body that stops arriving
    let mut stalled = running.connect();
    let head = format!(
        "POST /v1/collections/c/check HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: 1000\r\n\r\n{{"
    );
    stalled.write_all(head.as_bytes()).unwrap();
    read(&mut stalled).is(408);
    // The connection with unfinished headers is closed, with or without an answer.
    let status = read(&mut slow).status;
    assert!(status == 0 || status == 408 || status == 400, "{status}");
    let idle: Vec<_> = (0..60).map(|_| running.connect()).collect();
    std::thread::sleep(Duration::from_millis(100));
    drop(idle);
    std::thread::sleep(Duration::from_millis(300));
    let headers = format!("X: {}\r\n", "y".repeat(1000)).repeat(200);
    assert_eq!(running.call_with("GET", "/livez", &headers, b"").status, 431);
    assert_unaffected(&running);
}

/// Requests an export and does not read the answer.
fn request_export(running: &TestService) -> std::net::TcpStream {
    let mut stream = running.connect();
    stream
        .write_all(b"GET /v1/collections/c/export HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    stream
}

#[test]
fn clients_that_stop_reading_are_disconnected() {
    let running = TestService::with(
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
    let export_bytes = running.get("/v1/collections/c/export").is(200).body.len();
    assert!(export_bytes > 2 << 20, "{export_bytes}");
    let slow_connections = |running: &TestService| -> u64 {
        let metrics = running.get("/metrics").is(200).body;
        let line = metrics
            .lines()
            .find(|line| line.starts_with("twinprint_connections_slow_total "));
        line.unwrap().split(' ').nth(1).unwrap().parse().unwrap()
    };
    let wait_until_closed = |count: u64| {
        for _ in 0..2000 {
            if slow_connections(&running) == count {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("no client was disconnected");
    };
    // A client that reads nothing occupies the only export until it is disconnected.
    let mut silent = request_export(&running);
    let mut first = [0];
    silent.read_exact(&mut first).unwrap();
    running.get("/v1/collections/c/export").is(429);
    wait_until_closed(1);
    assert_eq!(
        running.get("/v1/collections/c/export").is(200).body.len(),
        export_bytes
    );
    let mut rest = Vec::new();
    // The answer ends early, with or without a reset.
    let _reset = silent.read_to_end(&mut rest);
    assert!(rest.len() < export_bytes, "{}", rest.len());
    // A client that reads a byte now and then is disconnected as well. A slow but steady client is not.
    let mut trickling = request_export(&running);
    let trickle = std::thread::spawn(move || {
        let mut byte = [0];
        let mut received = 0;
        while matches!(trickling.read(&mut byte), Ok(1)) && received < 1_000_000 {
            received += 1;
            std::thread::sleep(Duration::from_millis(if received < 100 { 20 } else { 0 }));
        }
        received
    });
    wait_until_closed(2);
    assert!(trickle.join().unwrap() < export_bytes);
    let mut steady = request_export(&running);
    let mut buffer = vec![0; 256 << 10];
    let mut received = 0;
    while received < export_bytes {
        let read = steady.read(&mut buffer).unwrap();
        assert!(read > 0, "closed after {received}");
        received += read;
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(slow_connections(&running), 2);
}

#[test]
fn an_idempotency_key_is_bound_to_one_body() {
    let running = TestService::new();
    let path = "/v1/collections/c/check-and-insert";
    let body = |n: u64| json!({"id": "a", "text": page(n, 0)}).to_string();
    let key = format!("{JSON}Idempotency-Key: one\r\n");
    let first = running.call_with("POST", path, &key, body(1).as_bytes()).is(200);
    let repeated = running.call_with("POST", path, &key, body(1).as_bytes()).is(200);
    assert_eq!(first.body, repeated.body);
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
    // The key has no effect on a new collection of the same name.
    running.call("DELETE", "/v1/collections/c", "").is(204);
    running.call_with("PUT", "/v1/collections/c", JSON, b"{}").is(201);
    let in_new_collection = running.call_with("POST", path, &key, body(1).as_bytes()).is(200);
    assert_eq!(in_new_collection.json()["verdict"], "new");
    running
        .call_with("GET", "/v1/collections/c/documents/a", "", b"")
        .is(200);
}
