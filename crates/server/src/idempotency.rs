//! `Idempotency-Key`: a write that is sent again is answered again and not done again (draft-ietf-httpapi-idempotency-key-header).
//!
//! Keys and answers are remembered in memory, the latest few thousand. Beyond that, and across a restart, the document's own id makes a repeat
//! harmless: it is an update that moves nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use axum::http::{HeaderMap, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::problem::Problem;

/// Keys remembered.
const REMEMBERED: usize = 4096;
/// Bytes of a key at most.
const LONGEST: usize = 255;
/// Bytes of the answers remembered.
const BYTES: usize = 64 << 20;

type Hash = [u8; 32];

enum State {
    InFlight,
    Answered(Vec<u8>),
}

#[derive(Default)]
struct Keys {
    states: HashMap<Hash, (Hash, State)>,
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
            if let Some((_, State::Answered(answer))) = self.states.remove(&oldest) {
                self.bytes -= answer.len();
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
    /// The answer to the same request earlier.
    Again(Vec<u8>),
}

impl Idempotency {
    /// Takes note of a request, by its key (of one path in one collection, and one token) and body. Without a key it is done in any case.
    pub(crate) fn begin(&self, headers: &HeaderMap, path: &str, body: &[u8]) -> Result<Begin<'_>, Problem> {
        let Some(key) = headers.get("idempotency-key") else {
            return Ok(Begin::Go(Attempt { all: self, key: None }));
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
        for part in [path.as_bytes(), token, key.as_bytes()] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let key: Hash = hasher.finalize().into();
        let body: Hash = Sha256::digest(body).into();
        let lost = |_| Problem::busy("the list of idempotency keys is lost");
        let mut keys = self.keys.lock().map_err(lost)?;
        match keys.states.get(&key) {
            Some((first, _)) if *first != body => {
                return Err(Problem::unprocessable(
                    "this Idempotency-Key was used for another body",
                ));
            }
            Some((_, State::InFlight)) => {
                return Err(Problem::new(
                    StatusCode::CONFLICT,
                    "the first request with this Idempotency-Key is still under way",
                ));
            }
            Some((_, State::Answered(answer))) => return Ok(Begin::Again(answer.clone())),
            None => {}
        }
        keys.states.insert(key, (body, State::InFlight));
        keys.order.push_back(key);
        keys.forget();
        Ok(Begin::Go(Attempt {
            all: self,
            key: Some(key),
        }))
    }
}

impl Attempt<'_> {
    /// Remembers the answer.
    pub(crate) fn answered(mut self, answer: &[u8]) {
        if let Some(key) = self.key.take()
            && let Ok(mut keys) = self.all.keys.lock()
            && let Some((_, state)) = keys.states.get_mut(&key)
        {
            *state = State::Answered(answer.to_vec());
            keys.bytes += answer.len();
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
        let status = |body: &[u8]| match all.begin(&headers, "/p", body) {
            Ok(Begin::Go(_)) => 0,
            Ok(Begin::Again(_)) => 200,
            Err(problem) => problem.status,
        };
        let Ok(Begin::Go(attempt)) = all.begin(&headers, "/p", b"body") else {
            panic!("a first request")
        };
        assert_eq!((status(b"body"), status(b"other")), (409, 422));
        attempt.answered(b"answer");
        assert_eq!((status(b"body"), status(b"other")), (200, 422));
        headers.insert("idempotency-key", "l".parse().unwrap());
        let fails = |body: &[u8]| all.begin(&headers, "/p", body).is_ok();
        assert!(
            fails(b"one") && fails(b"two"),
            "a request that failed leaves its key free"
        );
    }
}
