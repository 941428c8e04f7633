//! Whole collections as streams of lines: import and export in NDJSON.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use http_body_util::BodyExt;
use sha2::{Digest, Sha256};
use twinprint::collection::{Collection, Durability};

use crate::body::{Held, cut_off, parse, require_type, too_slow};
use crate::idempotency::{Begin, Hash, Reply, key};
use crate::model::{DocumentBody, Imported, Lines, Reject};
use crate::problem::Problem;
use crate::route::documents::{count, name_of, request};
use crate::{App, Shared};

/// Documents written at a time.
const AT_A_TIME: usize = 500;
/// Documents of one part of an export.
const PART: usize = 50;
/// Bytes of lines that are gathered before they are taken in.
const GATHERED: usize = 1 << 20;
/// Rejected lines that are named.
const NAMED: usize = 100;
/// Characters of a reason at most.
const REASON: usize = 300;

/// All documents, one a line
///
/// In the form that import takes, with what was found out about each under fields of its own. A document that is updated meanwhile may
/// come twice, the later one as it is by then.
#[utoipa::path(get, path = "/v1/collections/{collection}/export", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection")), responses(
    (status = 200, description = "One document a line", body = Lines, content_type = "application/x-ndjson")))]
pub(crate) async fn export(State(app): State<Shared>, Path(name): Path<String>) -> Result<Response, Problem> {
    let collection = app.registry.get(&name)?;
    let most = app.limits.exports;
    let full = |_| Problem {
        limit: Some(most as u64),
        ..Problem::busy("too many exports at a time; try again in a moment")
    };
    let permit = Arc::clone(&app.exports).try_acquire_owned().map_err(full)?;
    // A part is read when the one before it is on its way: who reads slowly holds no thread.
    let parts = try_unfold((0, permit), move |(after, permit)| {
        let (app, collection) = (Shared::clone(&app), collection.clone());
        async move {
            let part = tokio::task::spawn_blocking(move || lines(&collection, after));
            let part = part.await.map_err(std::io::Error::other).and_then(|part| part);
            match part {
                Ok(part) => Ok(part.map(|(lines, last)| (lines, (last, permit)))),
                Err(error) => {
                    // The answer has begun; that it ends without its last chunk tells the client.
                    app.log
                        .error("export", serde_json::json!({"error": error.to_string()}));
                    Err(error)
                }
            }
        }
    });
    let kind = HeaderValue::from_static("application/x-ndjson");
    Ok(([(header::CONTENT_TYPE, kind)], Body::from_stream(parts)).into_response())
}

/// Some documents as lines, and the number to go on after; nothing at the end.
fn lines(collection: &Collection, after: u64) -> std::io::Result<Option<(Bytes, u64)>> {
    let (documents, last) = collection.documents(after, PART).map_err(std::io::Error::other)?;
    let mut lines = Vec::new();
    for document in documents {
        serde_json::to_writer(&mut lines, &document)?;
        lines.push(b'\n');
    }
    Ok(last.map(|last| (lines.into(), last)))
}

/// Documents one a line, taken in in order
///
/// Lines that are no documents are counted and the first of them named; the others are taken in. What was acknowledged before an import
/// ends early stays, and the problem tells of it; sending it again changes nothing. An `Idempotency-Key` is remembered once the whole import is
/// done.
#[utoipa::path(post, path = "/v1/collections/{collection}/import", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key again gets the first answer")),
    request_body(content = Lines, description = "One document a line", content_type = "application/x-ndjson"), responses(
    (status = 200, description = "Every line was taken in", body = Imported),
    (status = 207, description = "Some lines were taken in, some rejected", body = Imported),
    (status = 422, description = "No line was a document", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn import(
    State(app): State<Shared>,
    Path(name): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    sent: Body,
) -> Result<Reply, Problem> {
    let collection = app.registry.get(&name)?;
    require_type(&headers, "application/x-ndjson")?;
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "an import is sent plain; there is no limit to its length",
        ));
    }
    let key = key(&headers, &request(&method, &uri, Some(collection.opening())))?;
    let mut stretches = Stretches::new(&app, sent);
    let mut hasher = key.is_some().then(Sha256::new);
    let attempt = match app.idempotency.begin(key)? {
        Begin::Again(first) => {
            let body = digest(&app, stretches).await?;
            return first.again(&body);
        }
        Begin::Go(attempt) => attempt,
    };
    let mut imported = Imported::default();
    let mut line = 1;
    let ended = loop {
        let lines = match stretches.next().await {
            Ok(Some(lines)) => lines,
            Ok(None) => break Ok(()),
            Err(problem) => break Err(problem),
        };
        let (shared, collection) = (Shared::clone(&app), collection.clone());
        let first = line;
        line += memchr::memchr_iter(b'\n', &lines).count() as u64;
        let hashing = hasher.take();
        let work = move || {
            let hashed = hashing.map(|hasher| hasher.chain_update(&lines));
            Ok((hashed, take_in(&shared, &collection, &lines, first)))
        };
        match app.work.run(work).await {
            Ok((hashed, (part, problem))) => {
                hasher = hashed;
                imported.add(part);
                if let Some(problem) = problem {
                    break Err(problem);
                }
            }
            Err(problem) => break Err(problem),
        }
    };
    let reply = match ended {
        Ok(()) => reply(imported)?,
        Err(problem) => return Err(problem.of_import(imported)),
    };
    if let Some(hasher) = hasher {
        attempt.answered(hasher.finalize().into(), &reply);
    }
    Ok(reply)
}

/// The answer to an import that came to its end.
fn reply(imported: Imported) -> Result<Reply, Problem> {
    if imported.rejected == 0 {
        return Reply::json(StatusCode::OK, &imported);
    }
    if imported.taken > 0 {
        return Reply::json(StatusCode::MULTI_STATUS, &imported);
    }
    let first = imported.rejects.first();
    let first = first.map_or_else(String::new, |reject| {
        format!(": line {}: {}", reject.line, reject.reason)
    });
    let why = format!("none of {} lines was taken in{first}", imported.lines);
    Err(Problem::unprocessable(why).of_import(imported))
}

/// The hash of a body, of which nothing is done.
async fn digest(app: &App, mut stretches: Stretches<'_>) -> Result<Hash, Problem> {
    let mut hasher = Sha256::new();
    while let Some(lines) = stretches.next().await? {
        hasher = app.work.run(move || Ok(hasher.chain_update(&lines))).await?;
    }
    Ok(hasher.finalize().into())
}

/// A body in stretches of whole lines.
struct Stretches<'a> {
    app: &'a App,
    sent: Body,
    pending: Vec<u8>,
    held: Held,
    ended: bool,
}

impl<'a> Stretches<'a> {
    fn new(app: &'a App, sent: Body) -> Self {
        Self {
            app,
            sent,
            pending: Vec::new(),
            held: Held::default(),
            ended: false,
        }
    }

    /// The next stretch; nothing at the end. The room for the one before is given back.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        if self.ended {
            return Ok(None);
        }
        self.held = Held::default();
        self.app.room.take(&mut self.held, self.pending.len())?;
        let (time, longest) = (self.app.limits.body_time, self.app.limits.unpacked);
        loop {
            let frame = tokio::time::timeout(time, self.sent.frame())
                .await
                .map_err(|_| too_slow(time))?;
            let Some(frame) = frame else {
                self.ended = true;
                return Ok(Some(std::mem::take(&mut self.pending)));
            };
            let data = frame.map_err(|error| cut_off(&error))?.into_data();
            let data = data.unwrap_or_default();
            self.app.room.take(&mut self.held, data.len())?;
            self.pending.extend_from_slice(&data);
            if self.pending.len() < GATHERED {
                continue;
            }
            if let Some(end) = memchr::memrchr(b'\n', &self.pending) {
                let rest = self.pending.split_off(end + 1);
                return Ok(Some(std::mem::replace(&mut self.pending, rest)));
            }
            if self.pending.len() > longest {
                let status = StatusCode::PAYLOAD_TOO_LARGE;
                return Err(Problem::limit(status, "a line in bytes", longest as u64, None));
            }
        }
    }
}

/// Takes in some lines, of which the first has number `line`: what that came to, and what ended it early.
fn take_in(app: &App, collection: &Collection, lines: &[u8], line: u64) -> (Imported, Option<Problem>) {
    let bits = collection.profile().bits();
    let mut imported = Imported::default();
    let mut numbered = (line..).zip(lines.split(|&b| b == b'\n'));
    loop {
        let mut documents = Vec::new();
        let mut places = Vec::new();
        for (number, bytes) in numbered.by_ref() {
            let bytes = bytes.trim_ascii();
            if bytes.is_empty() {
                continue;
            }
            match document(bytes, bits) {
                Ok(document) => {
                    documents.push(document);
                    places.push(number);
                }
                Err(problem) => imported.reject(number, &problem.detail),
            }
            if documents.len() == AT_A_TIME {
                break;
            }
        }
        if documents.is_empty() {
            return (imported, None);
        }
        let answers = match collection.add(documents, false, Durability::Synced) {
            Ok(answers) => answers,
            Err(error) => return (imported, Some(error.into())),
        };
        count(app, answers.iter().flatten());
        for (number, answer) in places.into_iter().zip(answers) {
            match answer {
                Ok(answer) => imported.take(name_of(answer.verdict)),
                Err(error) => imported.reject(number, &error.to_string()),
            }
        }
    }
}

impl Imported {
    fn take(&mut self, verdict: &str) {
        self.lines += 1;
        self.taken += 1;
        *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
    }

    fn reject(&mut self, line: u64, reason: &str) {
        self.lines += 1;
        self.rejected += 1;
        if self.rejects.len() < NAMED {
            // A value that does not fit is quoted, however long it is.
            let reason = reason.chars().take(REASON).collect();
            self.rejects.push(Reject { line, reason });
        }
    }

    /// Adds what later lines came to.
    fn add(&mut self, later: Self) {
        self.lines += later.lines;
        self.taken += later.taken;
        self.rejected += later.rejected;
        for (verdict, many) in later.verdicts {
            *self.verdicts.entry(verdict).or_default() += many;
        }
        let room = NAMED - self.rejects.len();
        self.rejects.extend(later.rejects.into_iter().take(room));
    }
}

/// A document of a line, which may be one that export wrote.
fn document(bytes: &[u8], bits: u32) -> Result<twinprint::collection::NewDocument, Problem> {
    const FOUND_OUT: [&str; 10] = [
        "group_id",
        "story_id",
        "leads",
        "verdict",
        "best",
        "seq",
        "added",
        "changed",
        "expires",
        "canonical",
    ];
    let mut value: serde_json::Value = parse(bytes)?;
    if let Some(fields) = value.as_object_mut() {
        for field in FOUND_OUT {
            fields.remove(field);
        }
        if fields.contains_key("text") {
            fields.remove("fingerprint");
        }
    }
    let body: DocumentBody =
        serde_json::from_value(value).map_err(|error| Problem::unprocessable(error.to_string()))?;
    body.into_document(bits)
}
