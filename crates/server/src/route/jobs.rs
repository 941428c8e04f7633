//! Jobs: listed, shown, cancelled.
#![expect(
    unused_qualifications,
    reason = "what utoipa writes for the parameters of a query"
)]

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Shared;
use crate::model::{Job, JobList, JobState};
use crate::problem::Problem;
use crate::route::questions::limit;
use crate::tokens::Scope;

/// A stretch of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobsQuery {
    /// Jobs after this one, which the part before told as `next_after`
    after: Option<u64>,
    /// Jobs wanted at most, up to 1000 (50)
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// The jobs, the newest first
///
/// The latest 1000 are remembered, across restarts.
#[utoipa::path(get, operation_id = "list_jobs", path = "/v1/jobs", tag = "jobs", params(JobsQuery), responses(
    (status = 200, description = "A part of the list", body = JobList)))]
pub(crate) async fn list(
    State(app): State<Shared>,
    Query(query): Query<JobsQuery>,
) -> Result<Json<JobList>, Problem> {
    let (jobs, next_after) = app.jobs.list(query.after, limit(query.limit, 50)?);
    Ok(Json(JobList { jobs, next_after }))
}

fn unknown(id: u64) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        format!("no job {id}; the latest 1000 are remembered"),
    )
}

/// Where a job is
#[utoipa::path(get, operation_id = "show_job", path = "/v1/jobs/{job}", tag = "jobs",
    params(("job" = u64, Path, description = "Its number")), responses(
    (status = 200, description = "The job", body = Job)))]
pub(crate) async fn show(State(app): State<Shared>, Path(id): Path<u64>) -> Result<Json<Job>, Problem> {
    app.jobs.get(id).map(Json).ok_or_else(|| unknown(id))
}

/// Cancel a job
///
/// It ends at its next step and is `cancelled` then. What was done stays done; a backup leaves no directory. A job that has ended stays as it
/// is. Cancelling a backup needs the scope that making one needs.
#[utoipa::path(delete, operation_id = "cancel_job", path = "/v1/jobs/{job}", tag = "jobs",
    params(("job" = u64, Path, description = "Its number"),
        ("X-Twinprint" = String, Header, description = "Any value: tells the request from what a web page of another site could send")), responses(
    (status = 200, description = "It had ended", body = Job),
    (status = 202, description = "It will end", body = Job)))]
pub(crate) async fn cancel(
    State(app): State<Shared>,
    Path(id): Path<u64>,
    headers: HeaderMap,
) -> Result<(StatusCode, Json<Job>), Problem> {
    let job = app.jobs.get(id).ok_or_else(|| unknown(id))?;
    if job.directory.is_some()
        && let Some(tokens) = &app.tokens
    {
        tokens.check(&headers, Scope::Admin)?;
    }
    let job = app.jobs.cancel(id).ok_or_else(|| unknown(id))?;
    let status = match job.state {
        JobState::Running => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    };
    Ok((status, Json(job)))
}
