//! The results of a dedup run as data: `report.json`, and the rows of `clusters.jsonl`, `pairs.jsonl` and
//! `rejects.jsonl`.
//!
//! The crate `twinprint-dedup` writes these files. A program that displays a finished run needs only this module.

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
    PairReport, PlanReport, RadiusReport, RecallReport, RecordCounts, Report, RunReport, SearchCounts,
    StageReport, UnreadParts,
};
pub use rows::{ClusterRow, PairRow, RejectRow};
