//! The throttling study, as data: what was planned and measured, and what it comes to. Pure but for `folder`.
//!
//! `record` is what stands on disk, `plan` which points are measured in which order, `figures` which figures a point
//! has, `settling` whether a limit came to rest, `summary` means over repeats, `verdict` what they say of the published finding, `words`
//! in which sentences, `table` the terminal's view,
//! `json` that of programs, `folder` the files.

pub mod figures;
#[cfg(test)]
pub mod fixture;
pub mod folder;
pub mod json;
pub mod plan;
pub mod record;
pub mod settling;
pub mod summary;
pub mod table;
pub mod verdict;
pub mod words;
