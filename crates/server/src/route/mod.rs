//! The routes: what is asked for, and who may.

pub(crate) mod collections;
pub(crate) mod documents;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod questions;
pub(crate) mod stories;
pub(crate) mod stream;

use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use serde_json::json;

use crate::Shared;
use crate::origin;
use crate::page;
use crate::problem::{Detail, Problem};
use crate::tokens::Scope;

/// All routes, with what applies to each of them.
pub(crate) fn router(app: Shared) -> Router {
    let scoped = |scope: Scope| middleware::from_fn_with_state((Shared::clone(&app), scope), authorise);
    let read = Router::new()
        .route("/v1/collections", get(collections::list))
        .route("/v1/collections/{collection}", get(collections::show))
        .route("/v1/collections/{collection}/check", post(documents::check))
        .route("/v1/collections/{collection}/checks", post(documents::checks))
        .route(
            "/v1/collections/{collection}/documents/{id}",
            get(documents::show),
        )
        .route("/v1/collections/{collection}/similar", post(questions::similar))
        .route("/v1/collections/{collection}/collapse", post(questions::collapse))
        .route("/v1/collections/{collection}/explain", get(questions::explain))
        .route("/v1/collections/{collection}/groups", get(questions::groups))
        .route(
            "/v1/collections/{collection}/groups/{group}",
            get(questions::group),
        )
        .route("/v1/collections/{collection}/stories", get(stories::stories))
        .route(
            "/v1/collections/{collection}/stories/{story}",
            get(stories::story),
        )
        .route("/v1/collections/{collection}/stats", get(questions::stats))
        .route("/v1/collections/{collection}/changes", get(questions::changes))
        .route("/v1/collections/{collection}/export", get(stream::export))
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
        .route("/v1/collections/{collection}/import", post(stream::import))
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
        .route_layer(middleware::from_fn_with_state(Shared::clone(&app), own_host));
    Router::new()
        .merge(read)
        .merge(write)
        .merge(admin)
        .merge(open)
        .fallback(nothing)
        .layer(middleware::from_fn_with_state(Shared::clone(&app), every))
        .with_state(app)
}

const NOTHING: &str = "nothing is here; /openapi.json has what is";

async fn nothing() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, NOTHING)
}

/// What an answer says that is no problem object: why a path or a query does not have its form.
async fn said(response: Response) -> String {
    let body = axum::body::to_bytes(response.into_body(), 4096).await;
    let body = body.unwrap_or_default();
    let said = String::from_utf8_lossy(&body);
    let said = said.trim();
    if said.is_empty() {
        "the path or the query does not have the form that /openapi.json tells".to_owned()
    } else {
        said.chars().take(300).collect()
    }
}

async fn authorise(
    State((app, scope)): State<(Shared, Scope)>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    match &app.tokens {
        Some(tokens) => tokens.check(request.headers(), scope)?,
        None => origin::require_own_host(request.headers())?,
    }
    if !request.method().is_safe() {
        origin::require_own_page(request.headers())?;
    }
    Ok(next.run(request).await)
}

/// Routes that need no token answer to this machine's names only, too.
async fn own_host(State(app): State<Shared>, request: Request, next: Next) -> Result<Response, Problem> {
    if app.tokens.is_none() {
        origin::require_own_host(request.headers())?;
    }
    Ok(next.run(request).await)
}

/// Counts and logs, and gives errors that come from below the form of a problem.
async fn every(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("none", MatchedPath::as_str)
        .to_owned();
    let mut response = next.run(request).await;
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok());
        if kind.is_none_or(|kind| kind.starts_with("text/")) {
            let allow = response.headers_mut().remove(header::ALLOW);
            let detail = match status {
                StatusCode::METHOD_NOT_ALLOWED => "this method does not apply here; see Allow".to_owned(),
                StatusCode::NOT_FOUND => NOTHING.to_owned(),
                _ => said(response).await,
            };
            response = Problem::new(status, detail).into_response();
            if let Some(allow) = allow {
                response.headers_mut().insert(header::ALLOW, allow);
            }
        }
    }
    let took = began.elapsed();
    app.metrics.request(&route, status.as_u16(), took);
    let why = response.extensions_mut().remove::<Detail>();
    if status.is_server_error() || app.log.tells_all() {
        let mut what = json!({
            "method": method.as_str(), "route": route, "status": status.as_u16(), "seconds": took.as_secs_f64(),
        });
        if status.is_server_error() {
            what["why"] = why.map_or_else(String::new, |Detail(why)| why).into();
            app.log.error("request", what);
        } else {
            app.log.info("request", what);
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
