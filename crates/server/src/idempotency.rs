//! `Idempotency-Key`: a repeated write gets the first answer and is not executed again
//! (draft-ietf-httpapi-idempotency-key-header).
//!
//! The latest keys and answers are kept in memory. After a key has expired, or after a restart, the document id makes a
//! repeat harmless: it is an update that changes nothing. A failed request releases its key.
//!
//! A key is bound to the hash of the body. The hash of an import is known at its end only; until then the key is in
//! progress, whatever a second request sends.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::problem::Problem;

/// Maximum keys in memory.
const MAX_KEYS: usize = 4096;
/// Maximum bytes of a key.
const MAX_KEY_BYTES: usize = 255;
/// Maximum bytes of all answers in memory.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// The SHA-256 hash of a key or of a body.
pub(crate) type Hash = [u8; 32];

/// An answer that can be sent more than once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReplayableAnswer {
    status: StatusCode,
    /// JSON, or empty.
    body: Vec<u8>,
}

impl ReplayableAnswer {
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

/// The first request with a key: the hash of its body, and its answer.
#[derive(Clone)]
pub(crate) struct FirstRequest {
    body: Hash,
    answer: ReplayableAnswer,
}

impl FirstRequest {
    /// The answer for a repeat with the same body.
    ///
    /// # Errors
    /// 422 if the body differs.
    pub(crate) fn replay(self, body: &Hash) -> Result<ReplayableAnswer, Problem> {
        if self.body == *body {
            return Ok(self.answer);
        }
        Err(Problem::unprocessable(
            "this Idempotency-Key was used with another body",
        ))
    }
}

#[derive(Default)]
struct KeyTable {
    states: HashMap<Hash, KeyState>,
    /// Keys, the oldest first.
    order: VecDeque<Hash>,
    answer_bytes: usize,
}

impl KeyTable {
    /// Drops the oldest keys until both limits are met.
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

/// The recent idempotency keys with their answers.
#[derive(Default)]
pub(crate) struct IdempotencyKeys {
    table: Mutex<KeyTable>,
}

/// A write in progress under a key. Dropping it without an answer releases the key.
pub(crate) struct Attempt<'a> {
    keys: &'a IdempotencyKeys,
    key: Option<Hash>,
}

/// The result of looking up a key.
pub(crate) enum KeyLookup<'a> {
    /// The request is the first one: execute it.
    Execute(Attempt<'a>),
    /// A request with this key was answered before: replay its answer if the body is the same.
    Replay(FirstRequest),
}

/// The hash of a request's key, together with the request and its token. `None` if the request has no key.
pub(crate) fn hash_key(headers: &HeaderMap, request: &str) -> Result<Option<Hash>, Problem> {
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(Problem::limit(
            StatusCode::BAD_REQUEST,
            "Idempotency-Key in bytes, at least one",
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
    /// Looks up a key and registers it if it is new. A request without a key is always executed.
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
        let poisoned = |_| Problem::busy("the idempotency keys are lost; restart the service");
        let mut table = self.table.lock().map_err(poisoned)?;
        match table.states.get(&key) {
            Some(KeyState::InProgress) => {
                return Err(Problem::new(
                    StatusCode::CONFLICT,
                    "the first request with this Idempotency-Key is still in progress",
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
    /// Stores the answer to a request whose body has the hash `body`.
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
