//! What a run found: `report.json`, and for people `report.html` and `report.md`.
//!
//! Everything but the `run` object depends on input, options and version alone; times, memory, the machine and the plan made for
//! it live there, and at the end of the pages.

mod chart;
mod collect;
mod difference;
mod flow;
mod markdown;
mod page;
mod shown;
mod write;

pub(crate) use shown::Shown;
pub(crate) use write::write;
