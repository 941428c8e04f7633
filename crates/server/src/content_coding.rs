//! `Content-Encoding` of request bodies: gzip or zstd, applied once.

use std::io::{self, Read};

use axum::http::{HeaderMap, StatusCode, header};

use crate::problem::Problem;

/// Base-2 logarithm of the largest zstd window, 8 MiB as RFC 9659 requires for HTTP.
const ZSTD_MAX_WINDOW_LOG: u32 = 23;

/// A content coding that the service accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentCoding {
    Identity,
    Gzip,
    Zstd,
}

impl ContentCoding {
    /// Reads the coding from the headers of a request.
    ///
    /// # Errors
    /// 415 for any other coding, and for more than one.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let (first, second) = (values.next(), values.next());
        let unsupported = || {
            Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Content-Encoding must be gzip or zstd, applied once, or absent",
            ))
        };
        if second.is_some() {
            return unsupported();
        }
        let first = first.map(|value| value.to_str().unwrap_or("?").trim().to_ascii_lowercase());
        match first.as_deref() {
            None | Some("identity") => Ok(Self::Identity),
            Some("gzip" | "x-gzip") => Ok(Self::Gzip),
            Some("zstd") => Ok(Self::Zstd),
            Some(_) => unsupported(),
        }
    }

    /// Decompresses a body to at most `max_bytes`.
    ///
    /// # Errors
    /// 400 if the body is not in this coding, 413 if it is larger.
    pub(crate) fn unpack(self, packed: &[u8], max_bytes: usize) -> Result<Vec<u8>, Problem> {
        let invalid = |error: io::Error| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                format!("the body cannot be decompressed: {error}"),
            )
        };
        let mut bytes = Vec::new();
        // One byte more than allowed, to detect a larger body.
        let read_limit = max_bytes as u64 + 1;
        match self {
            Self::Identity => bytes.extend_from_slice(packed),
            Self::Gzip => {
                flate2::read::GzDecoder::new(packed)
                    .take(read_limit)
                    .read_to_end(&mut bytes)
                    .map_err(invalid)?;
            }
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(invalid)?;
                decoder.window_log_max(ZSTD_MAX_WINDOW_LOG).map_err(invalid)?;
                decoder
                    .take(read_limit)
                    .read_to_end(&mut bytes)
                    .map_err(invalid)?;
            }
        }
        if bytes.len() > max_bytes {
            return Err(Problem::limit(
                StatusCode::PAYLOAD_TOO_LARGE,
                "decompressed body in bytes",
                max_bytes as u64,
                None,
            ));
        }
        Ok(bytes)
    }
}
