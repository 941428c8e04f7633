//! Routes of documents: check, add, show, delete.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use twinprint_collection::{Answer, Collection, CollectionError, Document, Durability, NewDocument};

use crate::app::SharedApp;
use crate::idempotency::ReplayableAnswer;
use crate::model::{BatchAnswer, BatchItem, Deleted, DocumentBody, DocumentsBody, Job, WriteQuery};
use crate::problem::Problem;
use crate::request_body::RequestBody;
use crate::route::verdicts::count_verdicts;
use crate::route::write_request::{WriteHead, WriteRequest};

/// In a collection of at most this number of documents, a thread that serves connections may search for a fingerprint.
/// Such a search takes about 0.1 ms.
const MAX_INLINE_SEARCH_DOCUMENTS: usize = 2_000_000;

/// The result of an operation on several documents: one result per document, or the error of the whole operation.
type Answers = Result<Vec<Result<Answer, CollectionError>>, CollectionError>;

/// Check whether a document is new
///
/// Returns the answer that check-and-insert would give, and does not store the document.
#[utoipa::path(post, path = "/v1/collections/{collection}/check", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection")), request_body(content = DocumentBody, description = "The document"), responses(
    (status = 200, description = "The verdict", body = Answer)))]
pub(crate) async fn check(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Answer>, Problem> {
    let collection = app.registry.get(&name)?;
    let body = RequestBody::receive(&app, &headers, body).await?;
    let check = |collection: &Collection, document: DocumentBody| {
        answer_one(collection, document, |documents| collection.check(documents))
    };
    // A check of a fingerprint is answered on this thread: it only reads memory, and is faster than waking up another
    // thread.
    if body.is_short()
        && collection.len() <= MAX_INLINE_SEARCH_DOCUMENTS
        && let Ok(document) = body.json::<DocumentBody>()
        && document.fingerprint.is_some()
    {
        return app.workers.run_inline(|| check(&collection, document)).map(Json);
    }
    let answer = app.workers.run(move || check(&collection, body.json()?));
    Ok(Json(answer.await?))
}

/// Check whether documents are new
///
/// Each document is checked on its own against the stored documents. No document is stored.
#[utoipa::path(post, path = "/v1/collections/{collection}/checks", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection")), request_body(content = DocumentsBody, description = "The documents"), responses(
    (status = 200, description = "One verdict for each document, in order", body = BatchAnswer)))]
pub(crate) async fn checks(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<BatchAnswer>, Problem> {
    let collection = app.registry.get(&name)?;
    let body = RequestBody::receive(&app, &headers, body).await?;
    let max_documents = app.limits.batch_documents;
    let answer = app.workers.run(move || {
        let batch: DocumentsBody = body.json()?;
        require_batch_size(&batch, max_documents)?;
        answer_batch(&collection, batch.documents, |documents| {
            collection.check(documents)
        })
    });
    Ok(Json(answer.await?))
}

/// Check a document and store it, in one atomic step
///
/// If near-duplicates arrive at the same time, exactly one of them is new. A document whose id is already stored is
/// updated.
#[utoipa::path(post, path = "/v1/collections/{collection}/check-and-insert", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"), WriteQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "A repeated request with the same key gets the first answer and is not executed again")),
    request_body(content = DocumentBody, description = "The document"), responses(
    (status = 200, description = "The verdict at the time of the request", body = Answer)))]
pub(crate) async fn check_and_insert(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    Query(query): Query<WriteQuery>,
    head: WriteHead,
    body: Body,
) -> Result<ReplayableAnswer, Problem> {
    let collection = app.registry.get(&name)?;
    let request = WriteRequest {
        body: RequestBody::receive(&app, &head.headers, body).await?,
        opening: Some(collection.opening()),
        head,
    };
    let work = move |shared: &SharedApp, body: &RequestBody| {
        let answer = answer_one(&collection, body.json()?, |documents| {
            collection.add(documents, query.only_new, query.durability.into())
        })?;
        count_verdicts(shared, std::iter::once(&answer));
        ReplayableAnswer::json(StatusCode::OK, &answer)
    };
    request.execute(&app, work).await
}

/// Check documents and store them
///
/// Each document is compared with the stored documents and with those before it in the list. All documents are
/// committed together. An invalid document gets a problem of its own and does not affect the others.
#[utoipa::path(post, operation_id = "add_documents", path = "/v1/collections/{collection}/documents", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"), WriteQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "A repeated request with the same key gets the first answer and is not executed again")),
    request_body(content = DocumentsBody, description = "The documents"), responses(
    (status = 200, description = "One verdict for each document, in order", body = BatchAnswer)))]
pub(crate) async fn add(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    Query(query): Query<WriteQuery>,
    head: WriteHead,
    body: Body,
) -> Result<ReplayableAnswer, Problem> {
    let collection = app.registry.get(&name)?;
    let request = WriteRequest {
        body: RequestBody::receive(&app, &head.headers, body).await?,
        opening: Some(collection.opening()),
        head,
    };
    let work = move |shared: &SharedApp, body: &RequestBody| {
        let batch: DocumentsBody = body.json()?;
        require_batch_size(&batch, shared.limits.batch_documents)?;
        let answer = answer_batch(&collection, batch.documents, |documents| {
            collection.add(documents, query.only_new, query.durability.into())
        })?;
        count_verdicts(
            shared,
            answer.items.iter().filter_map(|item| item.answer.as_ref()),
        );
        ReplayableAnswer::json(StatusCode::OK, &answer)
    };
    request.execute(&app, work).await
}

/// Refuses a batch of more than `max_documents` documents with 413.
pub(crate) fn require_batch_size(batch: &DocumentsBody, max_documents: usize) -> Result<(), Problem> {
    let documents = batch.documents.len();
    if documents > max_documents {
        return Err(Problem::limit(
            StatusCode::PAYLOAD_TOO_LARGE,
            "documents of a batch",
            max_documents as u64,
            Some(documents as u64),
        ));
    }
    Ok(())
}

/// Returns the answer of `operation` for one document.
fn answer_one(
    collection: &Collection,
    body: DocumentBody,
    operation: impl FnOnce(Vec<NewDocument>) -> Answers,
) -> Result<Answer, Problem> {
    let document = body.into_document(collection.profile().bits())?;
    let answers = operation(vec![document])?;
    Ok(answers.into_iter().next().ok_or(CollectionError::Closed)??)
}

/// Returns one item per document of a batch, in order: the answer of `operation` for a valid document, and a problem
/// for an invalid one.
fn answer_batch(
    collection: &Collection,
    bodies: Vec<DocumentBody>,
    operation: impl FnOnce(Vec<NewDocument>) -> Answers,
) -> Result<BatchAnswer, Problem> {
    let bits = collection.profile().bits();
    let mut documents = Vec::with_capacity(bodies.len());
    let mut problems = Vec::with_capacity(bodies.len());
    for body in bodies {
        match body.into_document(bits) {
            Ok(document) => {
                documents.push(document);
                problems.push(None);
            }
            Err(problem) => problems.push(Some(problem)),
        }
    }
    let mut answers = operation(documents)?.into_iter();
    let items = problems.into_iter().map(|problem| {
        let answer = problem.map_or_else(
            || {
                let answer = answers.next().unwrap_or(Err(CollectionError::Closed));
                answer.map_err(Problem::from)
            },
            Err,
        );
        BatchItem::from(answer)
    });
    Ok(BatchAnswer {
        items: items.collect(),
    })
}

/// Show a document
#[utoipa::path(get, operation_id = "show_document", path = "/v1/collections/{collection}/documents/{id}", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"), ("id" = String, Path, description = "Id of the document")), responses(
    (status = 200, description = "The document", body = Document)))]
pub(crate) async fn show(
    State(app): State<SharedApp>,
    Path((name, id)): Path<(String, String)>,
) -> Result<Json<Document>, Problem> {
    let collection = app.registry.get(&name)?;
    Ok(Json(app.workers.run(move || Ok(collection.get(&id)?)).await?))
}

/// Delete a document
#[utoipa::path(delete, operation_id = "delete_document", path = "/v1/collections/{collection}/documents/{id}", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"), ("id" = String, Path, description = "Id of the document"),
        ("X-Twinprint" = String, Header, description = "Any value: shows that the request does not come from a web page of another site"),
        ("Idempotency-Key" = Option<String>, Header, description = "A repeated request with the same key gets the first answer and is not executed again")),
    responses((status = 200, description = "The document is deleted", body = Deleted)))]
pub(crate) async fn remove(
    State(app): State<SharedApp>,
    Path((name, id)): Path<(String, String)>,
    head: WriteHead,
) -> Result<ReplayableAnswer, Problem> {
    let collection = app.registry.get(&name)?;
    let request = WriteRequest {
        head,
        opening: Some(collection.opening()),
        body: RequestBody::empty(),
    };
    let work = move |_: &SharedApp, _: &RequestBody| {
        let deleted = collection.delete(&[&id], Durability::Synced)?;
        match deleted.first() {
            Some(&Some(seq)) => ReplayableAnswer::json(StatusCode::OK, &Deleted { seq }),
            _ => Err(Problem::from(CollectionError::NoDocument { id })),
        }
    };
    request.execute(&app, work).await
}

/// Delete all documents of a source, as a job
///
/// If a job ends early, a second request deletes the remaining documents.
#[utoipa::path(delete, operation_id = "delete_source", path = "/v1/collections/{collection}/sources/{source}", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"), ("source" = String, Path, description = "The source"),
        ("X-Twinprint" = String, Header, description = "Any value: shows that the request does not come from a web page of another site"),
        ("Idempotency-Key" = Option<String>, Header, description = "A repeated request with the same key gets the first answer and is not executed again")),
    responses((status = 202, description = "The job that deletes them", body = Job)))]
pub(crate) async fn remove_source(
    State(app): State<SharedApp>,
    Path((name, source)): Path<(String, String)>,
    head: WriteHead,
) -> Result<ReplayableAnswer, Problem> {
    let collection = app.registry.get(&name)?;
    let request = WriteRequest {
        head,
        opening: Some(collection.opening()),
        body: RequestBody::empty(),
    };
    let work = move |shared: &SharedApp, _: &RequestBody| {
        let job = shared.jobs.delete_source(&name, collection, source)?;
        ReplayableAnswer::json(StatusCode::ACCEPTED, &job)
    };
    request.execute(&app, work).await
}
