//! Routes of queries: similar documents, differences, groups, statistics and changes.
#![expect(
    unused_qualifications,
    reason = "utoipa generates qualified paths for query parameters"
)]

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use serde::Deserialize;
use twinprint_collection::Comparison;
use twinprint_collection::{Group, GroupList, Similar, Stats};
use utoipa::IntoParams;

use crate::app::SharedApp;
use crate::model::{ChangeList, Collapsed, CollapsedGroup, DocumentsBody, SimilarBody};
use crate::problem::Problem;
use crate::request_body::RequestBody;
use crate::route::documents::require_batch_size;
use crate::route::pagination::row_limit;

/// Find documents similar to a given one
///
/// The document is compared with the leaders of groups. The hits are the leaders that are duplicates of it, then near
/// misses, which are candidates whose Jaccard is below the collection's threshold.
#[utoipa::path(post, path = "/v1/collections/{collection}/similar", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection")), request_body(content = SimilarBody, description = "The document and the search parameters"), responses(
    (status = 200, description = "The hits, most similar first", body = Similar)))]
pub(crate) async fn similar(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Similar>, Problem> {
    let collection = app.registry.get(&name)?;
    let body = RequestBody::receive(&app, &headers, body).await?;
    let work = move || {
        let query: SimilarBody = body.json()?;
        let document = query.document.into_document(collection.profile().bits())?;
        let limit = row_limit(query.limit, 10)?;
        Ok(Json(collection.similar(document, query.k, limit)?))
    };
    app.workers.run(work).await
}

/// Group the near-duplicates among given documents
///
/// The documents are compared with one another by the settings of the collection, and are not stored. Each document
/// joins the group of the most similar leader before it, or leads a new group.
#[utoipa::path(post, path = "/v1/collections/{collection}/collapse", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection")), request_body(content = DocumentsBody, description = "The documents, the best first"), responses(
    (status = 200, description = "The groups", body = Collapsed)))]
pub(crate) async fn collapse(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Collapsed>, Problem> {
    let collection = app.registry.get(&name)?;
    let body = RequestBody::receive(&app, &headers, body).await?;
    let max_documents = app.limits.batch_documents;
    let work = move || {
        let batch: DocumentsBody = body.json()?;
        require_batch_size(&batch, max_documents)?;
        let bits = collection.profile().bits();
        let documents = batch.documents.into_iter();
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
    app.workers.run(work).await
}

/// The query parameters of a comparison: the ids of two documents.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PairQuery {
    /// Id of the first document
    a: String,
    /// Id of the second document
    b: String,
}

/// Compare two stored documents
///
/// The answer includes the words and the fingerprint bits in which the documents differ.
#[utoipa::path(get, path = "/v1/collections/{collection}/explain", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection"), PairQuery), responses(
    (status = 200, description = "The comparison", body = Comparison)))]
pub(crate) async fn explain(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    Query(pair): Query<PairQuery>,
) -> Result<Json<Comparison>, Problem> {
    let collection = app.registry.get(&name)?;
    app.workers
        .run(move || Ok(Json(collection.explain(&pair.a, &pair.b)?)))
        .await
}

/// The query parameters of the list of groups.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct GroupQuery {
    /// The `next_after` of the previous page
    after: Option<u64>,
    /// Minimum number of documents of a group. Default: 2
    min_size: Option<u64>,
    /// Maximum number of groups on the page, up to 1000. Default: 50
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// List groups of near-duplicates
///
/// The groups are ordered by number. Their members are not included.
#[utoipa::path(get, path = "/v1/collections/{collection}/groups", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection"), GroupQuery), responses(
    (status = 200, description = "A page of the list", body = GroupList)))]
pub(crate) async fn groups(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    Query(query): Query<GroupQuery>,
) -> Result<Json<GroupList>, Problem> {
    let collection = app.registry.get(&name)?;
    let work = move || {
        let (after, min_size) = (query.after.unwrap_or(0), query.min_size.unwrap_or(2));
        Ok(Json(collection.groups(
            after,
            min_size,
            row_limit(query.limit, 50)?,
        )?))
    };
    app.workers.run(work).await
}

/// The query parameters of a group and its members.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MembersQuery {
    /// The `next_after` of the previous page
    after: Option<u64>,
    /// Maximum number of members on the page, up to 1000. Default: 100
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// Show a group with its members
///
/// Members are ordered by number. A member that joins while a client reads page after page is on the last page.
#[utoipa::path(get, path = "/v1/collections/{collection}/groups/{group}", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection"), ("group" = u64, Path, description = "Number of the group"), MembersQuery), responses(
    (status = 200, description = "The group, with a page of its members", body = Group)))]
pub(crate) async fn group(
    State(app): State<SharedApp>,
    Path((name, number)): Path<(String, u64)>,
    Query(query): Query<MembersQuery>,
) -> Result<Json<Group>, Problem> {
    let collection = app.registry.get(&name)?;
    let work = move || {
        let after = query.after.unwrap_or(0);
        Ok(Json(collection.group(
            number,
            after,
            row_limit(query.limit, 100)?,
        )?))
    };
    app.workers.run(work).await
}

/// The query parameters of the statistics.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatsQuery {
    /// Return the counts of this source only
    source: Option<String>,
    /// The `next_after` of the previous page
    after: Option<String>,
    /// Maximum number of sources on the page, up to 1000. Default: 100
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// Count the documents, in total and by source
///
/// Sources are ordered by descending number of documents, then by name. If the number of documents of a source changes
/// while a client reads page after page, the source may appear twice or not at all.
#[utoipa::path(get, path = "/v1/collections/{collection}/stats", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection"), StatsQuery), responses(
    (status = 200, description = "The counts, with a page of the sources", body = Stats)))]
pub(crate) async fn stats(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    Query(query): Query<StatsQuery>,
) -> Result<Json<Stats>, Problem> {
    let collection = app.registry.get(&name)?;
    let work = move || {
        let (source, after) = (query.source.as_deref(), query.after.as_deref());
        Ok(Json(collection.stats(
            source,
            after,
            row_limit(query.limit, 100)?,
        )?))
    };
    app.workers.run(work).await
}

/// The query parameters of the list of changes.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChangeQuery {
    /// Smallest sequence number to return
    since: Option<u64>,
    /// Maximum number of changes on the page, up to 1000. Default: 100
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// List changes, oldest first
///
/// The value of `next` in the answer is the `since` of the request for the next page.
#[utoipa::path(get, path = "/v1/collections/{collection}/changes", tag = "questions",
    params(("collection" = String, Path, description = "Name of the collection"), ChangeQuery), responses(
    (status = 200, description = "A page of changes, and the start of the next page", body = ChangeList)))]
pub(crate) async fn changes(
    State(app): State<SharedApp>,
    Path(name): Path<String>,
    Query(query): Query<ChangeQuery>,
) -> Result<Json<ChangeList>, Problem> {
    let collection = app.registry.get(&name)?;
    let work = move || {
        let since = query.since.unwrap_or(0);
        let changes = collection.changes(since, row_limit(query.limit, 100)?)?;
        let next = changes.last().map_or(since, |last| last.seq + 1);
        let first = collection.first_change()?.unwrap_or(0);
        Ok(Json(ChangeList { changes, next, first }))
    };
    app.workers.run(work).await
}
