//! Imports documents from a stream of NDJSON.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use http_body_util::BodyExt;
use sha2::{Digest, Sha256};
use twinprint_collection::{Collection, Durability, NewDocument};
use twinprint_io::source::invalid_json;

use crate::app::{App, SharedApp};
use crate::body_memory::MemoryReservation;
use crate::idempotency::{Hash, KeyLookup, ReplayableAnswer};
use crate::import_report::ImportReport;
use crate::model::{DocumentBody, NdjsonLines};
use crate::problem::Problem;
use crate::request_body::{cut_off, require_type, too_slow};
use crate::route::verdicts::{count_verdicts, verdict_name};
use crate::route::write_request::WriteHead;

/// The number of documents that are added with one commit.
const COMMIT_DOCUMENTS: usize = 500;
/// The number of bytes that are buffered before their lines are imported.
const CHUNK_BYTES: usize = 1 << 20;

/// The fields that an export adds to a document. An import ignores them.
const EXPORT_FIELDS: [&str; 10] = [
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

/// Import documents, one per line, in order
///
/// Lines that are valid documents are added. The other lines are counted, and the first 100 of them are listed. If an
/// import ends early, the documents that were added until then stay, and the problem reports them; if the import is
/// sent again, they do not change. The answer for an `Idempotency-Key` is stored when the whole import is done.
#[utoipa::path(post, path = "/v1/collections/{collection}/import", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"),
        ("Idempotency-Key" = Option<String>, Header, description = "A repeated request with the same key gets the first answer and is not executed again")),
    request_body(content = NdjsonLines, description = "One document per line", content_type = "application/x-ndjson"), responses(
    (status = 200, description = "All lines were imported", body = ImportReport),
    (status = 207, description = "Some lines were imported, some rejected", body = ImportReport),
    (status = 422, description = "No line was a valid document", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn import(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    head: WriteHead,
    body: Body,
) -> Result<ReplayableAnswer, Problem> {
    let collection = app.registry.get(&name)?;
    require_type(&head.headers, "application/x-ndjson")?;
    if head.headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "an import must not have a Content-Encoding; send the lines uncompressed, in one request of any length",
        ));
    }
    let key = head.idempotency_key(Some(collection.opening()))?;
    let mut chunks = LineChunks::new(&app, body);
    let mut hasher = key.is_some().then(Sha256::new);
    let attempt = match app.idempotency.begin(key)? {
        KeyLookup::Replay(first) => {
            let body = hash_rest(&app, chunks).await?;
            return first.replay(&body);
        }
        KeyLookup::Execute(attempt) => attempt,
    };
    let mut report = ImportReport::default();
    let mut next_line = 1;
    let end = loop {
        let lines = match chunks.next().await {
            Ok(Some(lines)) => lines,
            Ok(None) => break Ok(()),
            Err(problem) => break Err(problem),
        };
        let (shared, collection) = (SharedApp::clone(&app), collection.clone());
        let first_line = next_line;
        next_line += memchr::memchr_iter(b'\n', &lines).count() as u64;
        let chunk_hasher = hasher.take();
        let work = move || {
            let hasher = chunk_hasher.map(|hasher| hasher.chain_update(&lines));
            Ok((hasher, import_lines(&shared, &collection, &lines, first_line)))
        };
        match app.workers.run(work).await {
            Ok((updated, imported)) => {
                hasher = updated;
                report.merge(imported.report);
                if let Some(problem) = imported.problem {
                    break Err(problem);
                }
            }
            Err(problem) => break Err(problem),
        }
    };
    let answer = match end {
        Ok(()) => answer(report)?,
        Err(problem) => return Err(problem.with_import(report)),
    };
    if let Some(hasher) = hasher {
        attempt.store(hasher.finalize().into(), &answer);
    }
    Ok(answer)
}

/// Makes the answer to an import whose body was read to its end.
fn answer(report: ImportReport) -> Result<ReplayableAnswer, Problem> {
    if report.rejected == 0 {
        return ReplayableAnswer::json(StatusCode::OK, &report);
    }
    if report.taken > 0 {
        return ReplayableAnswer::json(StatusCode::MULTI_STATUS, &report);
    }
    let first = report.rejects.first();
    let first = first.map_or_else(String::new, |reject| {
        format!(": line {}: {}", reject.line, reject.reason)
    });
    let detail = format!("all {} lines were rejected{first}", report.lines);
    Err(Problem::unprocessable(detail).with_import(report))
}

/// Reads a body to its end without importing it, and returns its hash.
async fn hash_rest(app: &App, mut chunks: LineChunks<'_>) -> Result<Hash, Problem> {
    let mut hasher = Sha256::new();
    while let Some(lines) = chunks.next().await? {
        hasher = app.workers.run(move || Ok(hasher.chain_update(&lines))).await?;
    }
    Ok(hasher.finalize().into())
}

/// Reads a body and splits it into chunks of whole lines.
struct LineChunks<'a> {
    app: &'a App,
    body: Body,
    /// The bytes that were received but are not part of a returned chunk yet.
    pending: Vec<u8>,
    reservation: MemoryReservation,
    is_finished: bool,
}

impl<'a> LineChunks<'a> {
    fn new(app: &'a App, body: Body) -> Self {
        Self {
            app,
            body,
            pending: Vec::new(),
            reservation: MemoryReservation::default(),
            is_finished: false,
        }
    }

    /// Returns the next chunk; `None` at the end of the body. Releases the memory that was reserved for the previous
    /// chunk.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        if self.is_finished {
            return Ok(None);
        }
        self.reservation = MemoryReservation::default();
        self.app
            .body_memory
            .reserve(&mut self.reservation, self.pending.len())?;
        let timeout = self.app.limits.body_timeout;
        let max_line_bytes = self.app.limits.unpacked_body_bytes;
        loop {
            let frame = tokio::time::timeout(timeout, self.body.frame())
                .await
                .map_err(|_| too_slow(timeout))?;
            let Some(frame) = frame else {
                self.is_finished = true;
                return Ok(Some(std::mem::take(&mut self.pending)));
            };
            let data = frame.map_err(|error| cut_off(&error))?.into_data();
            let data = data.unwrap_or_default();
            self.app.body_memory.reserve(&mut self.reservation, data.len())?;
            self.pending.extend_from_slice(&data);
            if self.pending.len() < CHUNK_BYTES {
                continue;
            }
            if let Some(end) = memchr::memrchr(b'\n', &self.pending) {
                let rest = self.pending.split_off(end + 1);
                return Ok(Some(std::mem::replace(&mut self.pending, rest)));
            }
            if self.pending.len() > max_line_bytes {
                return Err(Problem::limit(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "a line in bytes",
                    max_line_bytes as u64,
                    None,
                ));
            }
        }
    }
}

/// The result of importing one chunk of lines.
struct ImportedChunk {
    report: ImportReport,
    /// The problem that ended the import; `None` if the import can continue.
    problem: Option<Problem>,
}

/// Imports a chunk of lines. The first line of the chunk has the number `first_line`.
fn import_lines(app: &App, collection: &Collection, lines: &[u8], first_line: u64) -> ImportedChunk {
    let bits = collection.profile().bits();
    let mut report = ImportReport::default();
    let mut numbered = (first_line..).zip(lines.split(|&b| b == b'\n'));
    loop {
        let mut documents = Vec::new();
        let mut line_numbers = Vec::new();
        for (number, bytes) in numbered.by_ref() {
            let bytes = bytes.trim_ascii();
            if bytes.is_empty() {
                continue;
            }
            match parse_line(bytes, bits) {
                Ok(document) => {
                    documents.push(document);
                    line_numbers.push(number);
                }
                Err(problem) => report.add_rejected(number, &problem.detail),
            }
            if documents.len() == COMMIT_DOCUMENTS {
                break;
            }
        }
        if documents.is_empty() {
            return ImportedChunk {
                report,
                problem: None,
            };
        }
        let answers = match collection.add(documents, false, Durability::Synced) {
            Ok(answers) => answers,
            Err(error) => {
                return ImportedChunk {
                    report,
                    problem: Some(error.into()),
                };
            }
        };
        count_verdicts(app, answers.iter().flatten());
        for (number, answer) in line_numbers.into_iter().zip(answers) {
            match answer {
                Ok(answer) => report.add_taken(verdict_name(answer.verdict)),
                Err(error) => report.add_rejected(number, &error.to_string()),
            }
        }
    }
}

/// Parses a line as a document. Fields that an export adds are ignored.
fn parse_line(bytes: &[u8], bits: u32) -> Result<NewDocument, Problem> {
    let mut value: serde_json::Value = serde_json::from_slice(bytes)
        .map_err(|error| Problem::unprocessable(invalid_json(&error, bytes).to_string()))?;
    let Some(fields) = value.as_object_mut() else {
        return Err(Problem::unprocessable("the line is not a JSON object"));
    };
    for field in EXPORT_FIELDS {
        fields.remove(field);
    }
    if fields.contains_key("text") {
        fields.remove("fingerprint");
    }
    let body: DocumentBody =
        serde_json::from_value(value).map_err(|error| Problem::unprocessable(error.to_string()))?;
    body.into_document(bits)
}
