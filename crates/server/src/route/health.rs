//! What watches the service asks: is it alive, is it ready, how is it.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::atomic::Ordering;

use twinprint_collection::{Collection, CollectionError};

use crate::Shared;
use crate::model::Readiness;
use crate::problem::Problem;

/// Whether the process answers
#[utoipa::path(get, path = "/livez", tag = "health", responses((status = 200, description = "It does", body = String, content_type = "text/plain")))]
pub(crate) async fn livez() -> &'static str {
    "ok\n"
}

/// Whether every collection takes writes
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "All do", body = Readiness), (status = 503, description = "Not all do, or the service is stopping", body = Readiness)))]
pub(crate) async fn readyz(State(app): State<Shared>) -> (StatusCode, Json<Readiness>) {
    let problem = |opened: Result<Collection, CollectionError>| match opened {
        Ok(collection) => collection.refusal().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    let collections = app.registry.list().into_iter();
    // Who is not asked for a token is told no paths.
    let told = app.tokens.is_none();
    let problems: std::collections::BTreeMap<String, String> = collections
        .filter_map(|(name, opened)| Some((name, problem(opened)?)))
        .map(|(name, why)| (name, if told { why } else { "see the log".to_owned() }))
        .collect();
    let ready = problems.is_empty() && !app.stopping.load(Ordering::Relaxed);
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(Readiness { ready, problems }))
}

/// Counters for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "The counters, in the text format of Prometheus", body = String, content_type = "text/plain")))]
pub(crate) async fn metrics(State(app): State<Shared>) -> Result<Response, Problem> {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let (waiting, jobs) = (app.work.admitted(), app.jobs.running());
    let text = app.metrics.text(&app.registry, waiting, jobs);
    let text = text.map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// The description of the service that you are reading
#[utoipa::path(get, path = "/openapi.json", tag = "health", responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
pub(crate) async fn openapi(State(app): State<Shared>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], app.openapi.clone()).into_response()
}
