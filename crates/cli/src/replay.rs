//! `twinprint replay`

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use twinprint::collection::{Content, Details, NewDocument};

use crate::answers::{AnswerArgs, Purpose, StoreArgs};
use crate::input::InputArgs;
use crate::interrupt;

const EXAMPLES: &str = "\
Examples:
  twinprint replay crawl.warc.gz --to http://127.0.0.1:8080/v1/collections/crawl
      sends the pages of an archive to a service, and writes each answer
  twinprint replay crawl/ --to http://127.0.0.1:8080/v1/collections/crawl --summary
      sends all archives of a folder, and writes the counts of new, exact, near and updated";

/// Approximate size of a request's texts, in bytes. Every service accepts larger requests.
const BATCH_BYTES: usize = 2 << 20;
/// Maximum number of retries of a request, one per second, while the service is overloaded.
const MAX_RETRIES: u32 = 600;

/// Sends documents to a service as a crawler would, and writes the verdicts
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Address of the collection, http://HOST:PORT/v1/collections/NAME. The collection is made if it does not exist.
    /// The token is read from `TWINPRINT_TOKEN`
    #[arg(long, value_name = "URL")]
    to: String,

    /// Number of documents in one request
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = crate::number::parse_count_in(1..=1000u16))]
    batch: u16,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    answers: AnswerArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let cancel = interrupt::flag()?;
    let service = Service::new(&args.to, &cancel)?;
    service.make()?;
    let purpose = Purpose::Store(&args.store);
    args.answers
        .feed(&args.input, purpose, &cancel, |records, answers| {
            let (mut places, mut batch) = (Vec::new(), Vec::new());
            let mut bytes = 0;
            let last = records.len();
            for (number, record) in (1..).zip(records) {
                if let Some((place, document)) = answers.document(record) {
                    places.push(place);
                    bytes += size(&document);
                    batch.push(body(document));
                }
                if batch.len() == usize::from(args.batch) || bytes > BATCH_BYTES || number == last {
                    bytes = 0;
                    let answered = service.add(&batch, args.store.only_new)?;
                    for (place, item) in places.drain(..).zip(answered) {
                        match item.get("answer") {
                            Some(answer) => answers.add(answer),
                            None => answers.refuse(&place, text(&item["problem"]["detail"])),
                        }
                    }
                    batch.clear();
                }
            }
            Ok(())
        })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("the service gave no answer")
}

fn size(document: &NewDocument) -> usize {
    match &document.content {
        Content::Text(text) | Content::Html(text) => text.len(),
        Content::Fingerprint(_) => 0,
    }
}

fn body(document: NewDocument) -> Value {
    let (kind, content) = match document.content {
        Content::Text(text) => ("text", text),
        Content::Html(html) => ("html", html),
        Content::Fingerprint(bits) => ("fingerprint", format!("{bits:032x}")),
    };
    let mut body = json!({"id": document.id, kind: content});
    let Details {
        url,
        source,
        time,
        score,
        fields,
    } = document.details;
    for (key, value) in [("url", url), ("source", source), ("time", time)] {
        if let Some(value) = value {
            body[key] = value.into();
        }
    }
    if let Some(score) = score {
        body["score"] = score.into();
    }
    if !fields.is_empty() {
        body["fields"] = fields.into();
    }
    body
}

/// A collection at a service. Requests are sent one after another, so that documents arrive in order.
struct Service<'a> {
    agent: ureq::Agent,
    url: String,
    token: Option<String>,
    cancel: &'a AtomicBool,
}

impl<'a> Service<'a> {
    fn new(url: &str, cancel: &'a AtomicBool) -> anyhow::Result<Self> {
        let is_address = url.parse::<ureq::http::Uri>().is_ok();
        if !is_address || !url.starts_with("http://") || !url.contains("/v1/collections/") {
            let fix = if url.starts_with("https://") {
                "; replay does not use TLS, so name the service behind the proxy"
            } else {
                ""
            };
            bail!(
                "--to {url:?} is not the address of a collection: http://HOST:PORT/v1/collections/NAME{fix}"
            );
        }
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_mins(5)))
            .proxy(None)
            .build();
        Ok(Self {
            agent: config.into(),
            url: url.trim_end_matches('/').to_owned(),
            token: std::env::var("TWINPRINT_TOKEN").ok(),
            cancel,
        })
    }

    /// Creates the collection at the service, unless it exists.
    fn make(&self) -> anyhow::Result<()> {
        let (status, answer) = self.call("GET", "", &[])?;
        if status != 404 {
            return self.expect(status, &answer);
        }
        let (status, answer) = self.call("PUT", "", &[])?;
        self.expect(status, &answer)
    }

    fn expect(&self, status: u16, answer: &Value) -> anyhow::Result<()> {
        if (200..300).contains(&status) {
            return Ok(());
        }
        bail!("{}: {status}: {}", self.url, text(&answer["detail"]))
    }

    /// Sends documents to the collection, and returns the answer for each.
    fn add(&self, documents: &[Value], only_new: bool) -> anyhow::Result<Vec<Value>> {
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        let body = serde_json::to_vec(&json!({"documents": documents}))?;
        let path = format!("/documents?only_new={only_new}");
        let (status, mut answer) = self.call("POST", &path, &body)?;
        self.expect(status, &answer)?;
        let items = match answer["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        if items.len() != documents.len() {
            bail!(
                "{}: the service returned {} answers for {} documents",
                self.url,
                items.len(),
                documents.len()
            );
        }
        Ok(items)
    }

    /// Sends a request and returns the status and the body of the answer. Repeats the request while the service is
    /// overloaded.
    fn call(&self, method: &str, path: &str, body: &[u8]) -> anyhow::Result<(u16, Value)> {
        let url = format!("{}{path}", self.url);
        for _ in 0..MAX_RETRIES {
            let mut request = ureq::http::Request::builder().method(method).uri(&url);
            if let Some(token) = &self.token {
                request = request.header("Authorization", format!("Bearer {token}"));
            }
            // A request without a body needs the header X-Twinprint: a web page of another site cannot send it.
            request = match body {
                [] => request.header("X-Twinprint", "1"),
                _ => request.header("Content-Type", "application/json"),
            };
            let sent = self.agent.run(request.body(body)?);
            let mut response = sent.with_context(|| format!("cannot reach the service at {url}"))?;
            let status = response.status().as_u16();
            if status == 429 {
                if self.cancel.load(Ordering::Relaxed) {
                    bail!("interrupted");
                }
                std::thread::sleep(Duration::from_secs(1));
                continue;
            }
            let answer = response
                .body_mut()
                .with_config()
                .limit(64 << 20)
                .read_to_vec()
                .with_context(|| url.clone())?;
            // A body that is not JSON does not come from the service but from something in between. The caller reports
            // its status.
            return Ok((status, serde_json::from_slice(&answer).unwrap_or_default()));
        }
        bail!("{url}: the service was overloaded for {MAX_RETRIES} seconds; run the command again later")
    }
}
