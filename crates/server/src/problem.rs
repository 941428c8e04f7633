//! Errors as problem objects (RFC 9457).

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use twinprint_collection::CollectionError;
use utoipa::ToSchema;

use crate::import_report::ImportReport;

/// The reason why a request failed (RFC 9457).
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The standard name of the status.
    pub(crate) title: String,
    /// A description of the error, and how to fix it.
    pub(crate) detail: String,
    /// The limit that was exceeded; absent if the problem is not about a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
    /// The value that exceeded the limit, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) got: Option<u64>,
    /// For an import that failed: the report of the lines that were imported before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) import: Option<Box<ImportReport>>,
}

/// The detail of a problem. It is attached to the response, so that it can be logged.
#[derive(Clone)]
pub(crate) struct ProblemDetail(pub(crate) String);

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status: status.as_u16(),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            detail: detail.into(),
            limit: None,
            got: None,
            import: None,
        }
    }

    /// Makes a problem about an exceeded limit. `quantity` names the limited quantity, with its unit.
    pub(crate) fn limit(status: StatusCode, quantity: &str, limit: u64, got: Option<u64>) -> Self {
        Self {
            limit: Some(limit),
            got,
            ..Self::new(status, format!("{quantity}: at most {limit} allowed"))
        }
    }

    /// Adds the report of an import that ended early.
    pub(crate) fn with_import(self, report: ImportReport) -> Self {
        Self {
            import: Some(Box::new(report)),
            ..self
        }
    }

    /// Makes a problem with status 422: the request is valid JSON, but contains an invalid value.
    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// Makes a problem with status 503 and the header `Retry-After`.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// Makes a problem with status 429 and the header `Retry-After`.
    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail)
    }
}

impl From<CollectionError> for Problem {
    fn from(error: CollectionError) -> Self {
        let status = match &error {
            CollectionError::NotThere { .. }
            | CollectionError::NoDocument { .. }
            | CollectionError::NoGroup(_)
            | CollectionError::NoStory(_)
            | CollectionError::NoStories => StatusCode::NOT_FOUND,
            CollectionError::Invalid(_) | CollectionError::EmptyText | CollectionError::Limit { .. } => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            CollectionError::NotEmpty { .. } | CollectionError::InUse { .. } => StatusCode::CONFLICT,
            CollectionError::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
            CollectionError::ReadOnly { .. } | CollectionError::Closed | CollectionError::Io { .. } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let (limit, got) = match &error {
            CollectionError::Limit { limit, got, .. } => (Some(*limit), Some(*got)),
            CollectionError::Busy { waiting } => (None, Some(*waiting)),
            _ => (None, None),
        };
        Self {
            limit,
            got,
            ..Self::new(status, error.to_string())
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let is_temporary = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        );
        let detail = ProblemDetail(self.detail.clone());
        let mut response = (status, Json(self)).into_response();
        response.extensions_mut().insert(detail);
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if is_temporary {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
