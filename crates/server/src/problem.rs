//! Errors as RFC 9457 problem objects.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use twinprint_collection::CollectionError;
use utoipa::ToSchema;

use crate::model::Imported;

/// Why a request was not done (RFC 9457).
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The HTTP status.
    pub(crate) status: u16,
    /// What the status means.
    pub(crate) title: String,
    /// What happened, and the way out.
    pub(crate) detail: String,
    /// The limit that was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
    /// What was sent instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) got: Option<u64>,
    /// Of an import: what it had come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) import: Option<Box<Imported>>,
}

/// What happened, for the log.
#[derive(Clone)]
pub(crate) struct Detail(pub(crate) String);

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

    pub(crate) fn limit(status: StatusCode, what: &str, limit: u64, got: Option<u64>) -> Self {
        Self {
            limit: Some(limit),
            got,
            ..Self::new(status, format!("{what}: the limit is {limit}"))
        }
    }

    /// The problem of an import that ended early, with what it had come to.
    pub(crate) fn of_import(self, imported: Imported) -> Self {
        Self {
            import: Some(Box::new(imported)),
            ..self
        }
    }

    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

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
        let wait = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        );
        let detail = Detail(self.detail.clone());
        let mut response = (status, Json(self)).into_response();
        response.extensions_mut().insert(detail);
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if wait {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
