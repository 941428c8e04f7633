//! Stories: what the documents are about, by time.
#![expect(
    unused_qualifications,
    reason = "what utoipa writes for the parameters of a query"
)]

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use twinprint_collection::{StoryDetail, StoryList, StoryQuery};
use twinprint_stream::parse_time;
use utoipa::{IntoParams, ToSchema};

use crate::Shared;
use crate::problem::Problem;
use crate::route::questions::limit;

/// Which stories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoryState {
    /// Those that documents still join.
    Live,
    /// Those that nothing will join any more.
    Ended,
}

/// A stretch of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StoriesQuery {
    /// Only stories that live, or that have ended
    #[param(inline)]
    state: Option<StoryState>,
    /// Only stories whose last document was seen then or later: 2024-05-01T12:00:00Z, 2024-05-01, or seconds since 1970
    since: Option<String>,
    /// Only stories whose last document was seen then or before
    until: Option<String>,
    /// Stories of so many documents or more (2)
    min_size: Option<u64>,
    /// Stories after this place, which the part before told as `next_after`
    after: Option<String>,
    /// Stories wanted at most, up to 1000 (50)
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// Stories, those with the latest document first
///
/// A story that gains a document while its list is gone through is told of where it was or where it is then, or not at all.
#[utoipa::path(get, path = "/v1/collections/{collection}/stories", tag = "stories",
    params(("collection" = String, Path, description = "Name of the collection"), StoriesQuery), responses(
    (status = 200, description = "A part of the list", body = StoryList)))]
pub(crate) async fn stories(
    State(app): State<Shared>,
    Path(name): Path<String>,
    Query(asked): Query<StoriesQuery>,
) -> Result<Json<StoryList>, Problem> {
    let collection = app.registry.get(&name)?;
    let time = |name: &str, text: Option<String>| {
        let time = text.map(|text| parse_time(&text)).transpose();
        time.map_err(|error| Problem::unprocessable(format!("{name}: {error}")))
    };
    let query = StoryQuery {
        ended: asked.state.map(|state| state == StoryState::Ended),
        since: time("since", asked.since)?,
        until: time("until", asked.until)?,
        min_size: asked.min_size.unwrap_or(2),
        after: asked.after,
        limit: limit(asked.limit, 50)?,
    };
    app.work.run(move || Ok(Json(collection.stories(&query)?))).await
}

/// A stretch of a story's documents.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StoryMembersQuery {
    /// Documents after this number, which the part before told as `next_after`
    after: Option<u64>,
    /// Documents wanted at most, up to 1000 (100)
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// A story with its documents
///
/// Asked for a story that is now part of another, it answers with that.
#[utoipa::path(get, path = "/v1/collections/{collection}/stories/{story}", tag = "stories",
    params(("collection" = String, Path, description = "Name of the collection"), ("story" = u64, Path, description = "Its number"), StoryMembersQuery), responses(
    (status = 200, description = "The story, with a part of its documents", body = StoryDetail)))]
pub(crate) async fn story(
    State(app): State<Shared>,
    Path((name, number)): Path<(String, u64)>,
    Query(asked): Query<StoryMembersQuery>,
) -> Result<Json<StoryDetail>, Problem> {
    let collection = app.registry.get(&name)?;
    let work = move || {
        let after = asked.after.unwrap_or(0);
        Ok(Json(collection.story(number, after, limit(asked.limit, 100)?)?))
    };
    app.work.run(work).await
}
