//! A run on disk: the stages of a run whose tables do not fit into memory.
//!
//! Each stage reads the rows of earlier stages from files and writes rows of its own ([`tables`]). A stage is one or more
//! tasks, whose outputs are in [folders](folder) of their own. A task whose output is whole never runs again, so a run that
//! was interrupted resumes after its last complete task.
//!
//! | stage | a task for each | output |
//! |---|---|---|
//! | [`analyse`] | part of the input | documents, classes of equal texts in a slice, canonical texts |
//! | [`classes`] | range of text hashes | classes of equal texts |
//! | [`items`] | run | classes in keep order |
//! | [`against`] | block of items | items that duplicate known documents |
//! | [`parameters`] | run | radius; rows: distinct fingerprints |
//! | [`join`] | two blocks of rows | pairs of rows within the radius |
//! | [`candidates`] | run | candidate pairs |
//! | [`verify`] | two blocks of items | verified pairs |
//! | [`lead`] | run | the leader of each follower |
//! | [`groups`] | run | the decision on each class |
//! | [`recall`] | block of items | the duplicates drawn for a sample of texts |
//! | [`winnow`] | block of texts | fingerprints of parts of texts |
//! | [`shared`] | run | those of them that several texts have |
//! | [`passages`] | run | passages that many texts share |
//! | [`parts`] | two blocks of texts | pairs of partial copies |
//! | [`mod@write`] | run | the output directory |
//!
//! The result equals that of a run in memory: every stage is a function of the rows, the options and the parameters,
//! counts and maxima merge in any order, and leaders depend on the verified pairs and the keep order alone.

mod against;
mod analyse;
mod annotate;
mod archive;
mod bits;
mod candidates;
#[cfg(test)]
mod chunk_tests;
mod classes;
#[cfg(test)]
mod damage_tests;
mod examples;
#[cfg(test)]
mod extension_tests;
mod folder;
mod former;
mod found_parts;
mod groups;
mod hot_list;
mod item_tables;
mod items;
mod job;
mod join;
mod joined;
mod keep_key;
mod lead;
mod manifest;
mod members;
mod memo;
mod outputs;
mod parameters;
mod part_tables;
mod partial;
mod parts;
#[cfg(test)]
mod parts_tests;
mod passages;
mod recall;
mod report;
mod row_blocks;
mod run;
mod shared;
mod shared_index;
mod size;
mod tables;
mod tasks;
#[cfg(test)]
mod tests;
mod text_table;
mod verify;
mod winnow;
mod write;

pub use folder::Stage;
pub(crate) use job::StagedJob;
pub(crate) use members::MEMBER_BYTES;
pub(crate) use run::{StagedInput, largest_part_bytes, refused_option};
pub(crate) use size::{PartCounts, RowCounts, TaskBytes, bytes_of_parts, bytes_of_rows};
pub use tasks::{StageStatus, TaskShare};
