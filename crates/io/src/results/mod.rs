//! The results of a dedup run as data: `report.json`, and the rows of `clusters.jsonl`, `pairs.jsonl` and `rejects.jsonl`.
//!
//! The main job writes them. Programs that show a finished run read them with this module alone.

mod parts;
mod radius_choice;
mod ratio;
mod read;
mod report;
mod rows;

pub use parts::PartsReport;
pub use radius_choice::RadiusChoice;
pub use ratio::Ratio;
pub use read::{ResultError, RowReader};
pub use report::{
    ClusterCounts, DamagedFile, DocumentReport, HotRowReport, InputCounts, LargeCluster, OrderReport,
    PairReport, PlanReport, RadiusReport, RecordCounts, Report, RunReport, SearchCounts, StageReport,
    UnreadParts,
};
pub use rows::{ClusterRow, PairRow, RejectRow};
