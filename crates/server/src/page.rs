//! The page at `/`: collections, groups, a text to ask about, two documents side by side. Everything it shows comes from the API.
//!
//! The page is three files without anything from elsewhere, and its content security policy allows nothing else. What comes from
//! documents is put in as text, never as markup.

use askama::Template;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    version: &'static str,
}

pub(crate) async fn page() -> Response {
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
    };
    // A template of two strings can always be written.
    file("text/html; charset=utf-8", page.render().unwrap_or_default())
}

pub(crate) async fn script() -> Response {
    file(
        "text/javascript; charset=utf-8",
        include_str!("../templates/page.js"),
    )
}

pub(crate) async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("../templates/page.css"))
}

fn file(kind: &'static str, content: impl IntoResponse) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (
            HeaderName::from_static("content-security-policy"),
            HeaderValue::from_static(POLICY),
        ),
    ];
    (headers, content).into_response()
}
