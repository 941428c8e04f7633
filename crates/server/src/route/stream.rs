//! Whole collections as streams of lines: import and export in NDJSON.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use http_body_util::BodyExt;
use twinprint::collection::{Collection, Durability};

use crate::body::{Held, cut_off, parse, require_type, too_slow};
use crate::model::{DocumentBody, Imported, Reject};
use crate::problem::Problem;
use crate::route::documents::{count, name_of};
use crate::{App, Shared};

/// Documents written at a time.
const AT_A_TIME: usize = 500;
/// Documents of one part of an export.
const PART: usize = 50;
/// Bytes of lines that are gathered before they are taken in.
const GATHERED: usize = 1 << 20;
/// Rejected lines that are named.
const NAMED: usize = 100;

/// All documents, one a line
///
/// In the form that import takes, with what was found out about each under fields of its own. A document that is updated meanwhile may
/// come twice, the later one as it is by then.
#[utoipa::path(get, path = "/v1/collections/{collection}/export", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection")), responses(
    (status = 200, description = "One document a line", body = String, content_type = "application/x-ndjson")))]
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
/// ends early stays; sending it again changes nothing.
#[utoipa::path(post, path = "/v1/collections/{collection}/import", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection")),
    request_body(content = String, content_type = "application/x-ndjson"), responses(
    (status = 200, body = Imported)))]
pub(crate) async fn import(
    State(app): State<Shared>,
    Path(name): Path<String>,
    headers: HeaderMap,
    mut sent: Body,
) -> Result<Json<Imported>, Problem> {
    let collection = app.registry.get(&name)?;
    require_type(&headers, "application/x-ndjson")?;
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "an import is sent plain; there is no limit to its length",
        ));
    }
    let mut imported = Imported::default();
    let mut line = 1;
    let mut pending: Vec<u8> = Vec::new();
    let mut held = Held::default();
    let time = app.limits.body_time;
    loop {
        let frame = tokio::time::timeout(time, sent.frame())
            .await
            .map_err(|_| too_slow(time))?;
        let last = frame.is_none();
        if let Some(frame) = frame {
            let data = frame.map_err(|error| cut_off(&error))?.into_data();
            let data = data.unwrap_or_default();
            app.room.take(&mut held, data.len())?;
            pending.extend_from_slice(&data);
        }
        if !last && pending.len() < GATHERED {
            continue;
        }
        let whole = if last {
            pending.len()
        } else {
            memchr::memrchr(b'\n', &pending).map_or(0, |at| at + 1)
        };
        if whole == 0 && pending.len() > app.limits.unpacked {
            return Err(Problem::limit(
                StatusCode::PAYLOAD_TOO_LARGE,
                "a line in bytes",
                app.limits.unpacked as u64,
                None,
            ));
        }
        if whole == 0 && !last {
            continue;
        }
        let rest = pending.split_off(whole);
        let lines = std::mem::replace(&mut pending, rest);
        let (shared, collection) = (Shared::clone(&app), collection.clone());
        let first = line;
        line += memchr::memchr_iter(b'\n', &lines).count() as u64;
        imported = app
            .work
            .run(move || take_in(&shared, &collection, &lines, first, imported))
            .await?;
        if last {
            return Ok(Json(imported));
        }
        held = Held::default();
        app.room.take(&mut held, pending.len())?;
    }
}

/// Takes in some lines, of which the first has number `line`.
fn take_in(
    app: &App,
    collection: &Collection,
    lines: &[u8],
    line: u64,
    mut imported: Imported,
) -> Result<Imported, Problem> {
    let bits = collection.profile().bits();
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
                Err(problem) => reject(&mut imported, number, problem.detail),
            }
            if documents.len() == AT_A_TIME {
                break;
            }
        }
        if documents.is_empty() {
            return Ok(imported);
        }
        let answers = collection.add(documents, false, Durability::Synced)?;
        count(app, answers.iter().flatten());
        for (number, answer) in places.into_iter().zip(answers) {
            match answer {
                Ok(answer) => {
                    let name = name_of(answer.verdict).to_owned();
                    *imported.verdicts.entry(name).or_default() += 1;
                }
                Err(error) => reject(&mut imported, number, error.to_string()),
            }
        }
    }
}

fn reject(imported: &mut Imported, line: u64, reason: String) {
    imported.rejected += 1;
    if imported.rejects.len() < NAMED {
        imported.rejects.push(Reject { line, reason });
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
