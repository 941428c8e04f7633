//! The file descriptors that the system grants: as many connections as fit beside the files of the collections.

use serde_json::json;

use crate::log::Log;

/// Descriptors for all else: files, further seats.
const OTHERS: u64 = 512;

/// Asks the system for as many as it gives, and tells how many of `wanted` connections it has room for.
pub(crate) fn room(wanted: usize, log: Log) -> usize {
    let Some(granted) = granted() else {
        return wanted;
    };
    let room = granted.saturating_sub(OTHERS).max(granted / 4).max(1);
    let room = usize::try_from(room).unwrap_or(wanted).min(wanted);
    if room < wanted {
        let what = json!({"descriptors": granted, "connections": room, "wanted": wanted});
        log.error("the system grants too few file descriptors", what);
    }
    room
}

/// None where there is no limit.
#[cfg(unix)]
fn granted() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Some systems give less than they say is the most; then it stays as it was.
    let _as_before = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
fn granted() -> Option<u64> {
    None
}
