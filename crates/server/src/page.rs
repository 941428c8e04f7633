//! The web page at `/`. It shows collections and groups, checks a given text, and compares two documents.
//!
//! The page consists of an HTML file, a style sheet and a script, without dependencies. It gets all data from the HTTP
//! API. Its content security policy allows only these files. Text from documents is always inserted as text, never as
//! markup.

use askama::Template;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(Template)]
#[template(path = "page.html")]
struct PageTemplate {
    version: &'static str,
}

/// `GET /`
pub(crate) async fn page() -> Response {
    let page = PageTemplate {
        version: env!("CARGO_PKG_VERSION"),
    };
    // Rendering cannot fail, because the only variable of the template is a string.
    file("text/html; charset=utf-8", page.render().unwrap_or_default())
}

/// `GET /page.js`
pub(crate) async fn script() -> Response {
    file(
        "text/javascript; charset=utf-8",
        include_str!("../templates/page.js"),
    )
}

/// `GET /page.css`
pub(crate) async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("../templates/page.css"))
}

fn file(media_type: &'static str, content: impl IntoResponse) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (
            HeaderName::from_static("content-security-policy"),
            HeaderValue::from_static(CONTENT_SECURITY_POLICY),
        ),
    ];
    (headers, content).into_response()
}
