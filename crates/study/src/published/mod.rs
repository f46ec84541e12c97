//! What published studies share beside the harness: where they work, what they need of the program around them, and why they
//! cannot go on.
//!
//! A study starts private servers and clients itself. Guards and hosts of shared storage are processes of our own program, which
//! [`Program`] stands for, so that no study knows flags or files of the command line.

mod dataset;
mod hosts;
mod program;
mod scratch;
mod setting;

use crate::databases::Databases;
use crate::domains::Domains;
use crate::forgotten::Forgotten;
use crate::harness::{Plan, Run, Study, plan_of, read};
use crate::interfere::Interfere;
use crate::recovery::Recovery;
use crate::shares::Shares;
use crate::store::StudyFolder;
use crate::telecom::Telecom;
use crate::throttling::Throttling;
use crate::variation::Variation;
use crate::{databases, domains, forgotten, interfere, recovery, shares, telecom, throttling, variation};
pub(crate) use dataset::{begun, closed, fill, workload, workload_of_file};
pub use hosts::{DiskFile, HostFile, WindowFile};
pub(crate) use hosts::{Periods, of_hosts};
pub use program::{
    AnyError, DiskStatus, Guard, GuardPlan, Host, HostStatus, Program, PublishedError, Result, Tick,
};
pub(crate) use program::{Watch, While, joined, timed};
pub use scratch::{At, AtWork, Bed, Workplace};
pub(crate) use scratch::{PrivateServer, Scratch, not_running};
pub use setting::MachineRecord;
pub(crate) use setting::setting;
use std::path::Path;

pub type AnyStudy<'a> = Box<dyn Study<Error = PublishedError> + 'a>;

pub fn of_plan<'a>(workplace: Workplace<'a>, plan: &Plan) -> Result<AnyStudy<'a>> {
    match plan.kind.as_str() {
        throttling::NAME => Ok(Box::new(Throttling::of(workplace, plan)?)),
        databases::NAME => Ok(Box::new(Databases::of(workplace, plan)?)),
        domains::NAME => Ok(Box::new(Domains::of(workplace, plan)?)),
        shares::NAME => Ok(Box::new(Shares::of(workplace, plan)?)),
        telecom::NAME => Ok(Box::new(Telecom::of(workplace, plan)?)),
        recovery::NAME => Ok(Box::new(Recovery::of(workplace, plan)?)),
        forgotten::NAME => Ok(Box::new(Forgotten::of(workplace, plan)?)),
        interfere::NAME => Ok(Box::new(Interfere::of(workplace, plan)?)),
        variation::NAME => Ok(Box::new(Variation::of(workplace, plan)?)),
        kind => Err(PublishedError::with_hint(
            format!("there is no study named {kind:?}"),
            "`evenkeel study --list` names those of this version; another one may know it",
        )),
    }
}

/// The name of the published study in a folder; `None` of a profile.
pub fn kind(path: &Path) -> Result<Option<String>> {
    let head = StudyFolder::open(path)?.head()?;
    Ok(head.is_published().then_some(head.kind))
}

/// A study with its runs; `None` of a profile.
pub fn stored(path: &Path) -> Result<Option<(Plan, Vec<Run>)>> {
    let folder = StudyFolder::open(path)?;
    if !folder.head()?.is_published() {
        return Ok(None);
    }
    Ok(Some((plan_of(&folder)?, read(&folder)?)))
}
