//! A client that sends raw bytes over one connection and reads the answers one by one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::json;

use crate::client::TestService;

/// The request line and headers of a check, without the length of its body.
pub(crate) const HEAD: &str =
    "POST /v1/collections/c/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

/// The bytes of a valid check.
pub(crate) fn check_request() -> Vec<u8> {
    let body = json!({"doc_id": "x", "text": "a few words"}).to_string();
    format!("{HEAD}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A connection to the service.
pub(crate) struct RawConnection {
    pub(crate) stream: BufReader<TcpStream>,
}

/// The parts of an answer that the tests check.
#[derive(Debug, PartialEq)]
pub(crate) struct RawAnswer {
    pub(crate) status: u16,
    /// True with `Connection: close`.
    pub(crate) closes: bool,
    pub(crate) body: String,
}

impl RawConnection {
    pub(crate) fn new(running: &TestService) -> Self {
        let stream = running.connect();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Sends bytes. The service may close before all are sent.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _closed = self.stream.get_mut().write_all(bytes);
    }

    /// Closes the sending side.
    pub(crate) fn end_sending(&mut self) {
        self.stream.get_mut().shutdown(Shutdown::Write).unwrap();
    }

    /// The next line in lower case, without its end.
    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_ascii_lowercase()
    }

    /// The next answer, or `None` if the service has closed the connection.
    pub(crate) fn read_answer(&mut self) -> Option<RawAnswer> {
        let status = self.read_line();
        let status = status.strip_prefix("http/1.1 ")?[..3].parse().unwrap();
        let (mut length, mut closes) = (0, false);
        loop {
            match self.read_line().split_once(": ") {
                None => break,
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(("connection", value)) => closes = value == "close",
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        Some(RawAnswer { status, closes, body })
    }

    /// Asserts the status of the next answer.
    pub(crate) fn is(&mut self, status: u16) -> RawAnswer {
        let answer = self.read_answer();
        let answer = answer.unwrap_or_else(|| panic!("closed instead of {status}"));
        assert_eq!(answer.status, status, "{answer:?}");
        answer
    }

    /// Asserts the status of the next answer, and that the service closes the connection after it.
    pub(crate) fn is_last(&mut self, status: u16) -> RawAnswer {
        let answer = self.is(status);
        assert!(answer.closes, "{answer:?}");
        assert_eq!(self.read_answer(), None);
        answer
    }
}

/// A new connection over which bytes have been sent.
pub(crate) fn connect_and_send(running: &TestService, bytes: &[u8]) -> RawConnection {
    let mut raw = RawConnection::new(running);
    raw.send(bytes);
    raw
}
