//! The header `Idempotency-Key`: if a client repeats a write, it gets the answer to the first request, and the write is
//! not executed again (draft-ietf-httpapi-idempotency-key-header).
//!
//! The latest keys and their answers are kept in memory. After a key has expired, or after a restart of the service, a
//! repeated write is executed again. That is harmless, because a document with the same id and text is an update that
//! changes nothing. If a request fails, its key can be used again.
//!
//! A key is bound to the hash of the request's body. The hash of an import is known only at its end. Until then, every
//! other request with the key is refused, whatever its body is.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::problem::Problem;

/// The maximum number of keys in memory.
const MAX_KEYS: usize = 4096;
/// The maximum length of a key in bytes.
const MAX_KEY_BYTES: usize = 255;
/// The maximum total size of all answers in memory, in bytes.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// The SHA-256 hash of a key or of a body.
pub(crate) type Hash = [u8; 32];

/// An answer that is kept so that it can be sent again to a repeated request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReplayableAnswer {
    status: StatusCode,
    /// The body: JSON, or empty.
    body: Vec<u8>,
}

impl ReplayableAnswer {
    /// Makes an answer with a body in JSON.
    pub(crate) fn json(status: StatusCode, answer: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(answer)
            .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
        Ok(Self { status, body })
    }

    /// Makes an answer without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self {
            status,
            body: Vec::new(),
        }
    }
}

impl IntoResponse for ReplayableAnswer {
    fn into_response(self) -> Response {
        if self.body.is_empty() {
            return self.status.into_response();
        }
        let json = HeaderValue::from_static("application/json");
        (self.status, [(header::CONTENT_TYPE, json)], Body::from(self.body)).into_response()
    }
}

enum KeyState {
    InProgress,
    Answered(FirstRequest),
}

/// The first request with a key: the hash of its body, and the answer that it got.
#[derive(Clone)]
pub(crate) struct FirstRequest {
    body: Hash,
    answer: ReplayableAnswer,
}

impl FirstRequest {
    /// Returns the answer to the first request for a repeated request, whose body has the hash `body`.
    ///
    /// # Errors
    /// 422 if the body differs from that of the first request.
    pub(crate) fn replay(self, body: &Hash) -> Result<ReplayableAnswer, Problem> {
        if self.body == *body {
            return Ok(self.answer);
        }
        Err(Problem::unprocessable(
            "this Idempotency-Key was used before with another body; use a new key for a new request",
        ))
    }
}

#[derive(Default)]
struct KeyTable {
    states: HashMap<Hash, KeyState>,
    /// The keys in the order of their first use, the oldest first.
    order: VecDeque<Hash>,
    answer_bytes: usize,
}

impl KeyTable {
    /// Drops the oldest keys until the limits on keys and on bytes of answers are met.
    fn expire(&mut self) {
        while (self.order.len() > MAX_KEYS || self.answer_bytes > MAX_ANSWER_BYTES)
            && let Some(oldest) = self.order.pop_front()
        {
            if let Some(KeyState::Answered(first)) = self.states.remove(&oldest) {
                self.answer_bytes -= first.answer.body.len();
            }
        }
    }
}

/// The recently used idempotency keys with their answers.
#[derive(Default)]
pub(crate) struct IdempotencyKeys {
    table: Mutex<KeyTable>,
}

/// A write that is being executed under a key. If it is dropped without an answer, the key can be used again.
pub(crate) struct Attempt<'a> {
    keys: &'a IdempotencyKeys,
    key: Option<Hash>,
}

/// The result of looking up the key of a request.
pub(crate) enum KeyLookup<'a> {
    /// This is the first request with the key, so it must be executed.
    Execute(Attempt<'a>),
    /// An earlier request with this key was answered. If its body was the same, its answer is sent again.
    Replay(FirstRequest),
}

/// Hashes the key of a request together with its token and with `request`, which names the operation. `None` if the
/// request has no key.
pub(crate) fn hash_key(headers: &HeaderMap, request: &str) -> Result<Option<Hash>, Problem> {
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(Problem::limit(
            StatusCode::BAD_REQUEST,
            "Idempotency-Key in bytes (at least 1)",
            MAX_KEY_BYTES as u64,
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

impl IdempotencyKeys {
    /// Looks up a key, and registers it as in progress if it is new. A request without a key is always executed.
    ///
    /// # Errors
    /// 409 while the first request with the key is in progress.
    pub(crate) fn begin(&self, key: Option<Hash>) -> Result<KeyLookup<'_>, Problem> {
        let Some(key) = key else {
            return Ok(KeyLookup::Execute(Attempt {
                keys: self,
                key: None,
            }));
        };
        let poisoned =
            |_| Problem::busy("the idempotency keys are lost after an internal error; restart the service");
        let mut table = self.table.lock().map_err(poisoned)?;
        match table.states.get(&key) {
            Some(KeyState::InProgress) => {
                return Err(Problem::new(
                    StatusCode::CONFLICT,
                    "the first request with this Idempotency-Key is still in progress; retry after it has ended",
                ));
            }
            Some(KeyState::Answered(first)) => return Ok(KeyLookup::Replay(first.clone())),
            None => {}
        }
        table.states.insert(key, KeyState::InProgress);
        table.order.push_back(key);
        table.expire();
        Ok(KeyLookup::Execute(Attempt {
            keys: self,
            key: Some(key),
        }))
    }
}

impl Attempt<'_> {
    /// Stores the answer to the executed request, whose body has the hash `body`.
    pub(crate) fn store(mut self, body: Hash, answer: &ReplayableAnswer) {
        if let Some(key) = self.key.take()
            && let Ok(mut table) = self.keys.table.lock()
            && let Some(state) = table.states.get_mut(&key)
        {
            *state = KeyState::Answered(FirstRequest {
                body,
                answer: answer.clone(),
            });
            table.answer_bytes += answer.body.len();
            table.expire();
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key
            && let Ok(mut table) = self.keys.table.lock()
        {
            table.states.remove(&key);
            table.order.retain(|other| *other != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers_with(key: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("idempotency-key", key.parse().unwrap());
        headers
    }

    fn hash_of(headers: &HeaderMap) -> Option<Hash> {
        hash_key(headers, "POST /p").unwrap()
    }

    #[test]
    fn a_key_replays_its_answer_for_the_same_body_only() {
        let keys = IdempotencyKeys::default();
        let headers = headers_with("k");
        let status = |body: u8| match keys.begin(hash_of(&headers)) {
            Ok(KeyLookup::Execute(_)) => 0,
            Ok(KeyLookup::Replay(first)) => first
                .replay(&[body; 32])
                .map_or_else(|problem| problem.status, |answer| answer.status.as_u16()),
            Err(problem) => problem.status,
        };
        let Ok(KeyLookup::Execute(attempt)) = keys.begin(hash_of(&headers)) else {
            panic!("a first request")
        };
        assert_eq!((status(1), status(2)), (409, 409));
        attempt.store([1; 32], &ReplayableAnswer::empty(StatusCode::NO_CONTENT));
        assert_eq!((status(1), status(2)), (204, 422));
        assert_ne!(hash_of(&headers), hash_key(&headers, "DELETE /p").unwrap());
    }

    #[test]
    fn a_failed_request_releases_its_key() {
        let keys = IdempotencyKeys::default();
        let headers = headers_with("k");
        let fails = || keys.begin(hash_of(&headers)).is_ok();
        assert!(fails() && fails());
    }
}
