//! The limit of file descriptors, which bounds the number of connections.

use serde_json::json;

use crate::log::Log;

/// Descriptors kept free for files of the collections and for monitoring connections.
const RESERVED_DESCRIPTORS: u64 = 512;

/// Raises the soft limit of descriptors to the hard limit. Returns how many of the `wanted` connections fit into it.
pub(crate) fn connection_capacity(wanted: usize, log: Log) -> usize {
    let Some(granted) = raise_limit() else {
        return wanted;
    };
    let available = granted
        .saturating_sub(RESERVED_DESCRIPTORS)
        .max(granted / 4)
        .max(1);
    let capacity = usize::try_from(available).unwrap_or(wanted).min(wanted);
    if capacity < wanted {
        let fields = json!({"descriptors": granted, "connections": capacity, "wanted": wanted});
        log.error("the system grants too few file descriptors", fields);
    }
    capacity
}

/// The limit after raising it. `None` if there is no limit.
#[cfg(unix)]
fn raise_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Some systems refuse their own hard limit; the soft limit then stays as it was.
    let _unchanged = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
fn raise_limit() -> Option<u64> {
    None
}
