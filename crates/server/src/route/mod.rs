//! The routes of the service, each with the scope that a token needs for it.

pub(crate) mod collections;
pub(crate) mod documents;
pub(crate) mod export;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod jobs;
mod pagination;
pub(crate) mod queries;
pub(crate) mod stories;
mod verdicts;
mod write_request;

use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use serde_json::json;

use crate::app::SharedApp;
use crate::csrf;
use crate::page;
use crate::problem::{Problem, ProblemDetail};
use crate::tokens::Scope;

/// The maximum size of a plain error text that is read to turn it into a problem, in bytes.
const MAX_ERROR_BYTES: usize = 4096;
/// The maximum length of the error text in a problem, in characters.
const MAX_ERROR_CHARS: usize = 300;

/// Makes the router with all routes and their middleware.
pub(crate) fn router(app: SharedApp) -> Router {
    let scoped = |scope: Scope| middleware::from_fn_with_state((SharedApp::clone(&app), scope), authorize);
    let read = Router::new()
        .route("/v1/collections", get(collections::list))
        .route("/v1/collections/{collection}", get(collections::show))
        .route("/v1/collections/{collection}/check", post(documents::check))
        .route("/v1/collections/{collection}/checks", post(documents::checks))
        .route(
            "/v1/collections/{collection}/documents/{id}",
            get(documents::show),
        )
        .route("/v1/collections/{collection}/similar", post(queries::similar))
        .route("/v1/collections/{collection}/collapse", post(queries::collapse))
        .route("/v1/collections/{collection}/explain", get(queries::explain))
        .route("/v1/collections/{collection}/groups", get(queries::groups))
        .route("/v1/collections/{collection}/groups/{group}", get(queries::group))
        .route("/v1/collections/{collection}/stories", get(stories::stories))
        .route(
            "/v1/collections/{collection}/stories/{story}",
            get(stories::story),
        )
        .route("/v1/collections/{collection}/stats", get(queries::stats))
        .route("/v1/collections/{collection}/changes", get(queries::changes))
        .route("/v1/collections/{collection}/export", get(export::export))
        .route("/v1/jobs", get(jobs::list))
        .route("/v1/jobs/{job}", get(jobs::show))
        .route("/metrics", get(health::metrics))
        .route_layer(scoped(Scope::Read));
    let write = Router::new()
        .route(
            "/v1/collections/{collection}/check-and-insert",
            post(documents::check_and_insert),
        )
        .route("/v1/collections/{collection}/documents", post(documents::add))
        .route(
            "/v1/collections/{collection}/documents/{id}",
            delete(documents::remove),
        )
        .route(
            "/v1/collections/{collection}/sources/{source}",
            delete(documents::remove_source),
        )
        .route("/v1/collections/{collection}/import", post(import::import))
        .route("/v1/jobs/{job}", delete(jobs::cancel))
        .route_layer(scoped(Scope::Write));
    let admin = Router::new()
        .route(
            "/v1/collections/{collection}",
            put(collections::create).delete(collections::remove),
        )
        .route("/v1/collections/{collection}/backup", post(collections::back_up))
        .route_layer(scoped(Scope::Admin));
    let open = Router::new()
        .route("/", get(page::page))
        .route("/page.js", get(page::script))
        .route("/page.css", get(page::style))
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/openapi.json", get(health::openapi))
        .route_layer(middleware::from_fn_with_state(
            SharedApp::clone(&app),
            require_local_host,
        ));
    Router::new()
        .merge(read)
        .merge(write)
        .merge(admin)
        .merge(open)
        .fallback(not_found)
        .layer(middleware::from_fn_with_state(SharedApp::clone(&app), observe))
        .with_state(app)
}

const NOT_FOUND: &str = "no such route; /openapi.json lists the routes";

async fn not_found() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, NOT_FOUND)
}

/// Returns the text of an error response that is not a problem object. axum makes such responses for invalid paths and
/// queries.
async fn error_text(response: Response) -> String {
    let body = axum::body::to_bytes(response.into_body(), MAX_ERROR_BYTES).await;
    let body = body.unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let text = text.trim();
    if text.is_empty() {
        "the path or the query is invalid; /openapi.json describes the valid ones".to_owned()
    } else {
        text.chars().take(MAX_ERROR_CHARS).collect()
    }
}

/// Checks that a request is allowed: it needs a token with the scope, or, if the service has no tokens, a local host
/// name. A request that changes data must also come from the same origin.
async fn authorize(
    State((app, scope)): State<(SharedApp, Scope)>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    match &app.tokens {
        Some(tokens) => tokens.check(request.headers(), scope)?,
        None => csrf::require_local_host(request.headers())?,
    }
    if !request.method().is_safe() {
        csrf::require_same_origin(request.headers())?;
    }
    Ok(next.run(request).await)
}

/// Checks requests for routes that need no token: if the service has no tokens, they need a local host name.
async fn require_local_host(
    State(app): State<SharedApp>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if app.tokens.is_none() {
        csrf::require_local_host(request.headers())?;
    }
    Ok(next.run(request).await)
}

/// Counts and logs each request, turns the error responses of axum into problems, and sets security headers.
async fn observe(State(app): State<SharedApp>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("none", MatchedPath::as_str)
        .to_owned();
    let mut response = next.run(request).await;
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        let media_type = response.headers().get(header::CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        if media_type.is_none_or(|media_type| media_type.starts_with("text/")) {
            let allow = response.headers_mut().remove(header::ALLOW);
            let detail = match status {
                StatusCode::METHOD_NOT_ALLOWED => {
                    "this route does not support the method; the Allow header lists the methods it supports"
                        .to_owned()
                }
                StatusCode::NOT_FOUND => NOT_FOUND.to_owned(),
                _ => error_text(response).await,
            };
            response = Problem::new(status, detail).into_response();
            if let Some(allow) = allow {
                response.headers_mut().insert(header::ALLOW, allow);
            }
        }
    }
    let elapsed = started.elapsed();
    app.metrics.count_request(&route, status.as_u16(), elapsed);
    let detail = response.extensions_mut().remove::<ProblemDetail>();
    if status.is_server_error() || app.log.logs_info() {
        let mut fields = json!({
            "method": method.as_str(), "route": route, "status": status.as_u16(), "seconds": elapsed.as_secs_f64(),
        });
        if status.is_server_error() {
            fields["why"] = detail
                .map_or_else(String::new, |ProblemDetail(detail)| detail)
                .into();
            app.log.error("request", fields);
        } else {
            app.log.info("request", fields);
        }
    }
    let headers = response.headers_mut();
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers.insert(
        HeaderName::from_static("referrer-policy"),
        HeaderValue::from_static("no-referrer"),
    );
    response
}
