//! A service of its own for each test, and a client that can also misbehave.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use twinprint_server::{Limits, Service, ServiceOptions};

/// A service with a collection `c`.
pub(crate) struct Running {
    pub(crate) service: Service,
    pub(crate) dir: TempDir,
}

/// What came back.
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

    /// Asserts a status, and of an error its form.
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        if status >= 400 {
            assert!(self.head.contains("application/problem+json"), "{self:?}");
            assert_eq!(self.json()["status"], status);
        }
        self
    }
}

impl Running {
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
            dir: dir.path().join("collections"),
            backup_dir: Some(dir.path().join("backups")),
            listen: "127.0.0.1:0".parse().unwrap(),
            token_file: file,
            limits,
            log_format: twinprint_server::LogFormat::Quiet,
        };
        let service = Service::start(&options).unwrap();
        let running = Self { service, dir };
        if tokens.is_none() {
            running.call("PUT", "/v1/collections/c", "").is(201);
        }
        running
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.service.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream
    }

    /// Sends JSON, or nothing.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> Response {
        let kind = if body.is_empty() {
            "X-Twinprint: 1\r\n"
        } else {
            "Content-Type: application/json\r\n"
        };
        self.call_with(method, path, kind, body.as_bytes())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        self.call("POST", &format!("/v1/collections/c/{path}"), &body.to_string())
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.call("GET", path, "")
    }

    /// Sends any headers and bytes.
    pub(crate) fn call_with(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Response {
        let mut stream = self.connect();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // The service may have answered and closed before it read all of this.
        let _refused = stream.write_all(body);
        read(&mut stream)
    }
}

/// Reads an answer to the end of the connection.
pub(crate) fn read(stream: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    // A connection that is reset after the answer still has answered.
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
        unchunk(body)
    } else {
        body.to_owned()
    };
    Response { status, head, body }
}

fn unchunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        whole.push_str(&rest[..length]);
        body = &rest[length..];
        body = body.strip_prefix("\r\n").unwrap_or(body);
    }
    whole
}

/// A page of words, `edit` of them exchanged.
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
        let at = (edit * 17 % 120) as usize;
        words[at] = format!("edited{edit}");
    }
    words.join(" ")
}
