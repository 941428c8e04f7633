//! Protection against cross-site request forgery and DNS rebinding.
//!
//! Any web page can make a browser send a request to another site without a CORS preflight if the request looks like a
//! form: a POST with a media type of forms and no custom header. Every request other than GET must therefore have
//! `Content-Type: application/json` (or `application/x-ndjson`) or, if it has no body, the header `X-Twinprint`.
//! Browsers send a preflight before such a request from another site, and this service never grants one. Queries that
//! use POST follow the same rule, for simplicity. In addition, the headers `Origin` and `Sec-Fetch-Site`, in which
//! browsers name the page that sends the request, are compared with the name of the service.

use axum::http::{HeaderMap, StatusCode, header};

use crate::problem::Problem;

/// The header that requests without a body must have. Its value has no meaning.
const PREFLIGHT_HEADER: &str = "x-twinprint";

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    // A value that is not text is replaced by "?", which equals no expected value.
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// Refuses requests whose `Host` is not a name of this machine. A service without tokens needs this against DNS
/// rebinding: a web page could otherwise reach the service through the page's own domain name, if that resolves to this
/// machine.
pub(crate) fn require_local_host(headers: &HeaderMap) -> Result<(), Problem> {
    let host = header_text(headers, "host").unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    if matches!(name, Some("localhost" | "127.0.0.1" | "::1")) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "a service without tokens only answers requests for the hosts localhost, 127.0.0.1 and [::1]; \
         use one of these, or a token file",
    ))
}

/// Refuses requests that a page of another site may have sent.
pub(crate) fn require_same_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let cross_site = |header: &str| {
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            format!(
                "the header {header} names another site, and requests from pages of other sites are refused"
            ),
        ))
    };
    if headers.contains_key(header::ORIGIN) {
        let host = header_text(headers, "host").unwrap_or_default();
        // Only name and port are compared, as the browser has requested them. The scheme may differ, because a proxy
        // may have terminated TLS.
        let origin = header_text(headers, "origin").and_then(|origin| origin.split_once("://"));
        if host.is_empty() || !origin.is_some_and(|(_, origin)| origin.eq_ignore_ascii_case(host)) {
            return cross_site("Origin");
        }
    }
    if let Some(site) = header_text(headers, "sec-fetch-site")
        && !matches!(site, "same-origin" | "none")
    {
        return cross_site("Sec-Fetch-Site");
    }
    let media_type = header_text(headers, "content-type").and_then(|value| value.split(';').next());
    let media_type = media_type.unwrap_or_default().trim();
    let json = ["application/json", "application/x-ndjson"];
    if headers.contains_key(PREFLIGHT_HEADER) || json.iter().any(|json| media_type.eq_ignore_ascii_case(json))
    {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "the request lacks a required header; send Content-Type: application/json, or X-Twinprint: 1 if it has no body",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(pairs: &[(&'static str, &str)]) -> u16 {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        require_same_origin(&headers).map_or_else(|problem| problem.status, |()| 200)
    }

    #[test]
    fn requests_that_pages_of_other_sites_can_send_are_refused() {
        let host = ("host", "Docs.example:8080");
        let json = ("content-type", "application/json; charset=utf-8");
        let custom = ("x-twinprint", "1");
        for simple in [
            &[host][..],
            &[host, ("content-type", "text/plain")],
            &[host, ("content-type", "application/x-www-form-urlencoded")],
            &[host, ("content-type", "text/plain; application/json")],
        ] {
            assert_eq!(status(simple), 415, "{simple:?}");
        }
        for marked in [json, custom, ("content-type", "Application/X-NDJSON")] {
            assert_eq!(status(&[host, marked]), 200);
            for origin in ["http://docs.example:8080", "https://docs.example:8080"] {
                assert_eq!(status(&[host, marked, ("origin", origin)]), 200, "{origin}");
            }
            for origin in [
                "null",
                "",
                "https://evil.example",
                "http://docs.example:8081",
                "http://docs.example",
                "http://a.docs.example:8080",
                "http://docs.example:8080.evil.example",
            ] {
                assert_eq!(status(&[host, marked, ("origin", origin)]), 403, "{origin}");
            }
            assert_eq!(status(&[marked, ("origin", "http://")]), 403, "no Host");
            for (site, expected) in [
                ("same-origin", 200),
                ("none", 200),
                ("same-site", 403),
                ("cross-site", 403),
            ] {
                let got = status(&[host, marked, ("sec-fetch-site", site)]);
                assert_eq!(got, expected, "{site}");
            }
        }
    }
}
