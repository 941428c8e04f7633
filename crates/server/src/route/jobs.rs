//! Routes of jobs: list, show, cancel.
#![expect(
    unused_qualifications,
    reason = "utoipa generates qualified paths for query parameters"
)]

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::SharedApp;
use crate::model::{Job, JobList, JobState};
use crate::problem::Problem;
use crate::route::pagination::row_limit;
use crate::tokens::Scope;

/// The query parameters of the list of jobs.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobsQuery {
    /// The `next_after` of the previous page
    after: Option<u64>,
    /// Maximum number of jobs on the page, up to 1000. Default: 50
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// List the jobs, newest first
///
/// The latest 1000 jobs are listed, including those from before a restart.
#[utoipa::path(get, operation_id = "list_jobs", path = "/v1/jobs", tag = "jobs", params(JobsQuery), responses(
    (status = 200, description = "A page of the list", body = JobList)))]
pub(crate) async fn list(
    State(app): State<SharedApp>,
    Query(query): Query<JobsQuery>,
) -> Result<Json<JobList>, Problem> {
    let limit = row_limit(query.limit, 50)?;
    Ok(Json(app.jobs.list(query.after, limit)))
}

fn not_found(id: u64) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        format!("the service has no job {id}; only the latest 1000 jobs are stored"),
    )
}

/// Show a job
#[utoipa::path(get, operation_id = "show_job", path = "/v1/jobs/{job}", tag = "jobs",
    params(("job" = u64, Path, description = "Number of the job")), responses(
    (status = 200, description = "The job", body = Job)))]
pub(crate) async fn show(State(app): State<SharedApp>, Path(id): Path<u64>) -> Result<Json<Job>, Problem> {
    app.jobs.get(id).map(Json).ok_or_else(|| not_found(id))
}

/// Cancel a job
///
/// The job ends at its next step, with the state `cancelled`. Documents that it has deleted stay deleted. A cancelled
/// backup leaves no directory. A job that has already ended keeps its state. To cancel a backup, a token needs the same
/// scope as to start one.
#[utoipa::path(delete, operation_id = "cancel_job", path = "/v1/jobs/{job}", tag = "jobs",
    params(("job" = u64, Path, description = "Number of the job"),
        ("X-Twinprint" = String, Header, description = "Any value: shows that the request does not come from a web page of another site")), responses(
    (status = 200, description = "The job had ended already", body = Job),
    (status = 202, description = "The job will end", body = Job)))]
pub(crate) async fn cancel(
    State(app): State<SharedApp>,
    Path(id): Path<u64>,
    headers: HeaderMap,
) -> Result<(StatusCode, Json<Job>), Problem> {
    let job = app.jobs.get(id).ok_or_else(|| not_found(id))?;
    if job.directory.is_some()
        && let Some(tokens) = &app.tokens
    {
        tokens.check(&headers, Scope::Admin)?;
    }
    let job = app.jobs.cancel(id).ok_or_else(|| not_found(id))?;
    let status = match job.state {
        JobState::Running => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    };
    Ok((status, Json(job)))
}
