//! What published studies share beside the harness: where they work, what they need of the program around them, and why they
//! cannot go on.
//!
//! A study starts private servers and clients itself. Guards and hosts of shared storage are processes of our own program, which
//! [`Program`] stands for, so that no study knows flags or files of the command line.

mod dataset;
mod error;
mod host_file;
mod kept;
mod machine;
mod periods;
mod program;
mod scratch;
mod server;
mod setting;
mod watch;
mod workplace;

pub(crate) use dataset::{begun, closed, fill, workload, workload_of_file};
pub(crate) use error::While;
pub use error::{AnyError, PublishedError, Result};
pub use host_file::{DiskFile, HostFile, WindowFile};
pub use kept::{AnyStudy, kind, of_plan, stored};
pub use machine::MachineRecord;
pub(crate) use periods::{Periods, of_hosts};
pub use program::{DiskStatus, Guard, GuardPlan, Host, HostStatus, Program, Tick};
pub(crate) use scratch::Scratch;
pub(crate) use server::PrivateServer;
pub(crate) use setting::{Number, Numbers, setting};
pub(crate) use watch::{Watch, timed};
pub(crate) use workplace::not_running;
pub use workplace::{At, AtWork, Bed, Workplace};
