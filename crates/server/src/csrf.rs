//! Refuses requests that a web page of another site could make a browser send in its user's name.
//!
//! A browser sends a page's request to any site without asking there first, as long as it looks like a form: POST, a media type that forms
//! have, no headers of its own. So everything that is not merely fetched must say `Content-Type: application/json` (or lines of JSON), or
//! carry a header of our own where it has no body. For those a browser asks first, and this service allows no site anything.
//! Besides, the headers in which browsers name the page are compared with the service's own name.

use axum::http::{HeaderMap, StatusCode, header};

use crate::problem::Problem;

/// The header of a request without a body. Its value says nothing.
const OWN: &str = "x-twinprint";

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    // A value that is no text equals no other.
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// Without tokens, a page of another site must not get at the service by a name of its own that leads to this machine (DNS rebinding).
pub(crate) fn require_own_host(headers: &HeaderMap) -> Result<(), Problem> {
    let host = value(headers, "host").unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    if matches!(name, Some("localhost" | "127.0.0.1" | "::1")) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "without tokens the service answers to localhost, 127.0.0.1 and [::1] alone",
    ))
}

/// Refuses what a page of another site may have sent.
pub(crate) fn require_own_page(headers: &HeaderMap) -> Result<(), Problem> {
    let foreign = |what: &str| {
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            format!("{what} is not this service's own page; nothing is answered to pages of other sites"),
        ))
    };
    if headers.contains_key(header::ORIGIN) {
        let host = value(headers, "host").unwrap_or_default();
        // Behind a proxy with TLS the scheme is another; the name and port are as the browser asked for them.
        let origin = value(headers, "origin").and_then(|origin| origin.split_once("://"));
        if host.is_empty() || !origin.is_some_and(|(_, origin)| origin.eq_ignore_ascii_case(host)) {
            return foreign("the Origin");
        }
    }
    if let Some(site) = value(headers, "sec-fetch-site")
        && !matches!(site, "same-origin" | "none")
    {
        return foreign("what Sec-Fetch-Site tells of");
    }
    let kind = value(headers, "content-type").and_then(|kind| kind.split(';').next());
    let kind = kind.unwrap_or_default().trim();
    let json = ["application/json", "application/x-ndjson"];
    if headers.contains_key(OWN) || json.iter().any(|json| kind.eq_ignore_ascii_case(json)) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "send Content-Type: application/json, or, without a body, X-Twinprint: 1",
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
        require_own_page(&headers).map_or_else(|problem| problem.status, |()| 200)
    }

    #[test]
    fn what_a_page_of_another_site_can_send_is_refused() {
        let host = ("host", "Docs.example:8080");
        let json = ("content-type", "application/json; charset=utf-8");
        let own = ("x-twinprint", "1");
        for simple in [
            &[host][..],
            &[host, ("content-type", "text/plain")],
            &[host, ("content-type", "application/x-www-form-urlencoded")],
            &[host, ("content-type", "text/plain; application/json")],
        ] {
            assert_eq!(status(simple), 415, "{simple:?}");
        }
        for marked in [json, own, ("content-type", "Application/X-NDJSON")] {
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
            for (site, told) in [
                ("same-origin", 200),
                ("none", 200),
                ("same-site", 403),
                ("cross-site", 403),
            ] {
                assert_eq!(status(&[host, marked, ("sec-fetch-site", site)]), told, "{site}");
            }
        }
    }
}
