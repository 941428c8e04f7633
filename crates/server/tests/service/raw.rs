//! Bytes on a socket: however a request is cut, and whatever lies behind it, its answer comes; what is no request is told so.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;
use twinprint_server::Limits;

use crate::client::{Running, page};
use crate::tokens::TOKENS;

const HEAD: &str =
    "POST /v1/collections/c/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

/// Early answers behind which the connection is kept, in the test of those.
const KEPT: usize = 8;

/// A question, as it is sent.
fn question() -> Vec<u8> {
    let body = json!({"doc_id": "x", "text": "a few words"}).to_string();
    format!("{HEAD}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A connection whose answers are read one by one.
struct Raw {
    stream: BufReader<TcpStream>,
}

/// An answer, as far as it matters here.
#[derive(Debug, PartialEq)]
struct Told {
    status: u16,
    closes: bool,
    body: String,
}

impl Raw {
    fn new(running: &Running) -> Self {
        let stream = running.connect();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Sends; the service may have closed before all of it was sent.
    fn send(&mut self, bytes: &[u8]) {
        let _refused = self.stream.get_mut().write_all(bytes);
    }

    /// Nothing more is sent.
    fn ends(&mut self) {
        self.stream.get_mut().shutdown(Shutdown::Write).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_ascii_lowercase()
    }

    /// The next answer, or none where the service has closed.
    fn told(&mut self) -> Option<Told> {
        let status = self.line();
        let status = status.strip_prefix("http/1.1 ")?[..3].parse().unwrap();
        let (mut length, mut closes) = (0, false);
        loop {
            match self.line().split_once(": ") {
                None => break,
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(("connection", value)) => closes = value == "close",
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        Some(Told { status, closes, body })
    }

    /// The next answer has a status.
    fn is(&mut self, status: u16) -> Told {
        let told = self.told();
        let told = told.unwrap_or_else(|| panic!("closed instead of {status}"));
        assert_eq!(told.status, status, "{told:?}");
        told
    }

    /// The next answer has a status and is the last one.
    fn is_last(&mut self, status: u16) -> Told {
        let told = self.is(status);
        assert!(told.closes, "{told:?}");
        assert_eq!(self.told(), None);
        told
    }
}

fn asked(running: &Running, bytes: &[u8]) -> Raw {
    let mut raw = Raw::new(running);
    raw.send(bytes);
    raw
}

#[test]
fn a_request_may_be_cut_anywhere() {
    let running = Running::new();
    let question = question();
    let mut raw = Raw::new(&running);
    for at in 1..question.len() {
        raw.send(&question[..at]);
        std::thread::sleep(Duration::from_millis(1));
        raw.send(&question[at..]);
        assert!(!raw.is(200).closes);
    }
    for byte in &question {
        raw.send(&[*byte]);
    }
    raw.is(200);
}

#[test]
fn an_answer_waits_for_nothing_that_lies_behind_its_request() {
    let running = Running::new();
    let question = question();
    for behind in [
        &b"\r\n"[..],
        b"\n\r\n",
        &question[..1],
        &question[..60],
        &question[..question.len() - 1],
    ] {
        let mut raw = asked(&running, &[&question, behind].concat());
        raw.is(200);
        // And what was begun can be ended.
        let begun = behind
            .iter()
            .filter(|&&byte| byte != b'\r' && byte != b'\n')
            .count();
        raw.send(if begun == 0 {
            &question
        } else {
            &question[behind.len()..]
        });
        raw.is(200);
    }
    // A client that has sent everything may say so before it is answered.
    for behind in [&b""[..], b"\r\n", &question[..60]] {
        let mut raw = asked(&running, &[&question, behind].concat());
        raw.ends();
        raw.is(200);
        assert!(raw.told().is_none_or(|told| told.closes));
    }
    // Bytes that are no request close the connection, behind the answers that are due.
    for nothing in [
        &b"\x16\x03\x01\x02"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/3.0\r\n\r\n",
    ] {
        let mut raw = asked(&running, &[&question, &question, nothing].concat());
        raw.is(200);
        raw.is(200);
        assert_eq!(raw.is_last(400).body, "");
    }
    let mut raw = asked(
        &running,
        &[&question[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"].concat(),
    );
    raw.is(200);
    assert_eq!(raw.told(), None);
}

#[test]
fn requests_sent_one_behind_the_other_are_answered_in_order() {
    let running = Running::new();
    for count in [2, 16, 100] {
        let mut raw = Raw::new(&running);
        let mut all = Vec::new();
        for n in 0..count {
            all.extend(match n % 4 {
                0 => b"GET /v1/collections/c HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
                1 => question(),
                // Each is an error before its body was read.
                2 => b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n\r\n\r\nGET /"
                    .to_vec(),
                _ => String::from_utf8(question())
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
    // An answer that takes long holds back none before it.
    let mut raw = asked(
        &running,
        &[&question()[..], HEAD.as_bytes(), b"Content-Length: 9\r\n\r\n{"].concat(),
    );
    raw.is(200);
    raw.send(b"}       ");
    raw.is(422);
}

#[test]
fn lines_and_headers_have_limits_and_who_passes_them_is_told() {
    let running = Running::new();
    let get = |line: usize, header: usize, count: usize| {
        let (line, header) = ("a".repeat(line), "a".repeat(header));
        let mut request = format!("GET /{line} HTTP/1.1\r\nHost: localhost\r\nX: {header}\r\n");
        request += &"N: n\r\n".repeat(count);
        asked(&running, (request + "\r\n").as_bytes())
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
        let told = get(line, header, count).is_last(431);
        assert_eq!(told.body, "", "{line} {header} {count}");
    }
}

#[test]
fn bodies_end_where_they_say() {
    let limit = 1 << 20;
    let running = Running::with(
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
        let mut raw = Raw::new(&running);
        raw.send(format!("{HEAD}Content-Length: {length}\r\n\r\n{body}").as_bytes());
        assert_eq!(raw.is(status).closes, status == 413);
        let mut raw = Raw::new(&running);
        raw.send(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n").as_bytes());
        raw.send(&chunks(&body));
        // The rest of the last body is little enough to be read.
        assert!(!raw.is(status).closes);
        raw.send(&question());
        raw.is(200);
    }
    // Far beyond the limit the answer still arrives, though nobody reads all of it.
    let mut raw = asked(
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
        asked(&running, format!("{chunked}{broken}").as_bytes()).is_last(400);
    }
    // A proxy might take these for other requests than they are taken for here.
    for ambiguous in [
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Host: evil.example\r\nContent-Length: 0\r\n",
    ] {
        asked(&running, format!("{HEAD}{ambiguous}\r\n0\r\n\r\n").as_bytes()).is_last(400);
    }
    let mut cut = asked(&running, format!("{chunked}5\r\nab").as_bytes());
    cut.ends();
    cut.is_last(400);
    // Of two lengths neither is believed; chunks outweigh a length, and the connection ends.
    for lengths in [
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: 3, 4\r\n",
        "Content-Length: x\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
    ] {
        asked(&running, format!("{HEAD}{lengths}\r\nabcd").as_bytes()).is_last(400);
    }
    let both = format!("{HEAD}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n");
    asked(&running, &[both.as_bytes(), &chunks(&document)].concat()).is_last(200);
}

#[test]
fn an_answer_before_the_body_was_read_loses_no_later_request() {
    let running = Running::with(Limits::default(), Some(TOKENS));
    let admin = "Authorization: Bearer admin\r\n";
    let made = running.call_with(
        "PUT",
        "/v1/collections/c",
        &format!("X-Twinprint: 1\r\n{admin}"),
        b"",
    );
    made.is(201);
    let question = String::from_utf8(question()).unwrap();
    let question = question.replacen("\r\n", &format!("\r\n{admin}"), 1).into_bytes();
    let small = json!({"doc_id": "x", "text": page(1, 0)}).to_string();
    let large = " ".repeat(400_000);
    // Each with the header and path that bring the error about, and a body.
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
    let mut raw = Raw::new(&running);
    let mut closed = [0; 10];
    for turn in 0..10_000 {
        let at = turn % early.len();
        // A large body is read to its end by nobody, so such requests are few.
        let at = if at >= KEPT && turn % 100 >= 10 { 0 } else { at };
        let (status, method, path, headers, body) = early[at];
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        // As most clients do, the body goes on its way by itself.
        raw.send(head.as_bytes());
        if !headers.contains("Expect") {
            raw.send(body.as_bytes());
        }
        if raw.is(status).closes {
            closed[at] += 1;
            assert_eq!(raw.told(), None);
            raw = Raw::new(&running);
        }
        // The later request.
        raw.send(&question);
        assert!(!raw.is(200).closes);
    }
    assert_eq!(
        closed[..KEPT],
        [0; KEPT],
        "a little is read, and the connection kept"
    );
    assert!(closed[KEPT..].iter().all(|&closed| closed > 0));
}

#[test]
fn a_body_that_comes_too_slowly_ends_the_connection_in_words() {
    let running = Running::with(
        Limits {
            body_timeout: Duration::from_millis(300),
            linger_timeout: Duration::from_millis(300),
            ..Limits::default()
        },
        None,
    );
    let mut raw = asked(
        &running,
        format!("{HEAD}Content-Length: 100\r\n\r\n{{").as_bytes(),
    );
    let began = Instant::now();
    raw.is_last(408);
    // One that goes on sending after its answer is let go too.
    let mut raw = asked(
        &running,
        b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000000\r\n\r\n",
    );
    let spaces = vec![b' '; 1 << 16];
    while raw.stream.get_mut().write_all(&spaces).is_ok() {
        assert!(began.elapsed() < Duration::from_mins(1));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn who_watches_is_answered_whatever_the_others_hold() {
    let running = Running::with(
        Limits {
            connections: 30,
            ..Limits::default()
        },
        None,
    );
    let watch = || {
        for path in ["/livez", "/readyz", "/metrics"] {
            assert_eq!(running.get(path).status, 200, "{path}");
        }
    };
    // Those that wait, or send headers without end, make room.
    let idle: Vec<Raw> = (0..300)
        .map(|n| asked(&running, &b"GET /livez HTTP/1.1\r\nX: "[..n % 24]))
        .collect();
    for _ in 0..20 {
        watch();
        running.get("/v1/collections/c/stats").is(200);
    }
    // Of those that have a request under way none is given up, so others are told to come again.
    let head = format!("{HEAD}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n");
    let mut busy: Vec<Raw> = (0..30).map(|_| asked(&running, head.as_bytes())).collect();
    for raw in &mut busy {
        raw.is(100);
    }
    let held: Vec<Raw> = (0..300).map(|_| asked(&running, b"G")).collect();
    for _ in 0..20 {
        watch();
        let refused = running.get("/v1/collections/c/stats").is(503);
        assert!(refused.head.contains("connection: close") && refused.head.contains("retry-after"));
    }
    for raw in &mut busy {
        raw.send(&[b' '; 100]);
        raw.is(400);
    }
    drop((idle, held));
    let counted = running.get("/metrics").body;
    let refused: u64 = counted
        .lines()
        .find_map(|line| line.strip_prefix("twinprint_connections_refused_total "))
        .unwrap()
        .parse()
        .unwrap();
    assert!(refused > 500, "{refused}");
}
