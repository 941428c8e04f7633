//! The `Content-Encoding` of request bodies: none, gzip or zstd. More than one coding is refused.

use std::io::{self, Read};

use axum::http::{HeaderMap, StatusCode, header};

use crate::problem::Problem;

/// The base-2 logarithm of the largest zstd window that is accepted: 8 MiB, as RFC 9659 requires for HTTP.
const ZSTD_MAX_WINDOW_LOG: u32 = 23;

/// A content coding of request bodies that the service accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentCoding {
    Identity,
    Gzip,
    Zstd,
}

impl ContentCoding {
    /// Reads the content coding from the headers of a request.
    ///
    /// # Errors
    /// 415 if the coding is not supported, or if several codings are applied.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let (first, second) = (values.next(), values.next());
        let unsupported = || {
            Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the Content-Encoding is not supported; send gzip or zstd, applied once, or no Content-Encoding",
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

    /// Decompresses a body, which may have at most `max_bytes` after decompression.
    ///
    /// # Errors
    /// 400 if the body is not valid in this coding, 413 if it is larger than `max_bytes`.
    pub(crate) fn unpack(self, packed: &[u8], max_bytes: usize) -> Result<Vec<u8>, Problem> {
        let invalid = |error: io::Error| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                format!("the body cannot be decompressed: {error}"),
            )
        };
        let mut bytes = Vec::new();
        // One byte more than allowed is read, so that a larger body is detected.
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
