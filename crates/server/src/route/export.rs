//! Export of a whole collection as a stream of NDJSON.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use twinprint_collection::Collection;

use crate::app::SharedApp;
use crate::model::NdjsonLines;
use crate::problem::Problem;

/// The number of documents that are read at a time.
const CHUNK_DOCUMENTS: usize = 50;

/// A chunk of an export, and the position after it.
struct ExportChunk {
    lines: Bytes,
    /// The sequence number of the last document in `lines`.
    last: u64,
}

/// Export all documents, one per line
///
/// The lines have the form that the import accepts. Additional fields contain the results for each document, such as
/// its group. A document that is updated during the export may appear twice, the second time in its updated form.
#[utoipa::path(get, path = "/v1/collections/{collection}/export", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection")), responses(
    (status = 200, description = "One document per line", body = NdjsonLines, content_type = "application/x-ndjson")))]
pub(crate) async fn export(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let collection = app.registry.get(&name)?;
    let max_exports = app.limits.exports;
    let too_many = |_| Problem {
        limit: Some(max_exports as u64),
        ..Problem::busy("too many exports at the same time; retry in a moment")
    };
    let permit = Arc::clone(&app.export_permits)
        .try_acquire_owned()
        .map_err(too_many)?;
    // Each chunk is read only after the previous one was sent. So a slow client does not occupy a thread.
    let chunks = try_unfold((0, permit), move |(after, permit)| {
        let (app, collection) = (SharedApp::clone(&app), collection.clone());
        async move {
            let read = tokio::task::spawn_blocking(move || read_chunk(&collection, after));
            match read.await.map_err(std::io::Error::other).and_then(|chunk| chunk) {
                Ok(chunk) => Ok(chunk.map(|chunk| (chunk.lines, (chunk.last, permit)))),
                Err(error) => {
                    // The status was already sent. The client notices the error because the last chunk of the body is
                    // missing.
                    app.log
                        .error("export", serde_json::json!({"error": error.to_string()}));
                    Err(error)
                }
            }
        }
    });
    let ndjson = HeaderValue::from_static("application/x-ndjson");
    Ok(([(header::CONTENT_TYPE, ndjson)], Body::from_stream(chunks)).into_response())
}

/// Reads the next documents after a sequence number. Returns `None` at the end of the collection.
fn read_chunk(collection: &Collection, after: u64) -> std::io::Result<Option<ExportChunk>> {
    let (documents, last) = collection
        .documents(after, CHUNK_DOCUMENTS)
        .map_err(std::io::Error::other)?;
    let mut lines = Vec::new();
    for document in documents {
        serde_json::to_writer(&mut lines, &document)?;
        lines.push(b'\n');
    }
    Ok(last.map(|last| ExportChunk {
        lines: lines.into(),
        last,
    }))
}
