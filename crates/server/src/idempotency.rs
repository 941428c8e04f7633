//! `Idempotency-Key`: a write that is sent again is answered again and not done again (draft-ietf-httpapi-idempotency-key-header).
//!
//! Keys and answers are remembered in memory, the latest few thousand. Beyond that, and across a restart, the document's own id makes a repeat
//! harmless: it is an update that moves nothing. A request that failed leaves its key free.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::problem::Problem;

/// Keys remembered.
const REMEMBERED: usize = 4096;
/// Bytes of a key at most.
const LONGEST: usize = 255;
/// Bytes of the answers remembered.
const BYTES: usize = 64 << 20;

/// The hash of a key or of a body.
pub(crate) type Hash = [u8; 32];

/// An answer that can be given again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    status: StatusCode,
    /// JSON, or nothing.
    body: Vec<u8>,
}

impl Reply {
    /// An answer in JSON.
    pub(crate) fn json(status: StatusCode, answer: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(answer)
            .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
        Ok(Self { status, body })
    }

    /// An answer without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self {
            status,
            body: Vec::new(),
        }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        if self.body.is_empty() {
            return self.status.into_response();
        }
        let kind = HeaderValue::from_static("application/json");
        (self.status, [(header::CONTENT_TYPE, kind)], Body::from(self.body)).into_response()
    }
}

enum State {
    InFlight,
    Answered(First),
}

/// The first request with a key: the hash of its body, and its answer.
#[derive(Clone)]
pub(crate) struct First {
    body: Hash,
    reply: Reply,
}

impl First {
    /// The answer to the same body again.
    pub(crate) fn again(self, body: &Hash) -> Result<Reply, Problem> {
        if self.body == *body {
            return Ok(self.reply);
        }
        Err(Problem::unprocessable(
            "this Idempotency-Key was used for another body",
        ))
    }
}

#[derive(Default)]
struct Keys {
    states: HashMap<Hash, State>,
    order: VecDeque<Hash>,
    /// Bytes of the answers.
    bytes: usize,
}

impl Keys {
    /// Forgets the oldest beyond what is remembered.
    fn forget(&mut self) {
        while (self.order.len() > REMEMBERED || self.bytes > BYTES)
            && let Some(oldest) = self.order.pop_front()
        {
            if let Some(State::Answered(first)) = self.states.remove(&oldest) {
                self.bytes -= first.reply.body.len();
            }
        }
    }
}

/// The keys seen lately.
#[derive(Default)]
pub(crate) struct Idempotency {
    keys: Mutex<Keys>,
}

/// A write under way under a key. Dropped without an answer, it lets the key be used again.
pub(crate) struct Attempt<'a> {
    all: &'a Idempotency,
    key: Option<Hash>,
}

/// What a key calls for.
pub(crate) enum Begin<'a> {
    Go(Attempt<'a>),
    /// The same request was answered before, if it has the same body.
    Again(First),
}

/// The hash of a request's key, of one request in one collection and one token; none where it has none.
pub(crate) fn key(headers: &HeaderMap, request: &str) -> Result<Option<Hash>, Problem> {
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    if key.is_empty() || key.len() > LONGEST {
        return Err(Problem::limit(
            StatusCode::BAD_REQUEST,
            "Idempotency-Key in bytes, at least one",
            LONGEST as u64,
            Some(key.len() as u64),
        ));
    }
    let token = headers
        .get(header::AUTHORIZATION)
        .map_or(&[][..], |token| token.as_bytes());
    let mut hasher = Sha256::new();
    for part in [request.as_bytes(), token, key.as_bytes()] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Ok(Some(hasher.finalize().into()))
}

impl Idempotency {
    /// Takes note of a request by its key. Without a key it is done in any case.
    pub(crate) fn begin(&self, key: Option<Hash>) -> Result<Begin<'_>, Problem> {
        let Some(key) = key else {
            return Ok(Begin::Go(Attempt { all: self, key: None }));
        };
        let lost = |_| Problem::busy("the list of idempotency keys is lost");
        let mut keys = self.keys.lock().map_err(lost)?;
        match keys.states.get(&key) {
            Some(State::InFlight) => {
                return Err(Problem::new(
                    StatusCode::CONFLICT,
                    "the first request with this Idempotency-Key is still under way",
                ));
            }
            Some(State::Answered(first)) => return Ok(Begin::Again(first.clone())),
            None => {}
        }
        keys.states.insert(key, State::InFlight);
        keys.order.push_back(key);
        keys.forget();
        Ok(Begin::Go(Attempt {
            all: self,
            key: Some(key),
        }))
    }
}

impl Attempt<'_> {
    /// Remembers the answer to a body.
    pub(crate) fn answered(mut self, body: Hash, reply: &Reply) {
        if let Some(key) = self.key.take()
            && let Ok(mut keys) = self.all.keys.lock()
            && let Some(state) = keys.states.get_mut(&key)
        {
            *state = State::Answered(First {
                body,
                reply: reply.clone(),
            });
            keys.bytes += reply.body.len();
            keys.forget();
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key
            && let Ok(mut keys) = self.all.keys.lock()
        {
            keys.states.remove(&key);
            keys.order.retain(|other| *other != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_for_one_body_and_one_answer() {
        let all = Idempotency::default();
        let mut headers = HeaderMap::new();
        headers.insert("idempotency-key", "k".parse().unwrap());
        let of = |headers: &HeaderMap| key(headers, "POST /p").unwrap();
        let status = |body: u8| match all.begin(of(&headers)) {
            Ok(Begin::Go(_)) => 0,
            Ok(Begin::Again(first)) => first
                .again(&[body; 32])
                .map_or_else(|problem| problem.status, |reply| reply.status.as_u16()),
            Err(problem) => problem.status,
        };
        let Ok(Begin::Go(attempt)) = all.begin(of(&headers)) else {
            panic!("a first request")
        };
        assert_eq!((status(1), status(2)), (409, 409));
        attempt.answered([1; 32], &Reply::empty(StatusCode::NO_CONTENT));
        assert_eq!((status(1), status(2)), (204, 422));
        let mut other = HeaderMap::new();
        other.insert("idempotency-key", "l".parse().unwrap());
        let fails = || all.begin(of(&other)).is_ok();
        assert!(fails() && fails(), "a request that failed leaves its key free");
        assert_ne!(of(&headers), key(&headers, "DELETE /p").unwrap());
    }
}
