//! Questions: what is near, why, in which groups, how much, and what changed.
#![expect(
    unused_qualifications,
    reason = "what utoipa writes for the parameters of a query"
)]

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use twinprint::Comparison;
use twinprint::collection::{Group, GroupList, Similar, Stats};
use utoipa::IntoParams;

use crate::Shared;
use crate::body::Sent;
use crate::model::{ChangeList, Collapsed, CollapsedGroup, DocumentsBody, SimilarBody};
use crate::problem::Problem;
use crate::route::documents::limit_batch;

/// Most rows of a list.
const MOST: u64 = 1000;

/// What was asked for, or else `unless`.
pub(crate) fn limit(asked: Option<u64>, unless: usize) -> Result<usize, Problem> {
    match asked {
        None => Ok(unless),
        Some(asked) if (1..=MOST).contains(&asked) => Ok(asked as usize),
        Some(asked) => Err(Problem::limit(
            StatusCode::UNPROCESSABLE_ENTITY,
            "limit, from 1 on",
            MOST,
            Some(asked),
        )),
    }
}

/// What is near a document
///
/// The documents that lead a group are looked at. Those that the document would duplicate come first, then near misses: candidates whose
/// Jaccard lies below the collection's threshold.
#[utoipa::path(post, path = "/v1/collections/{collection}/similar", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection")), request_body(content = SimilarBody, description = "The document, and how much is wanted"), responses(
    (status = 200, description = "What is near, the most alike first", body = Similar)))]
pub(crate) async fn similar(
    State(app): State<Shared>,
    Path(name): Path<String>,
    headers: HeaderMap,
    sent: Body,
) -> Result<Json<Similar>, Problem> {
    let collection = app.registry.get(&name)?;
    let sent = Sent::receive(&app, &headers, sent).await?;
    let work = move || {
        let asked: SimilarBody = sent.json()?;
        let document = asked.document.into_document(collection.profile().bits())?;
        let limit = limit(asked.limit, 10)?;
        Ok(Json(collection.similar(document, asked.k, limit)?))
    };
    app.work.run(work).await
}

/// Group the near-duplicates among some results
///
/// The documents are compared with one another, by the collection's rules, and not kept. Each joins the most alike of those before it that
/// stand for a group.
#[utoipa::path(post, path = "/v1/collections/{collection}/collapse", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection")), request_body(content = DocumentsBody, description = "The results, the best first"), responses(
    (status = 200, description = "The groups", body = Collapsed)))]
pub(crate) async fn collapse(
    State(app): State<Shared>,
    Path(name): Path<String>,
    headers: HeaderMap,
    sent: Body,
) -> Result<Json<Collapsed>, Problem> {
    let collection = app.registry.get(&name)?;
    let sent = Sent::receive(&app, &headers, sent).await?;
    let most = app.limits.batch;
    let work = move || {
        let asked: DocumentsBody = sent.json()?;
        limit_batch(most, asked.documents.len())?;
        let bits = collection.profile().bits();
        let documents = asked.documents.into_iter();
        let documents = documents.map(|document| document.into_document(bits));
        let documents = documents.collect::<Result<Vec<_>, Problem>>()?;
        let groups = collection.collapse(documents)?;
        let group = |ids: Vec<String>| {
            let mut ids = ids.into_iter();
            Some(CollapsedGroup {
                id: ids.next()?,
                duplicates: ids.collect(),
            })
        };
        Ok(Json(Collapsed {
            groups: groups.into_iter().filter_map(group).collect(),
        }))
    };
    app.work.run(work).await
}

/// Two documents.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Pair {
    /// Id of the one
    a: String,
    /// Id of the other
    b: String,
}

/// How two stored documents differ
///
/// And which words and bits make the difference.
#[utoipa::path(get, path = "/v1/collections/{collection}/explain", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection"), Pair), responses(
    (status = 200, description = "How they differ", body = Comparison)))]
pub(crate) async fn explain(
    State(app): State<Shared>,
    Path(name): Path<String>,
    Query(pair): Query<Pair>,
) -> Result<Json<Comparison>, Problem> {
    let collection = app.registry.get(&name)?;
    app.work
        .run(move || Ok(Json(collection.explain(&pair.a, &pair.b)?)))
        .await
}

/// A stretch of a list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct GroupQuery {
    /// Groups after this number, which the part before told as `next_after`
    after: Option<u64>,
    /// Groups of so many documents or more (2)
    min_size: Option<u64>,
    /// Groups wanted at most, up to 1000 (50)
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// Groups of near-duplicates
///
/// In order of their numbers, without their members.
#[utoipa::path(get, path = "/v1/collections/{collection}/groups", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection"), GroupQuery), responses(
    (status = 200, description = "A part of the list", body = GroupList)))]
pub(crate) async fn groups(
    State(app): State<Shared>,
    Path(name): Path<String>,
    Query(query): Query<GroupQuery>,
) -> Result<Json<GroupList>, Problem> {
    let collection = app.registry.get(&name)?;
    let work = move || {
        let (after, min_size) = (query.after.unwrap_or(0), query.min_size.unwrap_or(2));
        Ok(Json(collection.groups(
            after,
            min_size,
            limit(query.limit, 50)?,
        )?))
    };
    app.work.run(work).await
}

/// A stretch of the members.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MembersQuery {
    /// Members after this number, which the part before told as `next_after`
    after: Option<u64>,
    /// Members wanted at most, up to 1000 (100)
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// A group with its members
///
/// Members come in order of their numbers, and one that comes in meanwhile is at the end.
#[utoipa::path(get, path = "/v1/collections/{collection}/groups/{group}", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection"), ("group" = u64, Path, description = "Its number"), MembersQuery), responses(
    (status = 200, description = "The group, with a part of its members", body = Group)))]
pub(crate) async fn group(
    State(app): State<Shared>,
    Path((name, number)): Path<(String, u64)>,
    Query(query): Query<MembersQuery>,
) -> Result<Json<Group>, Problem> {
    let collection = app.registry.get(&name)?;
    let work = move || {
        let after = query.after.unwrap_or(0);
        Ok(Json(collection.group(number, after, limit(query.limit, 100)?)?))
    };
    app.work.run(work).await
}

/// What is to be counted.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatsQuery {
    /// Count this source alone
    source: Option<String>,
    /// Sources after this place, which the part before told as `next_after`
    after: Option<String>,
    /// Sources wanted at most, up to 1000 (100)
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// Counts, of the whole and by source
///
/// Sources with the most documents come first, of equals by name. A source whose number of documents changes while its list is gone through
/// may be told twice or not at all.
#[utoipa::path(get, path = "/v1/collections/{collection}/stats", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection"), StatsQuery), responses(
    (status = 200, description = "The counts, with a part of the sources", body = Stats)))]
pub(crate) async fn stats(
    State(app): State<Shared>,
    Path(name): Path<String>,
    Query(query): Query<StatsQuery>,
) -> Result<Json<Stats>, Problem> {
    let collection = app.registry.get(&name)?;
    let work = move || {
        let (source, after) = (query.source.as_deref(), query.after.as_deref());
        Ok(Json(collection.stats(source, after, limit(query.limit, 100)?)?))
    };
    app.work.run(work).await
}

/// From where on.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChangeQuery {
    /// Changes from this number on
    since: Option<u64>,
    /// Changes wanted at most, up to 1000 (100)
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// What changed, oldest first
///
/// Ask again from `next` on.
#[utoipa::path(get, path = "/v1/collections/{collection}/changes", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection"), ChangeQuery), responses(
    (status = 200, description = "Some changes, and where to go on", body = ChangeList)))]
pub(crate) async fn changes(
    State(app): State<Shared>,
    Path(name): Path<String>,
    Query(query): Query<ChangeQuery>,
) -> Result<Json<ChangeList>, Problem> {
    let collection = app.registry.get(&name)?;
    let work = move || {
        let since = query.since.unwrap_or(0);
        let changes = collection.changes(since, limit(query.limit, 100)?)?;
        let next = changes.last().map_or(since, |last| last.seq + 1);
        let first = collection.first_change()?.unwrap_or(0);
        Ok(Json(ChangeList { changes, next, first }))
    };
    app.work.run(work).await
}
