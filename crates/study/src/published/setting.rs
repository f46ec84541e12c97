//! A study's own setting, as its plan has it.

use super::{PublishedError, Result};
use crate::harness::Plan;
use serde::de::DeserializeOwned;

/// A number of a setting, and between what it makes sense. A plan may have been edited, or be of another version.
pub(crate) struct Number {
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
pub(crate) trait Numbers {
    /// Those that decide how a run is made.
    fn numbers(&self) -> Vec<Number>;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{databases, shares, telecom, throttling};
    use serde_json::{Value, json};

    /// What is said of a setting in which this key has that value, or is not there.
    fn told<T: DeserializeOwned + Numbers>(mut whole: Value, pointer: &str, value: Option<Value>) -> String {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let table = whole.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        let old = table.remove(key);
        assert!(old.is_some(), "{pointer} is a key");
        if let Some(value) = value {
            table.insert(key.to_owned(), value);
        }
        let plan = Plan { id: "one".to_owned(), setting: whole, ..Plan::default() };
        let error = setting::<T>(&plan).err().expect("it is refused");
        assert!(error.hint().is_some_and(|hint| hint.contains("restore plan.json")), "{error}");
        error.to_string()
    }

    #[test]
    fn a_setting_that_cannot_be_names_the_plan_the_key_and_what_is_allowed() {
        let whole = serde_json::to_value(databases::fixture::setting()).unwrap();
        let told = |pointer: &str, value: Option<Value>| {
            told::<databases::record::Setting>(whole.clone(), pointer, value)
        };
        let own = |what: &str| format!("plan.json of one, in `setting`: {what}");
        assert_eq!(
            told("/period_s", Some(json!(0.0))),
            own("`period_s` must be between 0.05 and 60, and is 0")
        );
        assert!(told("/warm_up_s", Some(json!(-1.0))).starts_with(&own("`warm_up_s` must be between 0 and")));
        assert_eq!(told("/period_s", None), own("missing field `period_s`"));
        assert!(told("/clients", Some(json!(-3))).contains("invalid value: integer `-3`"));
        assert!(told("/duration_s", Some(json!("long"))).contains("invalid type: string \"long\""));
    }

    #[test]
    fn each_study_refuses_numbers_that_no_run_can_be_made_with() {
        let throttled = serde_json::to_value(throttling::fixture::setting()).unwrap();
        for pointer in ["/ebs", "/items", "/shopping/duration_s", "/reread/duration_s", "/step/after_s"] {
            let told = told::<throttling::record::Setting>(throttled.clone(), pointer, Some(json!(0)));
            assert!(told.contains(&format!("`{}` must be", pointer[1..].replace('/', "."))), "{told}");
        }
        let virtually = json!({ "period_s": 4.0, "live": false });
        assert!(
            told::<shares::Setting>(virtually, "/period_s", Some(json!(0))).contains("`period_s` must be")
        );
        let records = telecom::record::Setting { records: 9, days: 3, pool_mib: 64, ..Default::default() };
        let records = serde_json::to_value(records).unwrap();
        assert!(
            told::<telecom::record::Setting>(records, "/days", Some(json!(0))).contains("`days` must be")
        );
    }
}
