//! How long runs take, by what was measured on two cores: said before a study begins, and used for the time that is left.

use super::parts::{CRASH, DAYS, DISPATCH, EXPORT, LOAD};
use super::record::Setting;
use crate::harness::Part;

/// A run takes this much besides its records, seconds: a server that starts with other settings, a database that is made anew.
const AROUND_S: f64 = 3.0;
/// Records whose indexes fit into the pool of an untuned server; beyond it each more is dearer, up to the published ratio.
const FITTING: f64 = 50_000.0;
/// The published study's rate of InnoDB untuned, of which it gives a lower bound of the time: 70 million in more than a day.
const UNTUNED_S: f64 = 1e6 * 86_400.0 / 70e6;
/// By the published rate of InnoDB tuned a million records takes so many seconds; not less than this where data outgrow memory.
const TUNED_S: f64 = 60.0;

/// Seconds that a run takes, about; where data outgrow memory it can be more.
pub fn takes_s(setting: &Setting, part: &Part, levels: &[String]) -> f64 {
    let day = setting.records as f64 / 1e6;
    let all = day * f64::from(setting.days);
    let level = |place: usize| levels.get(place).map_or("", String::as_str);
    let audit_s = 6.0;
    let records_s = match (part.name.as_str(), level(0), level(1)) {
        (LOAD, "untuned", "before") => (untuned_s(setting.records) + audit_s) * day,
        (LOAD, _, "before") => (25.0 + audit_s) * day,
        (LOAD, _, _) => (15.0 + audit_s) * day,
        (CRASH, ..) => (60.0 + audit_s) * day + AROUND_S,
        (DISPATCH, ..) => (20.0 + 30.0 + audit_s) * all,
        (DAYS, ..) => (5.0 + 25.0 + 30.0 + audit_s) * all,
        (EXPORT, ..) => (20.0 + 10.0 + audit_s) * day,
        _ => 0.0,
    };
    AROUND_S + records_s
}

fn untuned_s(records: u64) -> f64 {
    let outgrown = (records as f64 / FITTING).max(1.0).log2();
    (TUNED_S * (1.0 + outgrown)).min(UNTUNED_S)
}

pub fn whole_s(setting: &Setting, parts: &[Part]) -> f64 {
    let of = |part: &Part| -> f64 {
        let runs = part.combinations().into_iter().map(|levels| takes_s(setting, part, &levels));
        runs.sum::<f64>() * f64::from(part.repeats)
    };
    parts.iter().map(of).sum()
}
