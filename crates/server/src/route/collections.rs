//! Making, showing and deleting collections.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use twinprint_collection::{Collection, CollectionError, Settings};

use crate::Shared;
use crate::body::Sent;
use crate::idempotency::Reply;
use crate::model::{CollectionInfo, CollectionList, Job};
use crate::problem::Problem;
use crate::route::documents::{once, once_with, request};

/// The collections of the service
#[utoipa::path(get, operation_id = "list_collections", path = "/v1/collections", tag = "collections", responses(
    (status = 200, description = "All of them, by name; at most 1000", body = CollectionList)))]
pub(crate) async fn list(State(app): State<Shared>) -> Json<CollectionList> {
    let info = |(name, opened): (String, Result<Collection, CollectionError>)| match opened {
        Ok(collection) => CollectionInfo {
            name,
            settings: Some(collection.settings().clone()),
            problem: collection.refusal().map(|error| error.to_string()),
        },
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

/// A collection's settings
#[utoipa::path(get, operation_id = "show_collection", path = "/v1/collections/{collection}", tag = "collections",
    params(("collection" = String, Path, description = "Its name")), responses(
    (status = 200, description = "The collection", body = CollectionInfo)))]
pub(crate) async fn show(
    State(app): State<Shared>,
    Path(name): Path<String>,
) -> Result<Json<CollectionInfo>, Problem> {
    let collection = app.registry.get(&name)?;
    Ok(Json(CollectionInfo {
        name,
        settings: Some(collection.settings().clone()),
        problem: collection.refusal().map(|error| error.to_string()),
    }))
}

/// Make a collection
///
/// The body holds the settings that are to differ from the defaults. The same again is no error; other settings are.
#[utoipa::path(put, operation_id = "create_collection", path = "/v1/collections/{collection}", tag = "collections",
    params(("collection" = String, Path, description = "1 to 64 lower-case letters, digits, '-' and '_'"),
        ("X-Twinprint" = Option<String>, Header, description = "Any value, where there is no body: tells the request from what a web page of another site could send")),
    request_body(content = Option<Settings>, description = "The settings that are to differ", content_type = "application/json"), responses(
    (status = 200, description = "It was there", body = CollectionInfo), (status = 201, description = "Made", body = CollectionInfo)))]
pub(crate) async fn create(
    State(app): State<Shared>,
    Path(name): Path<String>,
    headers: HeaderMap,
    sent: Body,
) -> Result<(StatusCode, Json<CollectionInfo>), Problem> {
    let sent = Sent::receive_any(&app, &headers, sent).await?;
    let shared = Shared::clone(&app);
    let work = move || {
        let settings: Settings = sent.json_or_default()?;
        let new = shared.registry.create(&name, settings.clone())?;
        let status = if new { StatusCode::CREATED } else { StatusCode::OK };
        let info = CollectionInfo {
            name,
            settings: Some(settings),
            problem: None,
        };
        Ok((status, Json(info)))
    };
    app.work.run_with(app.registry.turn(), work).await
}

/// Delete a collection with all its documents
#[utoipa::path(delete, operation_id = "delete_collection", path = "/v1/collections/{collection}", tag = "collections",
    params(("collection" = String, Path, description = "Its name"),
        ("X-Twinprint" = String, Header, description = "Any value: tells the request from what a web page of another site could send"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key again gets the first answer")),
    responses((status = 204, description = "Gone")))]
pub(crate) async fn remove(
    State(app): State<Shared>,
    Path(name): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Reply, Problem> {
    // The collection is gone once this is done: the key must not be of one that is there.
    let request = request(&method, &uri, None);
    let work = move |shared: &Shared, _: &Sent| {
        shared.registry.delete(&name)?;
        Ok(Reply::empty(StatusCode::NO_CONTENT))
    };
    let turn = app.registry.turn();
    once_with(turn, &app, headers, request, Sent::nothing(), work).await
}

/// Copy a collection to the service's backups, as a job
///
/// The copy is a directory of its own, named after the collection, the second since 1970 and the job; the job tells its name. It is what the
/// collection was at one moment, and is read back and checked before the job is done. `twinprint collection restore` makes a collection of
/// it. A job that ends early leaves no directory.
#[utoipa::path(post, operation_id = "back_up_collection", path = "/v1/collections/{collection}/backup", tag = "collections",
    params(("collection" = String, Path, description = "Its name"),
        ("X-Twinprint" = String, Header, description = "Any value: tells the request from what a web page of another site could send"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key again gets the first answer")),
    responses((status = 202, description = "The job that does it", body = Job),
        (status = 409, description = "The service was started without a directory for backups", body = Problem,
        content_type = "application/problem+json")))]
pub(crate) async fn back_up(
    State(app): State<Shared>,
    Path(name): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Reply, Problem> {
    let collection = app.registry.get(&name)?;
    let Some(backups) = app.backups.clone() else {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "the service has no directory for backups; start it with --backups DIR",
        ));
    };
    let request = request(&method, &uri, Some(collection.opening()));
    let work = move |shared: &Shared, _: &Sent| {
        let job = shared.jobs.back_up(&name, collection, backups)?;
        Reply::json(StatusCode::ACCEPTED, &job)
    };
    once(&app, headers, request, Sent::nothing(), work).await
}
