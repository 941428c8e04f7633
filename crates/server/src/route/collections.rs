//! Making, showing and deleting collections.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use twinprint::collection::{Collection, CollectionError, Settings};

use crate::Shared;
use crate::body::Sent;
use crate::model::{CollectionInfo, CollectionList};
use crate::problem::Problem;

/// The collections of the service
#[utoipa::path(get, operation_id = "list_collections", path = "/v1/collections", tag = "collections", responses(
    (status = 200, body = CollectionList)))]
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
    (status = 200, body = CollectionInfo)))]
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
    params(("collection" = String, Path, description = "1 to 64 lower-case letters, digits, '-' and '_'")),
    request_body(content = Option<Settings>, content_type = "application/json"), responses(
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
    app.work.run(work).await
}

/// Delete a collection with all its documents
#[utoipa::path(delete, operation_id = "delete_collection", path = "/v1/collections/{collection}", tag = "collections",
    params(("collection" = String, Path, description = "Its name")), responses(
    (status = 204, description = "Gone")))]
pub(crate) async fn remove(
    State(app): State<Shared>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    let shared = Shared::clone(&app);
    app.work
        .run(move || shared.registry.delete(&name).map(|()| StatusCode::NO_CONTENT))
        .await
}
