//! Routes for monitoring: liveness, readiness, metrics and the OpenAPI description.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use twinprint_collection::{Collection, CollectionError};

use crate::app::SharedApp;
use crate::metrics::ServiceLoad;
use crate::model::Readiness;
use crate::problem::Problem;

/// Check that the process answers
#[utoipa::path(get, path = "/livez", tag = "health", responses((status = 200, description = "The process answers", body = String, content_type = "text/plain")))]
pub(crate) async fn livez() -> &'static str {
    "ok\n"
}

/// Check that every collection accepts writes
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "Every collection accepts writes", body = Readiness), (status = 503, description = "Some collection does not, or the service is shutting down", body = Readiness)))]
pub(crate) async fn readyz(State(app): State<SharedApp>) -> (StatusCode, Json<Readiness>) {
    let problem = |opened: Result<Collection, CollectionError>| match opened {
        Ok(collection) => collection.refusal().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    let collections = app.registry.list().into_iter();
    // This route needs no token. If the service has tokens, the errors are not shown here but only logged, because they
    // contain paths.
    let shows_errors = app.tokens.is_none();
    let problems: BTreeMap<String, String> = collections
        .filter_map(|(name, opened)| Some((name, problem(opened)?)))
        .map(|(name, error)| {
            let shown = if shows_errors {
                error
            } else {
                "see the log".to_owned()
            };
            (name, shown)
        })
        .collect();
    let ready = problems.is_empty() && !app.shutting_down.load(Ordering::Relaxed);
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(Readiness { ready, problems }))
}

/// Return the metrics for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "The metrics in the text format of Prometheus", body = String, content_type = "text/plain")))]
pub(crate) async fn metrics(State(app): State<SharedApp>) -> Result<Response, Problem> {
    let text_format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let load = ServiceLoad {
        admitted_requests: app.workers.admitted(),
        running_jobs: app.jobs.running(),
    };
    let text = app.metrics.text(&app.registry, load);
    let text = text.map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, text_format)], text).into_response())
}

/// Return this OpenAPI description
#[utoipa::path(get, path = "/openapi.json", tag = "health", responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
pub(crate) async fn openapi(State(app): State<SharedApp>) -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], app.openapi.clone()).into_response()
}
