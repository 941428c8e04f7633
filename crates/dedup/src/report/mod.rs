//! The report of a run: `report.json`, and for people `report.html` and `report.md`.
//!
//! The report depends on input, options and version only, except for the `run` object. That object, and the end of the pages, have the
//! times, the memory, the machine and the plan that was made for it.

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
