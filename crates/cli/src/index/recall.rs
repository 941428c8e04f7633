//! Messages about an index that is not exact.

use std::ops::RangeInclusive;

/// The largest radius for which the recall at every distance is listed.
const LISTED_RADIUS: u32 = 8;

/// The distances whose recall is listed for radius `k`: all, or only the radius if there are many.
pub(super) fn distances(k: u32) -> RangeInclusive<u32> {
    if k <= LISTED_RADIUS { k.min(1)..=k } else { k..=k }
}

/// Describes the recall by distance, for radius `k`.
pub(super) fn described(k: u32, recall: impl Fn(u32) -> f64) -> String {
    let shares = distances(k).map(|distance| format!("{} at distance {distance}", percent(recall(distance))));
    let shares = shares.collect::<Vec<_>>().join(", ");
    format!("not exact: queries find {shares} of the fingerprints")
}

/// A share in per cent, rounded down, so that 100 % stands for all.
pub(super) fn percent(share: f64) -> String {
    format!("{:.2} %", (share * 1e4).floor() / 1e2)
}
