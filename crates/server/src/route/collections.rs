//! Routes of collections: list, show, create, delete, back up.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use twinprint_collection::{Collection, CollectionError, Settings};

use crate::app::SharedApp;
use crate::idempotency::ReplayableAnswer;
use crate::model::{CollectionInfo, CollectionList, Job};
use crate::problem::Problem;
use crate::request_body::RequestBody;
use crate::route::write_request::{WriteHead, WriteRequest};

/// List the collections
#[utoipa::path(get, operation_id = "list_collections", path = "/v1/collections", tag = "collections", responses(
    (status = 200, description = "All collections, ordered by name; at most 1000", body = CollectionList)))]
pub(crate) async fn list(State(app): State<SharedApp>) -> Json<CollectionList> {
    let info = |(name, opened): (String, Result<Collection, CollectionError>)| match opened {
        Ok(collection) => describe(name, &collection),
        Err(error) => CollectionInfo {
            name,
            settings: None,
            problem: Some(error.to_string()),
        },
    };
    Json(CollectionList {
        collections: app.registry.list().into_iter().map(info).collect(),
    })
}

fn describe(name: String, collection: &Collection) -> CollectionInfo {
    CollectionInfo {
        name,
        settings: Some(collection.settings().clone()),
        problem: collection.refusal().map(|error| error.to_string()),
    }
}

/// Show the settings of a collection
#[utoipa::path(get, operation_id = "show_collection", path = "/v1/collections/{collection}", tag = "collections",
    params(("collection" = String, Path, description = "Name of the collection")), responses(
    (status = 200, description = "The collection", body = CollectionInfo)))]
pub(crate) async fn show(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
) -> Result<Json<CollectionInfo>, Problem> {
    let collection = app.registry.get(&name)?;
    Ok(Json(describe(name, &collection)))
}

/// Create a collection
///
/// The body contains the settings that differ from the defaults. If the collection exists with the same settings, the
/// request succeeds. If it exists with other settings, the request fails.
#[utoipa::path(put, operation_id = "create_collection", path = "/v1/collections/{collection}", tag = "collections",
    params(("collection" = String, Path, description = "1 to 64 lower-case letters, digits, '-' and '_'"),
        ("X-Twinprint" = Option<String>, Header, description = "Any value, required without a body: shows that the request does not come from a web page of another site")),
    request_body(content = Option<Settings>, description = "The settings that differ from the defaults", content_type = "application/json"), responses(
    (status = 200, description = "The collection existed", body = CollectionInfo), (status = 201, description = "The collection was created", body = CollectionInfo)))]
pub(crate) async fn create(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<CollectionInfo>), Problem> {
    let body = RequestBody::receive_optional(&app, &headers, body).await?;
    let shared = SharedApp::clone(&app);
    let work = move || {
        let settings: Settings = body.json_or_default()?;
        let is_new = shared.registry.create(&name, settings.clone())?;
        let status = if is_new {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        };
        let info = CollectionInfo {
            name,
            settings: Some(settings),
            problem: None,
        };
        Ok((status, Json(info)))
    };
    app.workers
        .run_with_guard(app.registry.lock_changes(), work)
        .await
}

/// Delete a collection with all its documents
#[utoipa::path(delete, operation_id = "delete_collection", path = "/v1/collections/{collection}", tag = "collections",
    params(("collection" = String, Path, description = "Name of the collection"),
        ("X-Twinprint" = String, Header, description = "Any value: shows that the request does not come from a web page of another site"),
        ("Idempotency-Key" = Option<String>, Header, description = "A repeated request with the same key gets the first answer and is not executed again")),
    responses((status = 204, description = "The collection is deleted")))]
pub(crate) async fn remove(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    head: WriteHead,
) -> Result<ReplayableAnswer, Problem> {
    let request = WriteRequest {
        head,
        // Every stored answer except that to a deletion carries an identifier that changes each time the collection is
        // opened. A request that is repeated after the collection has been reopened does not get the stored answer. A
        // repeated deletion must get the first answer although the collection no longer exists, so its answer is stored
        // without the identifier.
        opening: None,
        body: RequestBody::empty(),
    };
    let work = move |shared: &SharedApp, _: &RequestBody| {
        shared.registry.delete(&name)?;
        Ok(ReplayableAnswer::empty(StatusCode::NO_CONTENT))
    };
    let guard = app.registry.lock_changes();
    request.execute_with_guard(&app, guard, work).await
}

/// Copy a collection to the service's backups, as a job
///
/// The job copies the collection to a new directory. The name of the directory consists of the name of the collection,
/// the Unix time in seconds and the number of the job; the job reports it. The copy contains the state of the
/// collection at one moment, and is verified before the job is done. `twinprint collection restore` makes a collection
/// of the copy. A job that ends early leaves no directory.
#[utoipa::path(post, operation_id = "back_up_collection", path = "/v1/collections/{collection}/backup", tag = "collections",
    params(("collection" = String, Path, description = "Name of the collection"),
        ("X-Twinprint" = String, Header, description = "Any value: shows that the request does not come from a web page of another site"),
        ("Idempotency-Key" = Option<String>, Header, description = "A repeated request with the same key gets the first answer and is not executed again")),
    responses((status = 202, description = "The job that makes the copy", body = Job),
        (status = 409, description = "The service was started without a directory for backups", body = Problem,
        content_type = "application/problem+json")))]
pub(crate) async fn back_up(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    head: WriteHead,
) -> Result<ReplayableAnswer, Problem> {
    let collection = app.registry.get(&name)?;
    let Some(backups) = app.backup_dir.clone() else {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "the service was started without a directory for backups",
        ));
    };
    let request = WriteRequest {
        head,
        opening: Some(collection.opening()),
        body: RequestBody::empty(),
    };
    let work = move |shared: &SharedApp, _: &RequestBody| {
        let job = shared.jobs.back_up(&name, collection, backups)?;
        ReplayableAnswer::json(StatusCode::ACCEPTED, &job)
    };
    request.execute(&app, work).await
}
