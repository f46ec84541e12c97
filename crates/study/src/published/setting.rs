//! A study's own setting, as its plan has it.

use super::{Result, While};
use crate::harness::Plan;
use serde::de::DeserializeOwned;

/// What a plan says of a study's own setting.
///
/// # Errors
/// It is that of another study, or of another version.
pub(crate) fn setting<T: DeserializeOwned>(plan: &Plan) -> Result<T> {
    serde_json::from_value(plan.setting.clone()).doing(|| "reading the setting in plan.json")
}
