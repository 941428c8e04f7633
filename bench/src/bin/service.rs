//! Measures a service: fills a collection and queries it, from clients on the same machine.
//!
//! A client is a connection with its own thread. A text is made of stretches of twenty words from random places of the
//! source documents, 2 kB in total; a tenth of the texts are earlier ones with one word replaced. The client uses only
//! the standard library, so it needs little CPU time compared with the service.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bench::connection::{Connection, request};

const USAGE: &str = "service TWINPRINT WORK SOURCE.jsonl DOCUMENTS [CLIENTS] [SECONDS]

Serves a collection in WORK, fills it up to DOCUMENTS documents in batches of 100, then asks for SECONDS (10) each with CLIENTS (4):
/checks and /check with ready fingerprints (one at a time, and several sent ahead on a connection), /documents in batches of 100, check-and-insert as fast as can be and at half that rate.
In the end the service is stopped and started, and killed and started.";

/// Length of a text in bytes.
const TEXT_BYTES: usize = 2000;
const BATCH_DOCUMENTS: u64 = 100;
/// Number of requests that a pipelining client sends before it reads the first answer.
const PIPELINED: u64 = 16;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, unless: u64| args.get(at).map_or(unless, |text| text.parse().expect(USAGE));
    let (Some(binary), Some(work), Some(source)) = (args.first(), args.get(1), args.get(2)) else {
        eprintln!("{USAGE}");
        std::process::exit(2);
    };
    let documents = number(3, 100_000);
    let (service, _) = Service::start(binary, work);
    let load = Load {
        address: service.address.clone(),
        path: "/v1/collections/service".to_owned(),
        words: words(source),
        clients: number(4, 4),
        time: Duration::from_secs(number(5, 10)),
        next: AtomicU64::new(0),
    };
    load.fill(documents);
    let fingerprints = load.fingerprints();
    println!("| request | a second | p50 ms | p99 ms | longest ms |\n|---|---|---|---|---|");
    let checks = load.repeat(|client, turn| {
        let position = (client * 7919 + turn * BATCH_DOCUMENTS) as usize;
        let items: Vec<String> = (0..BATCH_DOCUMENTS as usize)
            .map(|i| check_body(&fingerprints[(position + i) % fingerprints.len()]))
            .collect();
        (
            "checks",
            format!("{{\"documents\":[{}]}}", items.join(",")),
            BATCH_DOCUMENTS,
        )
    });
    checks.print("/checks, 100 ready fingerprints a request");
    let check = load.repeat(|client, turn| {
        let position = (client * 7919 + turn) as usize % fingerprints.len();
        ("check", check_body(&fingerprints[position]), 1)
    });
    check.print("/check, one ready fingerprint a request");
    let ahead = load.ahead(|client, turn| {
        let position = (client * 7919 + turn) as usize % fingerprints.len();
        check_body(&fingerprints[position])
    });
    ahead.print(&format!(
        "/check, one ready fingerprint a request, {PIPELINED} sent before the first answer is read"
    ));
    let batches = load.repeat(|_, _| ("documents", load.batch(), BATCH_DOCUMENTS));
    batches.print("/documents, 100 texts of 2 kB a request, durable");
    let single = load.repeat(|_, _| {
        let number = load.next.fetch_add(1, Ordering::Relaxed);
        ("check-and-insert", load.document(number), 1)
    });
    single.print("/check-and-insert, one text of 2 kB, durable");
    let rate = single.rate() / 2.0;
    load.paced(rate).print(&format!(
        "/check-and-insert at half that ({rate:.0} a second), from when each was due"
    ));
    fsync(work);
    println!("\n{}", service.memory());
    service.end("-TERM");
    let (service, ready) = Service::start(binary, work);
    println!("ready {:.2} s after a start", ready.as_secs_f64());
    service.end("-KILL");
    let (service, ready) = Service::start(binary, work);
    println!("ready {:.2} s after a start, after kill -9", ready.as_secs_f64());
    service.end("-TERM");
}

/// A running service process.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    /// Starts the service, and returns it with the time until it was ready.
    fn start(binary: &str, work: &str) -> (Self, Duration) {
        let began = Instant::now();
        let mut child = Command::new(binary)
            .args([
                "serve",
                "collections",
                "--listen",
                "127.0.0.1:0",
                "--log",
                "quiet",
            ])
            .current_dir(work)
            .stdout(Stdio::piped())
            .spawn()
            .expect(binary);
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("an address");
        let address = line.trim().trim_start_matches("http://").to_owned();
        (Self { child, address }, began.elapsed())
    }

    fn memory(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let lines = status
            .lines()
            .filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"));
        lines.collect::<Vec<_>>().join(", ").replace('\t', "")
    }

    fn end(mut self, signal: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &process]).status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "kill {signal} {process}"
        );
        self.child.wait().expect("it ends");
    }
}

fn check_body(fingerprint: &str) -> String {
    format!("{{\"id\":\"asked\",\"fingerprint\":\"{fingerprint}\"}}")
}

/// Returns the words of all texts in a file, except words with characters that JSON escapes.
fn words(path: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect(path);
    let mut words = Vec::new();
    for line in text.lines() {
        let text = line.split("\"text\":").nth(1).unwrap_or_default();
        let plain = |word: &&str| {
            word.chars()
                .all(|c| c.is_alphanumeric() || c == '.' || c == ',' || c == '-')
        };
        words.extend(
            text.split([' ', '"', '\\'])
                .filter(|word| !word.is_empty())
                .filter(plain)
                .map(str::to_owned),
        );
    }
    assert!(words.len() > 10_000, "{path}: {} words", words.len());
    words
}

struct Load {
    address: String,
    path: String,
    words: Vec<String>,
    clients: u64,
    time: Duration,
    /// The number of the next document.
    next: AtomicU64,
}

impl Load {
    fn text(&self, n: u64) -> String {
        // A tenth of the texts are earlier ones with one word replaced.
        let (seed, edited) = if n % 10 == 9 {
            (n - 1 - n % 7, true)
        } else {
            (n, false)
        };
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678;
        let mut text = String::with_capacity(TEXT_BYTES + 32);
        let mut count = 0;
        while text.len() < TEXT_BYTES {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let from = ((u128::from(state) * (self.words.len() - 20) as u128) >> 64) as usize;
            for word in &self.words[from..from + 20] {
                count += 1;
                text.push_str(if edited && count == 50 { "edited" } else { word });
                text.push(' ');
            }
        }
        text
    }

    fn document(&self, n: u64) -> String {
        format!(
            "{{\"id\":\"d{n}\",\"url\":\"http://s{}.example/{n}\",\"text\":\"{}\"}}",
            n % 100,
            self.text(n)
        )
    }

    fn batch(&self) -> String {
        let first = self.next.fetch_add(BATCH_DOCUMENTS, Ordering::Relaxed);
        let documents: Vec<String> = (first..first + BATCH_DOCUMENTS)
            .map(|n| self.document(n))
            .collect();
        format!("{{\"documents\":[{}]}}", documents.join(","))
    }

    fn fill(&self, documents: u64) {
        let mut connection = Connection::new(&self.address);
        connection.ask("PUT", &self.path, "");
        let stats = connection.ask("GET", &format!("{}/stats?limit=1", self.path), "");
        let there = stats
            .split("\"documents\":")
            .nth(1)
            .and_then(|rest| rest.split(',').next());
        let there: u64 = there
            .and_then(|digits| digits.parse().ok())
            .expect("a number of documents");
        self.next.store(there, Ordering::Relaxed);
        let (began, reported) = (Instant::now(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..self.clients {
                scope.spawn(|| {
                    let mut connection = Connection::new(&self.address);
                    while self.next.load(Ordering::Relaxed) < documents {
                        connection.ask("POST", &format!("{}/documents", self.path), &self.batch());
                        let tenth = self.next.load(Ordering::Relaxed) * 10 / documents;
                        if reported.fetch_max(tenth, Ordering::Relaxed) < tenth {
                            let seconds = began.elapsed().as_secs_f64();
                            println!("{tenth}0 % of {documents} after {seconds:.1} s");
                        }
                    }
                });
            }
        });
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "filled from {there} to {documents} documents in {seconds:.1} s, {:.0} a second",
            documents.saturating_sub(there) as f64 / seconds
        );
    }

    /// Returns fingerprints near those of stored documents: half have five bits flipped, half have forty.
    fn fingerprints(&self) -> Vec<String> {
        let mut stream = TcpStream::connect(&self.address).expect("it works");
        write!(
            stream,
            "GET {}/export HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            self.path
        )
        .expect("it works");
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let mut found = Vec::new();
        while found.len() < 20_000
            && let Some(line) = lines.next()
        {
            if let Some((_, rest)) = line.split_once("\"fingerprint\":\"")
                && let Some(digits) = rest.get(..32)
                && let Ok(bits) = u128::from_str_radix(digits, 16)
            {
                let turned = if found.len() % 2 == 0 {
                    0x1_0101_0101
                } else {
                    u128::MAX / 257 << 3
                };
                found.push(format!("{:032x}", bits ^ turned));
            }
        }
        assert!(found.len() > 100, "{} fingerprints exported", found.len());
        found
    }

    /// Measures clients that each send the next request after the answer to the last.
    fn repeat(&self, make: impl Fn(u64, u64) -> (&'static str, String, u64) + Sync) -> Figures {
        Self::measure(self.clients, |client, began| {
            let mut connection = Connection::new(&self.address);
            let (mut times, mut count, mut turn) = (Vec::new(), 0, 0);
            while began.elapsed() <= self.time {
                let (route, body, many) = make(client, turn);
                let started = Instant::now();
                connection.ask("POST", &format!("{}/{route}", self.path), &body);
                times.push(started.elapsed());
                count += many;
                turn += 1;
            }
            (times, count)
        })
    }

    /// Measures clients that each send several checks and then read their answers (HTTP/1.1 pipelining). A time is from
    /// sending the first check to reading the last answer.
    fn ahead(&self, make: impl Fn(u64, u64) -> String + Sync) -> Figures {
        Self::measure(self.clients, |client, began| {
            let mut connection = Connection::new(&self.address);
            let (mut times, mut turn) = (Vec::new(), 0);
            while began.elapsed() <= self.time {
                let path = format!("{}/check", self.path);
                let requests: Vec<String> = (turn..turn + PIPELINED)
                    .map(|turn| request("POST", &path, &make(client, turn)))
                    .collect();
                let started = Instant::now();
                connection.send(&requests.concat());
                for _ in 0..PIPELINED {
                    let (status, answer) = connection.answer();
                    assert!(status == 200, "{status} {}", String::from_utf8_lossy(&answer));
                }
                times.push(started.elapsed());
                turn += PIPELINED;
            }
            (times, turn)
        })
    }

    /// Measures single documents that are sent at a constant rate. If a document is sent late, its time still counts
    /// from when it should have been sent.
    fn paced(&self, rate: f64) -> Figures {
        let turns = AtomicU64::new(0);
        // The number of clients is large enough that one is always free when a document is due.
        Self::measure(self.clients * 4, |_, began| {
            let mut connection = Connection::new(&self.address);
            let mut times = Vec::new();
            loop {
                let body = self.document(self.next.fetch_add(1, Ordering::Relaxed));
                let due = Duration::from_secs_f64(turns.fetch_add(1, Ordering::Relaxed) as f64 / rate);
                if due > self.time {
                    break;
                }
                std::thread::sleep(due.saturating_sub(began.elapsed()));
                connection.ask("POST", &format!("{}/check-and-insert", self.path), &body);
                times.push(began.elapsed() - due);
            }
            let count = times.len() as u64;
            (times, count)
        })
    }

    /// Runs `clients` threads that each call `work` with their number and the common start time. Returns all their
    /// measurements.
    fn measure(clients: u64, work: impl Fn(u64, Instant) -> (Vec<Duration>, u64) + Sync) -> Figures {
        let began = Instant::now();
        let parts = std::thread::scope(|scope| {
            let work = &work;
            let clients: Vec<_> = (0..clients)
                .map(|client| scope.spawn(move || work(client, began)))
                .collect();
            clients
                .into_iter()
                .map(|client| client.join().expect("it works"))
                .collect()
        });
        Figures::new(parts, began.elapsed())
    }
}

struct Figures {
    times: Vec<Duration>,
    count: u64,
    took: Duration,
}

impl Figures {
    fn new(parts: Vec<(Vec<Duration>, u64)>, took: Duration) -> Self {
        let count = parts.iter().map(|(_, count)| count).sum();
        let mut times: Vec<Duration> = parts.into_iter().flat_map(|(times, _)| times).collect();
        times.sort();
        Self { times, count, took }
    }

    fn rate(&self) -> f64 {
        self.count as f64 / self.took.as_secs_f64()
    }

    fn print(&self, request: &str) {
        let at = |share: f64| {
            let position = (self.times.len() as f64 * share) as usize;
            self.times[position.min(self.times.len() - 1)].as_secs_f64() * 1000.0
        };
        println!(
            "| {request} | {:.0} | {:.2} | {:.2} | {:.2} |",
            self.rate(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
}

/// Measures a sync of 4 KiB to the disk on which the collections are.
fn fsync(work: &str) {
    let path = format!("{work}/fsync-{}", std::process::id());
    let mut file = std::fs::File::create(&path).expect("a file");
    let mut times: Vec<Duration> = (0..300)
        .map(|_| {
            let began = Instant::now();
            file.write_all(&[7; 4096])
                .and_then(|()| file.sync_data())
                .expect("a sync");
            began.elapsed()
        })
        .collect();
    std::fs::remove_file(&path).expect("the file was made");
    times.sort();
    let figures = Figures {
        count: 300,
        took: times.iter().sum(),
        times,
    };
    figures.print("fsync of 4 KiB");
}
