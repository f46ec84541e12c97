//! What was measured, on disk.
//!
//! ```text
//! RUNS/ID/plan.json        what is to be measured
//!         manifest.json    where: machine, servers, variables, data, statement plans
//!         runs/c03-r2/     one finished run: run.json, response.hdr, intervals.csv, sense.csv,
//!                          requests.csv.zst where asked for
//!         summary.json     derived from the runs
//!         report.html      derived from all
//!         lock             held by the process that measures
//! ```
//!
//! A run is written to a folder with another name and renamed when it is whole, and files are written
//! beside and renamed: a kill at any moment loses at most the run in progress.

mod folder;
pub mod format;
mod tables;

pub use folder::{Listed, StoreError, StudyFolder, list, resolve};
pub use tables::{RunTables, SenseRow};
