//! Bodies of requests: read within limits, unpacked within limits, parsed.
//!
//! Reading waits for the network and is asynchronous; unpacking and parsing take a processor and belong to the workers.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::App;
use crate::limits::Limits;
use crate::problem::Problem;

/// What a small body may unpack to in any case.
const ANY_RATIO: usize = 1 << 20;
/// Bytes of one permit of [`Room`].
const UNIT: usize = 1 << 10;

/// Memory for the bodies of all requests together.
pub(crate) struct Room {
    units: Arc<Semaphore>,
    bytes: usize,
}

/// A part of the room, given back when it is dropped.
#[derive(Default)]
pub(crate) struct Held(Option<OwnedSemaphorePermit>);

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            units: Arc::new(Semaphore::new(units)),
            bytes,
        }
    }

    /// Makes room for so many bytes more.
    pub(crate) fn take(&self, held: &mut Held, bytes: usize) -> Result<(), Problem> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let full = |_| Problem {
            limit: Some(self.bytes as u64),
            ..Problem::busy(
                "the bodies of all requests fill the memory there is for them; try again in a moment",
            )
        };
        let more = Arc::clone(&self.units)
            .try_acquire_many_owned(units)
            .map_err(full)?;
        match &mut held.0 {
            Some(held) => held.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Plain,
    Gzip,
    Zstd,
}

/// A body as it was sent.
pub(crate) struct Sent {
    bytes: Vec<u8>,
    coding: Coding,
    /// Bytes it may unpack to.
    most: usize,
    _held: Held,
}

impl Sent {
    /// Reads a body that must say it is JSON: what a web page of another site can send without asking does not say so.
    pub(crate) async fn receive(app: &App, headers: &HeaderMap, body: Body) -> Result<Self, Problem> {
        require_type(headers, "application/json")?;
        Self::read(app, headers, body).await
    }

    /// As [`receive`](Self::receive), but there may be no body at all.
    pub(crate) async fn receive_any(app: &App, headers: &HeaderMap, body: Body) -> Result<Self, Problem> {
        let sent = Self::read(app, headers, body).await?;
        if !sent.bytes.is_empty() {
            require_type(headers, "application/json")?;
        }
        Ok(sent)
    }

    /// Of a request that has no body.
    pub(crate) fn nothing() -> Self {
        Self {
            bytes: Vec::new(),
            coding: Coding::Plain,
            most: 0,
            _held: Held::default(),
        }
    }

    async fn read(app: &App, headers: &HeaderMap, body: Body) -> Result<Self, Problem> {
        let limits = &app.limits;
        let coding = coding(headers)?;
        if let Some(length) = declared(headers)
            && length > limits.body as u64
        {
            return Err(too_large("body in bytes", limits.body, Some(length)));
        }
        let (bytes, held) = read(body, limits, &app.room).await?;
        let most = limits
            .unpacked
            .min((bytes.len().saturating_mul(limits.ratio)).max(ANY_RATIO));
        Ok(Self {
            bytes,
            coding,
            most,
            _held: held,
        })
    }

    /// The bytes as they were sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Unpacks and parses; the parser bounds the depth.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        match self.coding {
            Coding::Plain => parse(&self.bytes),
            coding => parse(&unpack(&self.bytes, coding, self.most)?),
        }
    }

    /// Whether parsing takes no time to speak of.
    pub(crate) fn is_short(&self) -> bool {
        matches!(self.coding, Coding::Plain) && self.bytes.len() <= 1024
    }

    /// As [`json`](Self::json), where no body stands for the default.
    pub(crate) fn json_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, Problem> {
        if self.bytes.is_empty() {
            Ok(T::default())
        } else {
            self.json()
        }
    }
}

/// Parses JSON; the parser bounds its depth.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        let status = if error.is_data() {
            StatusCode::UNPROCESSABLE_ENTITY
        } else {
            StatusCode::BAD_REQUEST
        };
        // A value that does not fit is quoted, however long it is.
        let said: String = error.to_string().chars().take(300).collect();
        let place = if error.is_data() {
            place::<T>(bytes)
        } else {
            String::new()
        };
        Problem::new(status, format!("the body{place}: {said}"))
    })
}

/// Where in the JSON the value is that does not fit, such as `: documents[3].text`. A second look, which those that are right do not pay for.
fn place<T: DeserializeOwned>(bytes: &[u8]) -> String {
    let mut from = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, T>(&mut from) {
        Err(error) if error.path().iter().next().is_some() => {
            let path: String = error.path().to_string().chars().take(200).collect();
            format!(": {path}")
        }
        _ => String::new(),
    }
}

/// Refuses a body of another media type.
pub(crate) fn require_type(headers: &HeaderMap, expected: &str) -> Result<(), Problem> {
    let sent = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = sent
        .and_then(|value| value.split(';').next())
        .map_or("", str::trim);
    if essence.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        format!("send Content-Type: {expected}"),
    ))
}

fn coding(headers: &HeaderMap) -> Result<Coding, Problem> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let (first, second) = (codings.next(), codings.next());
    let refuse = || {
        Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Content-Encoding: one of gzip and zstd, once, or none",
        ))
    };
    if second.is_some() {
        return refuse();
    }
    let first = first.map(|value| value.to_str().unwrap_or("?").trim().to_ascii_lowercase());
    match first.as_deref() {
        None | Some("identity") => Ok(Coding::Plain),
        Some("gzip" | "x-gzip") => Ok(Coding::Gzip),
        Some("zstd") => Ok(Coding::Zstd),
        Some(_) => refuse(),
    }
}

fn declared(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large(what: &str, limit: usize, got: Option<u64>) -> Problem {
    Problem::limit(StatusCode::PAYLOAD_TOO_LARGE, what, limit as u64, got)
}

/// The problem of a body that comes too slowly.
pub(crate) fn too_slow(time: Duration) -> Problem {
    Problem::limit(
        StatusCode::REQUEST_TIMEOUT,
        "seconds until the body is there",
        time.as_secs(),
        None,
    )
}

/// The problem of a body that is cut off.
pub(crate) fn cut_off(error: &axum::Error) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, format!("the body ended early: {error}"))
}

async fn read(mut body: Body, limits: &Limits, room: &Room) -> Result<(Vec<u8>, Held), Problem> {
    let gather = async {
        let mut bytes = Vec::new();
        let mut held = Held::default();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.map_err(|error| cut_off(&error))?.into_data() {
                if bytes.len() + data.len() > limits.body {
                    return Err(too_large("body in bytes", limits.body, None));
                }
                room.take(&mut held, data.len())?;
                bytes.extend_from_slice(&data);
            }
        }
        Ok((bytes, held))
    };
    let time = limits.body_time;
    tokio::time::timeout(time, gather)
        .await
        .unwrap_or_else(|_| Err(too_slow(time)))
}

fn unpack(packed: &[u8], coding: Coding, most: usize) -> Result<Vec<u8>, Problem> {
    let bad = |error: std::io::Error| {
        Problem::new(
            StatusCode::BAD_REQUEST,
            format!("the body cannot be unpacked: {error}"),
        )
    };
    let mut bytes = Vec::new();
    let more = most as u64 + 1;
    match coding {
        Coding::Plain => bytes.extend_from_slice(packed),
        Coding::Gzip => {
            flate2::read::GzDecoder::new(packed)
                .take(more)
                .read_to_end(&mut bytes)
                .map_err(bad)?;
        }
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(bad)?;
            // 8 MiB, as RFC 9659 asks of HTTP.
            decoder.window_log_max(23).map_err(bad)?;
            decoder.take(more).read_to_end(&mut bytes).map_err(bad)?;
        }
    }
    if bytes.len() > most {
        return Err(too_large("unpacked body in bytes", most, None));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_is_bounded_and_given_back() {
        let room = Room::new(10 * UNIT);
        let (mut one, mut other) = (Held::default(), Held::default());
        assert!(room.take(&mut one, 4 * UNIT).is_ok() && room.take(&mut one, 1).is_ok());
        let refused = room.take(&mut other, 6 * UNIT).unwrap_err();
        assert_eq!((refused.status, refused.limit), (429, Some(10 * UNIT as u64)));
        assert!(room.take(&mut other, 5 * UNIT).is_ok());
        drop(one);
        assert!(room.take(&mut other, 5 * UNIT).is_ok());
    }
}
