//! Filters that format values in the HTML and Markdown templates of reports.

pub mod filters;
mod ticked;
mod visible;

pub use ticked::ticked;
pub use visible::visible;
