//! The `limit` parameter of routes that return lists.

use axum::http::StatusCode;

use crate::problem::Problem;

/// The maximum number of rows on one page of a list.
const MAX_ROWS: u64 = 1000;

/// Returns the number of rows on a page: the `limit` of the request, or `default` if the request has none.
///
/// # Errors
/// 422 if the limit is not from 1 to 1000.
pub(crate) fn row_limit(requested: Option<u64>, default: usize) -> Result<usize, Problem> {
    match requested {
        None => Ok(default),
        Some(rows) if (1..=MAX_ROWS).contains(&rows) => Ok(rows as usize),
        Some(rows) => Err(Problem::limit(
            StatusCode::UNPROCESSABLE_ENTITY,
            "limit (at least 1)",
            MAX_ROWS,
            Some(rows),
        )),
    }
}
