//! Messages about an index that is not exact.

use twinprint::plan::Recall;

/// The largest radius for which the recall at every distance is listed.
const LISTED_RADIUS: u32 = 8;

/// Describes the recall for radius `k`: at every distance, or only at the radius if there are many. `recalls` is that of
/// each distance from 0 to `k`.
pub(super) fn described(k: u32, recalls: &[Recall]) -> String {
    let first = if k <= LISTED_RADIUS { k.min(1) } else { k };
    let shares = (0..=k)
        .zip(recalls)
        .skip(first as usize)
        .map(|(distance, recall)| {
            let about = if recall.is_estimated() { "about " } else { "" };
            format!("{about}{} at distance {distance}", percent(recall.share))
        });
    let shares = shares.collect::<Vec<_>>().join(", ");
    format!("not exact: queries find {shares} of the fingerprints")
}

/// A share in per cent, rounded down, so that 100 % stands for all.
fn percent(share: f64) -> String {
    format!("{:.2} %", (share * 1e4).floor() / 1e2)
}
