//! Tests of HTTP on the wire: requests in pieces, pipelining, limits, ambiguous requests and early answers.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;
use twinprint_server::Limits;

use crate::client::{TestService, page};
use crate::raw_client::{HEAD, RawConnection, check_request, connect_and_send};
use crate::tokens::TOKENS;

/// Number of early answers after which the connection is kept; the first rows in the test of early answers.
const KEPT: usize = 8;

#[test]
fn a_request_may_arrive_in_any_pieces() {
    let running = TestService::new();
    let request = check_request();
    let mut raw = RawConnection::new(&running);
    for split in 1..request.len() {
        raw.send(&request[..split]);
        std::thread::sleep(Duration::from_millis(1));
        raw.send(&request[split..]);
        assert!(!raw.is(200).closes);
    }
    for byte in &request {
        raw.send(&[*byte]);
    }
    raw.is(200);
}

#[test]
fn an_answer_does_not_wait_for_input_after_its_request() {
    let running = TestService::new();
    let request = check_request();
    for next_bytes in [
        &b"\r\n"[..],
        b"\n\r\n",
        &request[..1],
        &request[..60],
        &request[..request.len() - 1],
    ] {
        let mut raw = connect_and_send(&running, &[&request, next_bytes].concat());
        raw.is(200);
        // The rest of the next request completes it.
        let started = next_bytes
            .iter()
            .filter(|&&byte| byte != b'\r' && byte != b'\n')
            .count();
        raw.send(if started == 0 {
            &request
        } else {
            &request[next_bytes.len()..]
        });
        raw.is(200);
    }
    // A client may close its sending side before it is answered.
    for next_bytes in [&b""[..], b"\r\n", &request[..60]] {
        let mut raw = connect_and_send(&running, &[&request, next_bytes].concat());
        raw.end_sending();
        raw.is(200);
        assert!(raw.read_answer().is_none_or(|answer| answer.closes));
    }
    // Bytes that are not a request close the connection after the pending answers.
    for invalid in [
        &b"\x16\x03\x01\x02"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/3.0\r\n\r\n",
    ] {
        let mut raw = connect_and_send(&running, &[&request, &request, invalid].concat());
        raw.is(200);
        raw.is(200);
        assert_eq!(raw.is_last(400).body, "");
    }
    let mut raw = connect_and_send(
        &running,
        &[&request[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"].concat(),
    );
    raw.is(200);
    assert_eq!(raw.read_answer(), None);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let running = TestService::new();
    for count in [2, 16, 100] {
        let mut raw = RawConnection::new(&running);
        let mut all = Vec::new();
        for n in 0..count {
            all.extend(match n % 4 {
                0 => b"GET /v1/collections/c HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
                1 => check_request(),
                // The next two fail before their bodies are read.
                2 => b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n\r\n\r\nGET /"
                    .to_vec(),
                _ => String::from_utf8(check_request())
                    .unwrap()
                    .replace("/json", "/xml")
                    .into_bytes(),
            });
        }
        raw.send(&all);
        for n in 0..count {
            assert!(!raw.is([200, 200, 404, 415][n % 4]).closes, "{n} of {count}");
        }
        raw.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        assert_eq!(raw.is_last(200).body, "ok\n");
    }
    // An unfinished request does not delay the answer before it.
    let mut raw = connect_and_send(
        &running,
        &[
            &check_request()[..],
            HEAD.as_bytes(),
            b"Content-Length: 9\r\n\r\n{",
        ]
        .concat(),
    );
    raw.is(200);
    raw.send(b"}       ");
    raw.is(422);
}

#[test]
fn oversized_request_lines_and_headers_are_answered_with_431() {
    let running = TestService::new();
    let get = |line: usize, header: usize, count: usize| {
        let (line, header) = ("a".repeat(line), "a".repeat(header));
        let mut request = format!("GET /{line} HTTP/1.1\r\nHost: localhost\r\nX: {header}\r\n");
        request += &"N: n\r\n".repeat(count);
        connect_and_send(&running, (request + "\r\n").as_bytes())
    };
    get(60_000, 0, 0).is(404);
    get(1, 60_000, 0).is(404);
    get(1, 0, 98).is(404);
    for (line, header, count) in [
        (1, 70_000, 0),
        (1, 5_000_000, 0),
        (1, 0, 99),
        (1, 0, 20_000),
        (66_000, 0, 0),
        (1_000_000, 0, 0),
    ] {
        let answer = get(line, header, count).is_last(431);
        assert_eq!(answer.body, "", "{line} {header} {count}");
    }
}

#[test]
fn bodies_end_at_their_declared_length() {
    let limit = 1 << 20;
    let running = TestService::with(
        Limits {
            body_bytes: limit,
            linger_timeout: Duration::from_secs(10),
            ..Limits::default()
        },
        None,
    );
    let document = json!({"doc_id": "x", "text": "a few words"}).to_string();
    let body = |length: usize| format!("{document}{}", " ".repeat(length - document.len()));
    let chunks = |body: &str| {
        let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        let chunks: Vec<Vec<u8>> = body.as_bytes().chunks(100_000).map(chunk).collect();
        [&chunks.concat()[..], b"0\r\n\r\n"].concat()
    };
    for (length, status) in [(limit - 1, 200), (limit, 200), (limit + 1, 413)] {
        let body = body(length);
        let mut raw = RawConnection::new(&running);
        raw.send(format!("{HEAD}Content-Length: {length}\r\n\r\n{body}").as_bytes());
        assert_eq!(raw.is(status).closes, status == 413);
        let mut raw = RawConnection::new(&running);
        raw.send(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n").as_bytes());
        raw.send(&chunks(&body));
        // The rest of the last body is short enough to be drained.
        assert!(!raw.is(status).closes);
        raw.send(&check_request());
        raw.is(200);
    }
    // A body far beyond the limit is not read to its end, and the answer still arrives.
    let mut raw = connect_and_send(
        &running,
        format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n").as_bytes(),
    );
    raw.send(&chunks(&body(2 * limit - 50_000)));
    raw.is_last(413);
    let chunked = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n");
    for broken in [
        "zz\r\n",
        "-1\r\n",
        "5\r\nabcdefg\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\n",
        "5;\n\n",
    ] {
        connect_and_send(&running, format!("{chunked}{broken}").as_bytes()).is_last(400);
    }
    // A proxy could split these into other requests (request smuggling).
    for ambiguous in [
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Host: evil.example\r\nContent-Length: 0\r\n",
    ] {
        connect_and_send(&running, format!("{HEAD}{ambiguous}\r\n0\r\n\r\n").as_bytes()).is_last(400);
    }
    let mut cut = connect_and_send(&running, format!("{chunked}5\r\nab").as_bytes());
    cut.end_sending();
    cut.is_last(400);
    // Conflicting lengths are refused. Chunks take precedence over a length, and the connection is closed.
    for lengths in [
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: 3, 4\r\n",
        "Content-Length: x\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
    ] {
        connect_and_send(&running, format!("{HEAD}{lengths}\r\nabcd").as_bytes()).is_last(400);
    }
    let both = format!("{HEAD}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n");
    connect_and_send(&running, &[both.as_bytes(), &chunks(&document)].concat()).is_last(200);
}

#[test]
fn an_early_answer_does_not_affect_the_next_request() {
    let running = TestService::with(Limits::default(), Some(TOKENS));
    let admin = "Authorization: Bearer admin\r\n";
    let created = running.call_with(
        "PUT",
        "/v1/collections/c",
        &format!("X-Twinprint: 1\r\n{admin}"),
        b"",
    );
    created.is(201);
    let request = String::from_utf8(check_request()).unwrap();
    let request = request.replacen("\r\n", &format!("\r\n{admin}"), 1).into_bytes();
    let small = json!({"doc_id": "x", "text": page(1, 0)}).to_string();
    let large = " ".repeat(400_000);
    // Status, method, path, headers and body
    let json = &format!("Content-Type: application/json\r\n{admin}");
    let check = "/v1/collections/c/check";
    let early: [(u16, &str, &str, &str, &String); 10] = [
        (401, "POST", check, "Content-Type: application/json\r\n", &small),
        (
            403,
            "PUT",
            "/v1/collections/c",
            &json.replace("admin", "reader"),
            &small,
        ),
        (
            403,
            "POST",
            check,
            &format!("{json}Origin: http://a.example\r\n"),
            &small,
        ),
        (404, "POST", "/v1/collections/none/check", json, &small),
        (405, "PATCH", check, json, &small),
        (415, "POST", check, &json.replace("json", "xml"), &small),
        (404, "DELETE", "/v1/collections/c/documents/none", json, &small),
        (200, "GET", "/v1/collections/c", json, &small),
        (404, "POST", "/nowhere", "", &large),
        (404, "POST", "/nowhere", "Expect: 100-continue\r\n", &small),
    ];
    let mut raw = RawConnection::new(&running);
    let mut closed = [0; 10];
    for turn in 0..10_000 {
        let row = turn % early.len();
        // Requests that end their connection take longer, so there are fewer of them.
        let row = if row >= KEPT && turn % 100 >= 10 { 0 } else { row };
        let (status, method, path, headers, body) = early[row];
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        // Like most clients, send the body separately from the headers.
        raw.send(head.as_bytes());
        if !headers.contains("Expect") {
            raw.send(body.as_bytes());
        }
        if raw.is(status).closes {
            closed[row] += 1;
            assert_eq!(raw.read_answer(), None);
            raw = RawConnection::new(&running);
        }
        // The next request
        raw.send(&request);
        assert!(!raw.is(200).closes);
    }
    assert_eq!(
        closed[..KEPT],
        [0; KEPT],
        "a short rest is drained, and the connection is kept"
    );
    assert!(closed[KEPT..].iter().all(|&closed| closed > 0));
}

#[test]
fn a_slow_body_gets_408_and_the_connection_is_closed() {
    let running = TestService::with(
        Limits {
            body_timeout: Duration::from_millis(300),
            linger_timeout: Duration::from_millis(300),
            ..Limits::default()
        },
        None,
    );
    let mut raw = connect_and_send(
        &running,
        format!("{HEAD}Content-Length: 100\r\n\r\n{{").as_bytes(),
    );
    let started = Instant::now();
    raw.is_last(408);
    // A client that keeps sending after its answer is disconnected too.
    let mut raw = connect_and_send(
        &running,
        b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000000\r\n\r\n",
    );
    let spaces = vec![b' '; 1 << 16];
    while raw.stream.get_mut().write_all(&spaces).is_ok() {
        assert!(started.elapsed() < Duration::from_mins(1));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn monitoring_routes_answer_while_all_connections_are_taken() {
    let running = TestService::with(
        Limits {
            connections: 30,
            ..Limits::default()
        },
        None,
    );
    let check_monitoring = || {
        for path in ["/livez", "/readyz", "/metrics"] {
            assert_eq!(running.get(path).status, 200, "{path}");
        }
    };
    // Idle connections and unfinished headers are evicted.
    let idle: Vec<RawConnection> = (0..300)
        .map(|n| connect_and_send(&running, &b"GET /livez HTTP/1.1\r\nX: "[..n % 24]))
        .collect();
    for _ in 0..20 {
        check_monitoring();
        running.get("/v1/collections/c/stats").is(200);
    }
    // Connections with a request in progress are not evicted, so other requests are refused.
    let head = format!("{HEAD}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n");
    let mut busy: Vec<RawConnection> = (0..30)
        .map(|_| connect_and_send(&running, head.as_bytes()))
        .collect();
    for raw in &mut busy {
        raw.is(100);
    }
    let waiting: Vec<RawConnection> = (0..300).map(|_| connect_and_send(&running, b"G")).collect();
    for _ in 0..20 {
        check_monitoring();
        let refused = running.get("/v1/collections/c/stats").is(503);
        assert!(refused.head.contains("connection: close") && refused.head.contains("retry-after"));
    }
    for raw in &mut busy {
        raw.send(&[b' '; 100]);
        raw.is(400);
    }
    drop((idle, waiting));
    let metrics = running.get("/metrics").body;
    let refused: u64 = metrics
        .lines()
        .find_map(|line| line.strip_prefix("twinprint_connections_refused_total "))
        .unwrap()
        .parse()
        .unwrap();
    assert!(refused > 500, "{refused}");
}
