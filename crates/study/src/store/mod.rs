//! What was measured, on disk.
//!
//! ```text
//! RUNS/ID/plan.json        what is to be measured
//!         manifest.json    where: machine, servers, variables, data, statement plans
//!         runs/c03-r2/     one finished run: run.json, response.csv, intervals.csv, sense.csv,
//!         runs/c03-r2.attempt-2/   the same run measured once more, because something disturbed it from
//!                          outside; the less disturbed attempt stands, found anew whenever they are read
//!         written.json     rows written to a server that others use, where any were
//!         summary.json     derived from the runs
//!         report.html      derived from all
//!         lock             held by the process that measures
//! ```
//!
//! A run is written to a folder with another name and renamed when it is whole, and files are written
//! beside and renamed: a kill at any moment loses at most the run in progress.

mod attempts;
pub(crate) mod caveats;
mod error;
mod estimates;
mod folder;
pub mod format;
mod plan;
mod readers;
mod run;
mod summary;

pub(crate) use attempts::judge_lateness;
pub use attempts::{Attempt, add};
pub use caveats::Caveats;
pub use error::{GOES_ON, StoreError};
pub use folder::{Listed, StudyFolder, attempt_name, list, resolve, resolve_begun, run_name};
pub(crate) use readers::write_text;
pub use readers::{Distribution, IntervalRow, RunFolder, Series, write_tables};
