//! The system's limit on open file descriptors, which bounds the number of connections.

use serde_json::json;

use crate::log::Log;

/// The number of file descriptors that connections do not use. They remain for the files of collections and for
/// monitoring connections.
const RESERVED_DESCRIPTORS: u64 = 512;

/// Raises the process's limit on file descriptors as far as the system allows. Returns how many of the `wanted`
/// connections the new limit permits.
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
        log.error(
            "the system allows too few file descriptors for the wanted connections",
            fields,
        );
    }
    capacity
}

/// Raises the soft limit to the hard limit. Returns the new limit; `None` if there is no limit.
#[cfg(unix)]
fn raise_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Some systems refuse to set the soft limit to their own hard limit. The soft limit then stays as it was.
    let _unchanged = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
fn raise_limit() -> Option<u64> {
    None
}
