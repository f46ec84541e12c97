//! What published studies share beside the harness: where they work, what they need of the program around them, and why they
//! cannot go on.
//!
//! A study starts private servers and clients itself. Guards and hosts of shared storage are processes of our own program, which
//! [`Program`] stands for, so that no study knows flags or files of the command line.

mod dataset;
mod hosts;
mod kept;
mod program;
mod scratch;
mod setting;

pub(crate) use dataset::{begun, closed, fill, workload, workload_of_file};
pub use hosts::{DiskFile, HostFile, WindowFile};
pub use kept::{AnyStudy, kind, of_plan, stored};
pub(crate) use hosts::{Periods, of_hosts};
pub use program::{
    AnyError, DiskStatus, Guard, GuardPlan, Host, HostStatus, Program, PublishedError, Result, Tick,
};
pub(crate) use program::{Watch, While, timed};
pub use scratch::{At, AtWork, Bed, Workplace};
pub(crate) use scratch::{PrivateServer, Scratch, not_running};
pub use setting::MachineRecord;
pub(crate) use setting::{Number, Numbers, setting};
