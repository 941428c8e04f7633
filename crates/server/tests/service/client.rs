//! A service for each test, and a client that can also send invalid requests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use twinprint_server::{Limits, LogFormat, Service, ServiceOptions};

/// Options for a service on a free port without a log.
pub(crate) fn quiet_options(dir: &Path) -> ServiceOptions {
    ServiceOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        log_format: LogFormat::Quiet,
        ..ServiceOptions::new(dir)
    }
}

/// A running service with its directory. Without tokens it has a collection `c`.
pub(crate) struct TestService {
    pub(crate) service: Service,
    pub(crate) dir: TempDir,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts the status, and that an error is a problem object.
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        if status >= 400 {
            assert!(self.head.contains("application/problem+json"), "{self:?}");
            assert_eq!(self.json()["status"], status);
        }
        self
    }
}

impl TestService {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default(), None)
    }

    pub(crate) fn with(limits: Limits, tokens: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = tokens.map(|tokens| {
            let file = dir.path().join("tokens.toml");
            std::fs::write(&file, tokens).unwrap();
            file
        });
        let options = ServiceOptions {
            backup_dir: Some(dir.path().join("backups")),
            token_file: file,
            limits,
            ..quiet_options(&dir.path().join("collections"))
        };
        let service = Service::start(&options).unwrap();
        let running = Self { service, dir };
        if tokens.is_none() {
            running.call("PUT", "/v1/collections/c", "").is(201);
        }
        running
    }

    /// Stops the service and starts another one in the same directory, with other limits and without tokens.
    pub(crate) fn restart(self, limits: Limits) -> Self {
        let Self { service, dir } = self;
        service.stop();
        let options = ServiceOptions {
            backup_dir: Some(dir.path().join("backups")),
            limits,
            ..quiet_options(&dir.path().join("collections"))
        };
        let service = Service::start(&options).unwrap();
        Self { service, dir }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.service.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream
    }

    /// Sends a request with JSON or without a body.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> Response {
        let header = if body.is_empty() {
            "X-Twinprint: 1\r\n"
        } else {
            "Content-Type: application/json\r\n"
        };
        self.call_with(method, path, header, body.as_bytes())
    }

    /// Posts to a path of the collection `c`.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        self.call("POST", &format!("/v1/collections/c/{path}"), &body.to_string())
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.call("GET", path, "")
    }

    /// Adds a document to the collection `c`, with the source `a.example`.
    pub(crate) fn add(&self, id: &str, text: &str) -> Value {
        let url = format!("http://a.example/{id}");
        let body = json!({"id": id, "text": text, "url": url});
        self.post("check-and-insert", &body).is(200).json()
    }

    /// Sends a request with arbitrary headers and bytes.
    pub(crate) fn call_with(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Response {
        let mut stream = self.connect();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // The service may answer and close before it has read the whole body.
        let _closed = stream.write_all(body);
        read(&mut stream)
    }
}

/// Reads an answer until the connection ends.
pub(crate) fn read(stream: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    // A reset after the answer does not matter.
    let _reset = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    let head = head.to_ascii_lowercase();
    let body = if head.contains("transfer-encoding: chunked") {
        decode_chunks(body)
    } else {
        body.to_owned()
    };
    Response { status, head, body }
}

/// Decodes the chunked transfer coding.
fn decode_chunks(mut body: &str) -> String {
    let mut decoded = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        decoded.push_str(&rest[..length]);
        body = &rest[length..];
        body = body.strip_prefix("\r\n").unwrap_or(body);
    }
    decoded
}

/// Text number `n`, of 120 words. With `edit` > 0, one word is replaced by `edited{edit}`.
pub(crate) fn page(n: u64, edit: u64) -> String {
    let mut state = n;
    let mut words: Vec<String> = (0..120)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            format!("w{}", (state >> 40) % 3000)
        })
        .collect();
    if edit > 0 {
        let position = (edit * 17 % 120) as usize;
        words[position] = format!("edited{edit}");
    }
    words.join(" ")
}
