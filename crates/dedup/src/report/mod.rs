//! The report of a run: `report.json`, and for people `report.html` and `report.md`.
//!
//! The report depends on input, options and version only, except for the `run` object and the ends of both pages. These
//! have the times, the memory, the machine, and the plan that was chosen for the machine.

mod chart;
mod collect;
mod difference;
mod examples;
mod flow;
mod markdown;
mod page;
mod shown;
mod write;

pub(crate) use examples::{ExampleGroup, Examples, ItemPair};
pub(crate) use shown::{Shown, ShownItems, ShownMembers};
pub(crate) use write::write;
