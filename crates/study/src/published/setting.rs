//! A study's own setting, as its plan has it, and the machine that it was made on.

use super::{PublishedError, Result};
use crate::harness::Plan;
use evenkeel_sense::Machine;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A number of a setting, and between what it makes sense. A plan may have been edited, or be of another version.
pub struct Number {
    key: &'static str,
    value: f64,
    least: f64,
    most: f64,
}

impl Number {
    /// A number under this key, as `shopping.duration_s`.
    pub fn new(key: &'static str, value: f64, least: f64, most: f64) -> Self {
        Self { key, value, least, most }
    }

    /// A time that is measured, in seconds: above nothing, and at most a month.
    pub fn measured_s(key: &'static str, value: f64) -> Self {
        Self::new(key, value, 1e-3, MONTH_S)
    }

    /// A time before or after what is measured, in seconds: it may be nothing.
    pub fn around_s(key: &'static str, value: f64) -> Self {
        Self::new(key, value, 0.0, MONTH_S)
    }
}

const MONTH_S: f64 = 31.0 * 86_400.0;

/// A setting whose numbers can be checked.
pub trait Numbers {
    /// Those that decide how a run is made.
    fn numbers(&self) -> Vec<Number> {
        Vec::new()
    }
}

/// What a plan says of a study's own setting.
pub(crate) fn setting<T: DeserializeOwned + Numbers>(plan: &Plan) -> Result<T> {
    let setting: T =
        serde_json::from_value(plan.setting.clone()).map_err(|error| wrong(plan, &error.to_string()))?;
    match setting.numbers().iter().find(|number| !(number.least..=number.most).contains(&number.value)) {
        None => Ok(setting),
        Some(Number { key, value, least, most }) => {
            Err(wrong(plan, &format!("`{key}` must be between {least} and {most}, and is {value}")))
        }
    }
}

fn wrong(plan: &Plan, what: &str) -> PublishedError {
    PublishedError::with_hint(
        format!("plan.json of {}, in `setting`: {what}", plan.id),
        "restore plan.json from a backup, or correct that key by hand; finished runs stay in the folder",
    )
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    pub processor: Option<String>,
    pub cpus: Option<String>,
    /// Hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// The server's program; `None`: the system's.
    pub server_binary: Option<String>,
}

impl MachineRecord {
    /// The machine that we run on.
    pub fn here(server_binary: Option<&Path>) -> Self {
        let machine = Machine::read(None);
        Self {
            processor: machine.processor,
            cpus: machine.cpus.as_ref().map(ToString::to_string),
            hypervisor: machine.hypervisor.name,
            server_binary: server_binary.map(|path| path.display().to_string()),
        }
    }

    /// What is known of it, for the page.
    pub fn known(&self) -> Vec<(&'static str, String)> {
        let all = [("processor", &self.processor), ("CPUs", &self.cpus), ("hypervisor", &self.hypervisor)];
        all.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{databases, shares, telecom, throttling};
    use serde::Serialize;
    use serde_json::json;

    /// What is said of a setting in which this key is zero.
    fn told<T: DeserializeOwned + Numbers>(of: &impl Serialize, pointer: &str) -> String {
        let mut whole = serde_json::to_value(of).unwrap();
        *whole.pointer_mut(pointer).expect("a key") = json!(0);
        let plan = Plan { id: "one".to_owned(), setting: whole, ..Plan::default() };
        let error = setting::<T>(&plan).err().expect("it is refused");
        assert!(error.hint().is_some_and(|hint| hint.contains("restore plan.json")), "{error}");
        error.to_string()
    }

    #[test]
    fn each_study_refuses_numbers_that_no_run_can_be_made_with() {
        let throttled = throttling::fixture::setting();
        for pointer in ["/ebs", "/items", "/shopping/duration_s", "/reread/duration_s", "/step/after_s"] {
            let told = told::<throttling::record::Setting>(&throttled, pointer);
            assert!(told.contains(&format!("`{}` must be", pointer[1..].replace('/', "."))), "{told}");
        }
        let records = telecom::record::Setting { records: 9, days: 3, pool_mib: 64, ..Default::default() };
        for told in [
            told::<shares::Setting>(&json!({ "period_s": 4.0, "live": false }), "/period_s"),
            told::<databases::record::Setting>(&databases::fixture::setting(), "/period_s"),
            told::<telecom::record::Setting>(&records, "/days"),
        ] {
            assert!(told.contains("must be between"), "{told}");
        }
    }
}
