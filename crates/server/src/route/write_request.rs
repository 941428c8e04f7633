//! Requests that write, which are executed only once per `Idempotency-Key`.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri};
use sha2::{Digest, Sha256};

use crate::app::SharedApp;
use crate::idempotency::{Hash, KeyLookup, ReplayableAnswer, hash_key};
use crate::problem::Problem;
use crate::request_body::RequestBody;

/// The method, the URI and the headers of a request that writes.
pub(crate) struct WriteHead {
    method: Method,
    uri: Uri,
    pub(crate) headers: HeaderMap,
}

impl<S: Sync> FromRequestParts<S> for WriteHead {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self {
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
        })
    }
}

impl WriteHead {
    /// Returns the hash of the request's idempotency key; `None` if the request has no key. The hash also covers the
    /// method, the path and query, the token, and `opening`, which identifies the open collection. So a key that was
    /// used with a deleted collection has no effect on a new collection of the same name.
    pub(crate) fn idempotency_key(&self, opening: Option<u64>) -> Result<Option<Hash>, Problem> {
        let path = self.uri.path_and_query().map_or("", |path| path.as_str());
        let opening = opening.map_or_else(String::new, |opening| opening.to_string());
        hash_key(&self.headers, &format!("{opening} {} {path}", self.method))
    }
}

/// A request that writes, with its body.
pub(crate) struct WriteRequest {
    pub(crate) head: WriteHead,
    /// The number that identifies the opening of the collection to write to. `None` for the deletion of a collection,
    /// because the answer must be found after the collection is closed.
    pub(crate) opening: Option<u64>,
    pub(crate) body: RequestBody,
}

impl WriteRequest {
    /// Executes `work` on a worker thread. If the request repeats an earlier one, returns the answer to that instead.
    pub(crate) async fn execute(
        self,
        app: &SharedApp,
        work: impl FnOnce(&SharedApp, &RequestBody) -> Result<ReplayableAnswer, Problem> + Send + 'static,
    ) -> Result<ReplayableAnswer, Problem> {
        self.execute_with_guard(app, std::future::ready(()), work).await
    }

    /// Does the same as [`execute`](Self::execute), but waits for `guard` first. The result of `guard` is dropped after
    /// `work` has ended.
    pub(crate) async fn execute_with_guard<G: Send + 'static>(
        self,
        app: &SharedApp,
        guard: impl Future<Output = G>,
        work: impl FnOnce(&SharedApp, &RequestBody) -> Result<ReplayableAnswer, Problem> + Send + 'static,
    ) -> Result<ReplayableAnswer, Problem> {
        let shared = SharedApp::clone(app);
        let execute_once = move || {
            let key = self.head.idempotency_key(self.opening)?;
            let attempt = match shared.idempotency.begin(key)? {
                KeyLookup::Replay(first) => return first.replay(&Sha256::digest(self.body.bytes()).into()),
                KeyLookup::Execute(attempt) => attempt,
            };
            let answer = work(&shared, &self.body)?;
            if key.is_some() {
                attempt.store(Sha256::digest(self.body.bytes()).into(), &answer);
            }
            Ok(answer)
        };
        app.workers.run_with_guard(guard, execute_once).await
    }
}
