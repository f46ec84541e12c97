//! Published studies that are kept in folders.

use super::scratch::Workplace;
use super::{PublishedError, Result};
use crate::databases::Databases;
use crate::forgotten::Forgotten;
use crate::harness::{Plan, Run, Study, plan_of, read};
use crate::shares::Shares;
use crate::store::StudyFolder;
use crate::telecom::Telecom;
use crate::throttling::Throttling;
use crate::variation::Variation;
use crate::{databases, forgotten, shares, telecom, throttling, variation};
use std::path::Path;

pub type AnyStudy<'a> = Box<dyn Study<Error = PublishedError> + 'a>;

pub fn of_plan<'a>(workplace: Workplace<'a>, plan: &Plan) -> Result<AnyStudy<'a>> {
    match plan.kind.as_str() {
        throttling::NAME => Ok(Box::new(Throttling::of(workplace, plan)?)),
        databases::NAME => Ok(Box::new(Databases::of(workplace, plan)?)),
        shares::NAME => Ok(Box::new(Shares::of(workplace, plan)?)),
        telecom::NAME => Ok(Box::new(Telecom::of(workplace, plan)?)),
        forgotten::NAME => Ok(Box::new(Forgotten::of(workplace, plan)?)),
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
