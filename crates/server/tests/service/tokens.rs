//! Tests of authorization: tokens, requests from other sites, and host names.

use twinprint_server::{Limits, Service};

use crate::client::{TestService, quiet_options};

/// A token file with the tokens "reader", "writer", "admin" and "old".
pub(crate) const TOKENS: &str = r#"
[[token]]
name = "reader"
scopes = ["read"]
sha256 = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30"
[[token]]
name = "writer"
scopes = ["read", "write"]
sha256 = "b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5"
[[token]]
name = "admin"
scopes = ["read", "write", "admin"]
sha256 = "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918"
[[token]]
name = "old"
scopes = ["read"]
sha256 = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4"
expires = 2020-01-01T00:00:00Z
"#;

#[test]
fn a_token_grants_its_scopes_only() {
    let running = TestService::with(Limits::default(), Some(TOKENS));
    let call = |method: &str, path: &str, token: &str| {
        let headers = if token.is_empty() {
            String::new()
        } else {
            format!("Authorization: Bearer {token}\r\nX-Twinprint: 1\r\n")
        };
        running.call_with(method, path, &headers, b"")
    };
    call("PUT", "/v1/collections/c", "").is(401);
    call("PUT", "/v1/collections/c", "nonsense").is(401);
    call("PUT", "/v1/collections/c", "reader").is(403);
    call("GET", "/v1/collections", "old").is(401);
    call("PUT", "/v1/collections/c", "admin").is(201);
    call("GET", "/v1/collections/c", "reader").is(200);
    call("GET", "/v1/collections", "").is(401);
    call("DELETE", "/v1/collections/c/documents/x", "reader").is(403);
    call("DELETE", "/v1/collections/c/documents/x", "admin").is(404);
    // Cancelling a backup requires the same scope as starting one.
    let backup = call("POST", "/v1/collections/c/backup", "admin").is(202).json();
    let deletion = call("DELETE", "/v1/collections/c/sources/s", "writer")
        .is(202)
        .json();
    let cancel = |job: &serde_json::Value, token: &str| {
        call("DELETE", &format!("/v1/jobs/{}", job["id"]), token).status
    };
    assert_eq!(
        (cancel(&backup, "writer"), cancel(&deletion, "reader")),
        (403, 403)
    );
    assert!(
        [200, 202].contains(&cancel(&backup, "admin")) && [200, 202].contains(&cancel(&deletion, "writer"))
    );
    call("GET", "/metrics", "").is(401);
    call("GET", "/livez", "").is(200);
    call("GET", "/readyz", "").is(200);
    call("GET", "/", "").is(200);
}

#[test]
fn a_page_of_another_site_can_neither_write_nor_query() {
    let running = TestService::new();
    let path = |rest: &str| format!("/v1/collections/c{rest}");
    let calls = [
        ("PUT", "", ""),
        ("POST", "/check-and-insert", "{}"),
        ("POST", "/check", "{}"),
        ("POST", "/similar", "{}"),
        ("POST", "/collapse", "{}"),
        ("POST", "/import", "{}"),
        ("POST", "/backup", ""),
        ("DELETE", "/documents/a", ""),
        ("DELETE", "/sources/a", ""),
        ("DELETE", "", ""),
    ];
    for (method, rest, body) in calls {
        let send = |headers: &str| running.call_with(method, &path(rest), headers, body.as_bytes());
        for simple in [
            "",
            "Content-Type: text/plain\r\n",
            "Content-Type: multipart/form-data\r\n",
        ] {
            send(simple).is(415);
        }
        for cross_site in [
            "Origin: https://a.example",
            "Origin: null",
            "Sec-Fetch-Site: cross-site",
        ] {
            for marker in ["Content-Type: application/json", "X-Twinprint: 1"] {
                send(&format!("{marker}\r\n{cross_site}\r\n")).is(403);
            }
        }
        // A CORS preflight is not granted.
        let preflight = running.call_with("OPTIONS", &path(rest), "Origin: https://a.example\r\n", b"");
        assert!(!preflight.is(405).head.contains("access-control"));
    }
    // The page of the service is allowed, also behind a TLS proxy.
    for origin in ["http://localhost", "https://localhost"] {
        let headers = format!("X-Twinprint: 1\r\nOrigin: {origin}\r\nSec-Fetch-Site: same-origin\r\n");
        running.call_with("POST", &path("/backup"), &headers, b"").is(202);
    }
    running.get("/v1/collections/c").is(200);
}

#[test]
fn without_tokens_only_loopback_addresses_and_local_host_names_are_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = quiet_options(dir.path());
    options.listen = "0.0.0.0:0".parse().unwrap();
    let error = Service::start(&options).unwrap_err().to_string();
    assert!(error.contains("token file"), "{error}");
    let running = TestService::new();
    let mut stream = running.connect();
    let request = "GET /v1/collections HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    crate::client::read(&mut stream).is(421);
}
