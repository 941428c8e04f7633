//! The results of a dedup run as data: `report.json`, and the rows of `clusters.jsonl`, `pairs.jsonl` and `rejects.jsonl`.
//!
//! `dedup` writes them; anything that shows a finished run reads them back with this module alone.

mod choice;
mod parts;
mod read;
mod report;
mod rows;

pub use choice::Choice;
pub use parts::PartsReport;
pub use read::{ResultError, RowReader};
pub use report::{
    ClusterCounts, DamagedFile, DocumentReport, HotRowReport, InputCounts, LargeCluster, NotTaken,
    OrderReport, PairReport, PlanReport, RadiusReport, RecordCounts, Report, RunReport, SearchCounts,
    StageReport,
};
pub use rows::{ClusterRow, PairRow, RejectRow};
