//! Writes that are executed once for each `Idempotency-Key`.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri};
use sha2::{Digest, Sha256};

use crate::app::SharedApp;
use crate::idempotency::{Hash, KeyLookup, ReplayableAnswer, hash_key};
use crate::problem::Problem;
use crate::request_body::RequestBody;

/// The method, URI and headers of a write.
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
    /// The hash of the idempotency key, or `None` without one. The hash covers the method, the path and query, the token
    /// and `opening`, the number of the collection's opening: a key used with a deleted collection has no effect on a new
    /// collection of the same name.
    pub(crate) fn idempotency_key(&self, opening: Option<u64>) -> Result<Option<Hash>, Problem> {
        let path = self.uri.path_and_query().map_or("", |path| path.as_str());
        let opening = opening.map_or_else(String::new, |opening| opening.to_string());
        hash_key(&self.headers, &format!("{opening} {} {path}", self.method))
    }
}

/// A write with its body.
pub(crate) struct WriteRequest {
    pub(crate) head: WriteHead,
    /// The opening of the collection to write to. `None` for the deletion of a collection, which ends its openings.
    pub(crate) opening: Option<u64>,
    pub(crate) body: RequestBody,
}

impl WriteRequest {
    /// Executes `work` on a worker thread, unless the request repeats an earlier one.
    pub(crate) async fn execute(
        self,
        app: &SharedApp,
        work: impl FnOnce(&SharedApp, &RequestBody) -> Result<ReplayableAnswer, Problem> + Send + 'static,
    ) -> Result<ReplayableAnswer, Problem> {
        self.execute_with_guard(app, std::future::ready(()), work).await
    }

    /// Like [`execute`](Self::execute), but first waits for `guard`, which is dropped after `work` has ended.
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
