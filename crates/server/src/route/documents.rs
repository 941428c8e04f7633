//! Documents: asked about, taken in, shown, deleted.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use sha2::{Digest, Sha256};
use twinprint_collection::{
    Answer, Collection, CollectionError, Document, Durability, NewDocument, Verdict,
};

use crate::body::Sent;
use crate::idempotency::{Begin, Reply, key};
use crate::model::{BatchAnswer, Deleted, DocumentBody, DocumentsBody, Item, Job, WriteQuery};
use crate::problem::Problem;
use crate::{App, Shared};

/// Documents of a collection in which a search for a fingerprint takes a tenth of a millisecond or so.
const SHORT_SEARCH: usize = 2_000_000;

/// Would this document be new?
///
/// Answers what check-and-insert would, and keeps nothing.
#[utoipa::path(post, path = "/v1/collections/{collection}/check", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection")), request_body(content = DocumentBody, description = "The document"), responses(
    (status = 200, description = "What it would be", body = Answer)))]
pub(crate) async fn check(
    State(app): State<Shared>,
    Path(name): Path<String>,
    headers: HeaderMap,
    sent: Body,
) -> Result<Json<Answer>, Problem> {
    let collection = app.registry.get(&name)?;
    let sent = Sent::receive(&app, &headers, sent).await?;
    let ask = |collection: &Collection, body| one(collection, body, |documents| collection.check(documents));
    // About a fingerprint the answer is in memory, and there sooner than another thread would wake up.
    if sent.is_short()
        && collection.len() <= SHORT_SEARCH
        && let Ok(body) = sent.json::<DocumentBody>()
        && body.fingerprint.is_some()
    {
        return app.work.here(|| ask(&collection, body)).map(Json);
    }
    let answer = app.work.run(move || ask(&collection, sent.json()?));
    Ok(Json(answer.await?))
}

/// Would these documents be new?
///
/// Each is asked about by itself, and nothing is kept.
#[utoipa::path(post, path = "/v1/collections/{collection}/checks", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection")), request_body(content = DocumentsBody, description = "The documents"), responses(
    (status = 200, description = "What each would be, in order", body = BatchAnswer)))]
pub(crate) async fn checks(
    State(app): State<Shared>,
    Path(name): Path<String>,
    headers: HeaderMap,
    sent: Body,
) -> Result<Json<BatchAnswer>, Problem> {
    let collection = app.registry.get(&name)?;
    let sent = Sent::receive(&app, &headers, sent).await?;
    let most = app.limits.batch;
    let answer = app.work.run(move || {
        let batch: DocumentsBody = sent.json()?;
        limit_batch(most, batch.documents.len())?;
        each(&collection, batch.documents, |documents| {
            collection.check(documents)
        })
    });
    Ok(Json(answer.await?))
}

/// New, or seen? Remembered in the same step
///
/// Of any number of near-duplicates that come in at once exactly one is new. A document of the same id is updated.
#[utoipa::path(post, path = "/v1/collections/{collection}/check-and-insert", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"), WriteQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "The same key again gets the first answer")),
    request_body(content = DocumentBody, description = "The document"), responses(
    (status = 200, description = "What it was when it came", body = Answer)))]
pub(crate) async fn check_and_insert(
    State(app): State<Shared>,
    Path(name): Path<String>,
    Query(how): Query<WriteQuery>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    sent: Body,
) -> Result<Reply, Problem> {
    let collection = app.registry.get(&name)?;
    let sent = Sent::receive(&app, &headers, sent).await?;
    let request = request(&method, &uri, Some(collection.opening()));
    let work = move |shared: &Shared, sent: &Sent| {
        let answer = one(&collection, sent.json()?, |documents| {
            collection.add(documents, how.only_new, how.durability.into())
        })?;
        count(shared, std::iter::once(&answer));
        Reply::json(StatusCode::OK, &answer)
    };
    once(&app, headers, request, sent, work).await
}

/// New, or seen? For many documents, one answer each, in order
///
/// Document i sees those before it. They are committed together; a document that cannot be one gets a problem of its own.
#[utoipa::path(post, operation_id = "add_documents", path = "/v1/collections/{collection}/documents", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"), WriteQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "The same key again gets the first answer")),
    request_body(content = DocumentsBody, description = "The documents"), responses(
    (status = 200, description = "What each was when it came, in order", body = BatchAnswer)))]
pub(crate) async fn add(
    State(app): State<Shared>,
    Path(name): Path<String>,
    Query(how): Query<WriteQuery>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    sent: Body,
) -> Result<Reply, Problem> {
    let collection = app.registry.get(&name)?;
    let sent = Sent::receive(&app, &headers, sent).await?;
    let request = request(&method, &uri, Some(collection.opening()));
    let work = move |shared: &Shared, sent: &Sent| {
        let batch: DocumentsBody = sent.json()?;
        limit_batch(shared.limits.batch, batch.documents.len())?;
        let answer = each(&collection, batch.documents, |documents| {
            collection.add(documents, how.only_new, how.durability.into())
        })?;
        count(
            shared,
            answer.items.iter().filter_map(|item| item.answer.as_ref()),
        );
        Reply::json(StatusCode::OK, &answer)
    };
    once(&app, headers, request, sent, work).await
}

/// A write: its method, its path and query, and the opening of the collection that it is for. What was done to another collection of the
/// same name, deleted since, was not done to this one.
pub(crate) fn request(method: &Method, uri: &Uri, opening: Option<u64>) -> String {
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    let opening = opening.map_or_else(String::new, |opening| opening.to_string());
    format!("{opening} {method} {path}")
}

/// Does a write once for each idempotency key.
pub(crate) async fn once(
    app: &Shared,
    headers: HeaderMap,
    request: String,
    sent: Sent,
    work: impl FnOnce(&Shared, &Sent) -> Result<Reply, Problem> + Send + 'static,
) -> Result<Reply, Problem> {
    once_with(std::future::ready(()), app, headers, request, sent, work).await
}

/// As [`once`], once it has something that is given back when the write is done.
pub(crate) async fn once_with<G: Send + 'static>(
    turn: impl Future<Output = G>,
    app: &Shared,
    headers: HeaderMap,
    request: String,
    sent: Sent,
    work: impl FnOnce(&Shared, &Sent) -> Result<Reply, Problem> + Send + 'static,
) -> Result<Reply, Problem> {
    let shared = Shared::clone(app);
    let work = move || {
        let key = key(&headers, &request)?;
        let attempt = match shared.idempotency.begin(key)? {
            Begin::Again(first) => return first.again(&Sha256::digest(sent.bytes()).into()),
            Begin::Go(attempt) => attempt,
        };
        let reply = work(&shared, &sent)?;
        if key.is_some() {
            attempt.answered(Sha256::digest(sent.bytes()).into(), &reply);
        }
        Ok(reply)
    };
    app.work.run_with(turn, work).await
}

/// Refuses a batch that is too long.
pub(crate) fn limit_batch(limit: usize, documents: usize) -> Result<(), Problem> {
    if documents > limit {
        return Err(Problem::limit(
            StatusCode::PAYLOAD_TOO_LARGE,
            "documents of a batch",
            limit as u64,
            Some(documents as u64),
        ));
    }
    Ok(())
}

/// Asks about one document.
fn one(
    collection: &Collection,
    body: DocumentBody,
    ask: impl FnOnce(Vec<NewDocument>) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError>,
) -> Result<Answer, Problem> {
    let document = body.into_document(collection.profile().bits())?;
    let answers = ask(vec![document])?;
    Ok(answers.into_iter().next().ok_or(CollectionError::Closed)??)
}

/// Asks about all documents that can be one, and puts the answers where they belong.
fn each(
    collection: &Collection,
    bodies: Vec<DocumentBody>,
    ask: impl FnOnce(Vec<NewDocument>) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError>,
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
    let mut answers = ask(documents)?.into_iter();
    let items = problems.into_iter().map(|problem| {
        let answer = problem.map_or_else(
            || {
                let answer = answers.next().unwrap_or(Err(CollectionError::Closed));
                answer.map_err(Problem::from)
            },
            Err,
        );
        Item::from(answer)
    });
    Ok(BatchAnswer {
        items: items.collect(),
    })
}

/// Counts verdicts.
pub(crate) fn count<'a>(app: &App, answers: impl Iterator<Item = &'a Answer>) {
    let mut verdicts = [0u64; 4];
    for answer in answers {
        verdicts[answer.verdict as usize] += 1;
    }
    let named = [Verdict::New, Verdict::Exact, Verdict::Near, Verdict::Updated];
    for (verdict, more) in named.into_iter().zip(verdicts).filter(|(_, more)| *more > 0) {
        app.metrics.verdict(name_of(verdict), more);
    }
}

pub(crate) fn name_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Exact => "exact",
        Verdict::Near => "near",
        Verdict::Updated => "updated",
    }
}

/// A stored document
#[utoipa::path(get, operation_id = "show_document", path = "/v1/collections/{collection}/documents/{id}", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"), ("id" = String, Path, description = "Its id")), responses(
    (status = 200, description = "The document", body = Document)))]
pub(crate) async fn show(
    State(app): State<Shared>,
    Path((name, id)): Path<(String, String)>,
) -> Result<Json<Document>, Problem> {
    let collection = app.registry.get(&name)?;
    Ok(Json(app.work.run(move || Ok(collection.get(&id)?)).await?))
}

/// Delete a document
#[utoipa::path(delete, operation_id = "delete_document", path = "/v1/collections/{collection}/documents/{id}", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"), ("id" = String, Path, description = "Its id"),
        ("X-Twinprint" = String, Header, description = "Any value: tells the request from what a web page of another site could send"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key again gets the first answer")),
    responses((status = 200, description = "It is gone", body = Deleted)))]
pub(crate) async fn remove(
    State(app): State<Shared>,
    Path((name, id)): Path<(String, String)>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Reply, Problem> {
    let collection = app.registry.get(&name)?;
    let request = request(&method, &uri, Some(collection.opening()));
    let work = move |_: &Shared, _: &Sent| {
        let deleted = collection.delete(&[&id], Durability::Synced)?;
        match deleted.first() {
            Some(&Some(seq)) => Reply::json(StatusCode::OK, &Deleted { seq }),
            _ => Err(Problem::from(CollectionError::NoDocument { id })),
        }
    };
    once(&app, headers, request, Sent::nothing(), work).await
}

/// Delete all documents of a source, as a job
///
/// Asked again after the job ended early, it goes on with what is left.
#[utoipa::path(delete, operation_id = "delete_source", path = "/v1/collections/{collection}/sources/{source}", tag = "documents",
    params(("collection" = String, Path, description = "Name of the collection"), ("source" = String, Path, description = "The source"),
        ("X-Twinprint" = String, Header, description = "Any value: tells the request from what a web page of another site could send"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key again gets the first answer")),
    responses((status = 202, description = "The job that does it", body = Job)))]
pub(crate) async fn remove_source(
    State(app): State<Shared>,
    Path((name, source)): Path<(String, String)>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Reply, Problem> {
    let collection = app.registry.get(&name)?;
    let request = request(&method, &uri, Some(collection.opening()));
    let work = move |shared: &Shared, _: &Sent| {
        let job = shared.jobs.delete_source(&name, collection, source)?;
        Reply::json(StatusCode::ACCEPTED, &job)
    };
    once(&app, headers, request, Sent::nothing(), work).await
}
