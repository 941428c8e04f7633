//! An HTTP/1.1 client that uses little processor time compared with the service it measures.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A persistent connection to a service.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects to the service at `address`.
    ///
    /// # Panics
    /// Panics if no service listens at the address.
    pub fn new(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect(address);
        stream.set_nodelay(true).expect("a socket");
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Sends a request and returns the body of the answer. Repeats the request while the status is 429.
    ///
    /// # Panics
    /// Panics if the status is neither 429 nor 200 to 299.
    pub fn ask(&mut self, method: &str, path: &str, body: &str) -> String {
        let request = request(method, path, body);
        loop {
            self.send(&request);
            let (status, answer) = self.answer();
            match status {
                200..300 => return String::from_utf8_lossy(&answer).into_owned(),
                429 => std::thread::sleep(Duration::from_millis(10)),
                _ => panic!("{method} {path}: {status} {}", String::from_utf8_lossy(&answer)),
            }
        }
    }

    /// Sends one or several serialized requests, without reading the answers.
    ///
    /// # Panics
    /// Panics if the service has closed the connection.
    pub fn send(&mut self, requests: &str) {
        self.stream
            .get_mut()
            .write_all(requests.as_bytes())
            .expect("the service has closed the connection");
    }

    /// Reads the status and body of the next answer.
    ///
    /// # Panics
    /// Panics if the bytes are not an HTTP answer.
    pub fn answer(&mut self) -> (u16, Vec<u8>) {
        let mut line = String::new();
        let mut next = |stream: &mut BufReader<TcpStream>| {
            line.clear();
            stream.read_line(&mut line).expect("an answer");
            line.trim_end().to_owned()
        };
        let status = next(&mut self.stream)
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let mut length = 0;
        loop {
            let header = next(&mut self.stream).to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        (status.expect("a status"), body)
    }
}

/// Serializes a request.
pub fn request(method: &str, path: &str, body: &str) -> String {
    let kind = if body.is_empty() {
        "X-Twinprint: 1\r\n"
    } else {
        "Content-Type: application/json\r\n"
    };
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {length}\r\n\r\n{body}")
}
