//! The `limit` parameter of routes that return lists.

use axum::http::StatusCode;

use crate::problem::Problem;

/// Maximum rows of one page of a list.
const MAX_ROWS: u64 = 1000;

/// The number of rows to return: the `limit` of the request, or `default`.
///
/// # Errors
/// 422 unless the limit is between 1 and 1000.
pub(crate) fn row_limit(requested: Option<u64>, default: usize) -> Result<usize, Problem> {
    match requested {
        None => Ok(default),
        Some(rows) if (1..=MAX_ROWS).contains(&rows) => Ok(rows as usize),
        Some(rows) => Err(Problem::limit(
            StatusCode::UNPROCESSABLE_ENTITY,
            "limit, at least 1",
            MAX_ROWS,
            Some(rows),
        )),
    }
}
