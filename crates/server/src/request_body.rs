//! Reads request bodies. This is the only place that limits their media type, size, time and memory.
//!
//! A body is read asynchronously, because reading waits for the network. Decompressing and parsing are computations,
//! which belong to the worker pool.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::body_memory::{BodyMemory, MemoryReservation};
use crate::content_coding::ContentCoding;
use crate::limits::Limits;
use crate::problem::Problem;

/// A body may decompress to this number of bytes at any ratio.
const RATIO_EXEMPT_BYTES: usize = 1 << 20;
/// The maximum size of a body that a thread that serves connections may parse, in bytes.
const SHORT_BODY_BYTES: usize = 1024;
/// The maximum length of a JSON parser's message in an answer, in characters. The message quotes the invalid value,
/// which may be long.
const MAX_QUOTED_CHARS: usize = 300;
/// The maximum length of a JSON path in an answer, in characters.
const MAX_PATH_CHARS: usize = 200;

/// A request body as it was sent, with the memory that is reserved for it.
pub(crate) struct RequestBody {
    bytes: Vec<u8>,
    coding: ContentCoding,
    /// The maximum size after decompression, in bytes.
    max_unpacked_bytes: usize,
    _reservation: MemoryReservation,
}

impl RequestBody {
    /// Reads a body whose `Content-Type` must be JSON. Web pages of other sites cannot send such a body without
    /// permission.
    pub(crate) async fn receive(app: &App, headers: &HeaderMap, body: Body) -> Result<Self, Problem> {
        require_type(headers, "application/json")?;
        Self::read(app, headers, body).await
    }

    /// Does the same as [`receive`](Self::receive), but accepts an empty body of any type.
    pub(crate) async fn receive_optional(
        app: &App,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Self, Problem> {
        let body = Self::read(app, headers, body).await?;
        if !body.bytes.is_empty() {
            require_type(headers, "application/json")?;
        }
        Ok(body)
    }

    /// Returns an empty body, for requests without one.
    pub(crate) fn empty() -> Self {
        Self {
            bytes: Vec::new(),
            coding: ContentCoding::Identity,
            max_unpacked_bytes: 0,
            _reservation: MemoryReservation::default(),
        }
    }

    async fn read(app: &App, headers: &HeaderMap, body: Body) -> Result<Self, Problem> {
        let limits = &app.limits;
        let coding = ContentCoding::from_headers(headers)?;
        if let Some(length) = declared_length(headers)
            && length > limits.body_bytes as u64
        {
            return Err(too_large(limits.body_bytes, Some(length)));
        }
        let (bytes, reservation) = read_all(body, limits, &app.body_memory).await?;
        let by_ratio = bytes.len().saturating_mul(limits.unpack_ratio);
        Ok(Self {
            max_unpacked_bytes: limits.unpacked_body_bytes.min(by_ratio.max(RATIO_EXEMPT_BYTES)),
            bytes,
            coding,
            _reservation: reservation,
        })
    }

    /// Returns the bytes as they were sent, before decompression.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Decompresses the body and parses it as JSON. The parser limits the nesting depth.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        match self.coding {
            ContentCoding::Identity => parse_json(&self.bytes),
            coding => parse_json(&coding.unpack(&self.bytes, self.max_unpacked_bytes)?),
        }
    }

    /// True if the body is so short that a thread that serves connections may parse it.
    pub(crate) fn is_short(&self) -> bool {
        self.coding == ContentCoding::Identity && self.bytes.len() <= SHORT_BODY_BYTES
    }

    /// Does the same as [`json`](Self::json), but returns the default value for an empty body.
    pub(crate) fn json_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, Problem> {
        if self.bytes.is_empty() {
            Ok(T::default())
        } else {
            self.json()
        }
    }
}

/// Parses a JSON object. The parser limits the nesting depth.
///
/// # Errors
/// 400 if the bytes are not JSON, 422 if the JSON has another structure than `T`.
pub(crate) fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // serde would read an array as the fields of a structure, in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::unprocessable("the body is an array; send a JSON object"));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let message: String = error.to_string().chars().take(MAX_QUOTED_CHARS).collect();
        let (status, path) = if error.is_data() {
            (StatusCode::UNPROCESSABLE_ENTITY, error_path::<T>(bytes))
        } else {
            (StatusCode::BAD_REQUEST, String::new())
        };
        Problem::new(status, format!("the body{path}: {message}"))
    })
}

/// Returns the path of the invalid value, such as `: documents[3].text`. The body is parsed a second time to find it,
/// so that valid bodies do not pay for tracking the path.
fn error_path<T: DeserializeOwned>(bytes: &[u8]) -> String {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Err(error) if error.path().iter().next().is_some() => {
            let path: String = error.path().to_string().chars().take(MAX_PATH_CHARS).collect();
            format!(": {path}")
        }
        _ => String::new(),
    }
}

/// Refuses a body with 415 unless its media type is `expected`.
pub(crate) fn require_type(headers: &HeaderMap, expected: &str) -> Result<(), Problem> {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media_type = value
        .and_then(|value| value.split(';').next())
        .map_or("", str::trim);
    if media_type.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        format!("the media type of the body is not supported; send Content-Type: {expected}"),
    ))
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large(limit: usize, got: Option<u64>) -> Problem {
    Problem::limit(StatusCode::PAYLOAD_TOO_LARGE, "body in bytes", limit as u64, got)
}

/// Returns the problem for a body that was sent too slowly.
pub(crate) fn too_slow(timeout: Duration) -> Problem {
    Problem::limit(
        StatusCode::REQUEST_TIMEOUT,
        "seconds to send the body",
        timeout.as_secs(),
        None,
    )
}

/// Returns the problem for a body that ended before its announced length.
pub(crate) fn cut_off(error: &axum::Error) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        format!("the body ended before it was complete: {error}"),
    )
}

async fn read_all(
    mut body: Body,
    limits: &Limits,
    memory: &BodyMemory,
) -> Result<(Vec<u8>, MemoryReservation), Problem> {
    let read = async {
        let mut bytes = Vec::new();
        let mut reservation = MemoryReservation::default();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.map_err(|error| cut_off(&error))?.into_data() {
                if bytes.len() + data.len() > limits.body_bytes {
                    return Err(too_large(limits.body_bytes, None));
                }
                memory.reserve(&mut reservation, data.len())?;
                bytes.extend_from_slice(&data);
            }
        }
        Ok((bytes, reservation))
    };
    let timeout = limits.body_timeout;
    tokio::time::timeout(timeout, read)
        .await
        .unwrap_or_else(|_| Err(too_slow(timeout)))
}
