//! Routes of stories: list stories by time, and show one story with its documents.
#![expect(
    unused_qualifications,
    reason = "utoipa generates qualified paths for query parameters"
)]

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use twinprint_collection::parse_time;
use twinprint_collection::{StoryDetail, StoryList, StoryQuery};
use utoipa::{IntoParams, ToSchema};

use crate::app::SharedApp;
use crate::problem::Problem;
use crate::route::pagination::row_limit;

/// The state of a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoryState {
    /// New documents may still join the story.
    Live,
    /// No document will join the story any more.
    Ended,
}

/// The query parameters of the list of stories.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StoriesQuery {
    /// Only stories in this state
    #[param(inline)]
    state: Option<StoryState>,
    /// Only stories whose last document is from this time or later: 2024-05-01T12:00:00Z, 2024-05-01, or seconds since 1970
    since: Option<String>,
    /// Only stories whose last document is from this time or earlier
    until: Option<String>,
    /// Minimum number of documents of a story. Default: 2
    min_size: Option<u64>,
    /// The `next_after` of the previous page
    after: Option<String>,
    /// Maximum number of stories on the page, up to 1000. Default: 50
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// List stories, those with the latest document first
///
/// A story that gains a document while a client reads page after page appears at its old position, at its new position,
/// or not at all.
#[utoipa::path(get, path = "/v1/collections/{collection}/stories", tag = "stories",
    params(("collection" = String, Path, description = "Name of the collection"), StoriesQuery), responses(
    (status = 200, description = "A page of the list", body = StoryList)))]
pub(crate) async fn stories(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    Query(query): Query<StoriesQuery>,
) -> Result<Json<StoryList>, Problem> {
    let collection = app.registry.get(&name)?;
    let time = |name: &str, text: Option<String>| {
        let time = text.map(|text| parse_time(&text)).transpose();
        time.map_err(|error| Problem::unprocessable(format!("{name}: {error}")))
    };
    let filter = StoryQuery {
        ended: query.state.map(|state| state == StoryState::Ended),
        since: time("since", query.since)?,
        until: time("until", query.until)?,
        min_size: query.min_size.unwrap_or(2),
        after: query.after,
        limit: row_limit(query.limit, 50)?,
    };
    app.workers
        .run(move || Ok(Json(collection.stories(&filter)?)))
        .await
}

/// The query parameters of a story and its documents.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StoryMembersQuery {
    /// The `next_after` of the previous page
    after: Option<u64>,
    /// Maximum number of documents on the page, up to 1000. Default: 100
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// Show a story with its documents
///
/// If the story has been merged into another one, the answer contains that other story.
#[utoipa::path(get, path = "/v1/collections/{collection}/stories/{story}", tag = "stories",
    params(("collection" = String, Path, description = "Name of the collection"), ("story" = u64, Path, description = "Number of the story"), StoryMembersQuery), responses(
    (status = 200, description = "The story, with a page of its documents", body = StoryDetail)))]
pub(crate) async fn story(
    State(app): State<SharedApp>,
    Path((name, number)): Path<(String, u64)>,
    Query(query): Query<StoryMembersQuery>,
) -> Result<Json<StoryDetail>, Problem> {
    let collection = app.registry.get(&name)?;
    let work = move || {
        let after = query.after.unwrap_or(0);
        Ok(Json(collection.story(
            number,
            after,
            row_limit(query.limit, 100)?,
        )?))
    };
    app.workers.run(work).await
}
