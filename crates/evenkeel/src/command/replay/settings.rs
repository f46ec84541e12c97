//! Settings of two servers by which the same statement has other results.

use anyhow::{Context, Result};
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_site::server::Control;

const NAMES: [&str; 7] = [
    "sql_mode",
    "character_set_server",
    "collation_server",
    "lower_case_table_names",
    "group_concat_max_len",
    "div_precision_increment",
    "default_week_format",
];

/// The time zone that sessions of both get where the servers differ in theirs, and what else differs.
pub fn compared(controls: &mut [Control]) -> Result<(Option<String>, Option<Caveat>)> {
    let mut all = Vec::new();
    for control in controls {
        let what = "asking a server for its settings";
        let zone =
            control.query_value("SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())").context(what)?;
        let zone = zone.and_then(|minutes| minutes.parse::<i32>().ok()).unwrap_or_default();
        all.push((zone, control.variables().context(what)?));
    }
    let [(zone, first), (other, second)] = &all[..] else { return Ok((None, None)) };
    let mut differ: Vec<&str> =
        NAMES.into_iter().filter(|name| first.get(*name) != second.get(*name)).collect();
    let zone = (zone != other).then(|| {
        format!("{}{:02}:{:02}", if *zone < 0 { '-' } else { '+' }, zone.abs() / 60, zone.abs() % 60)
    });
    differ.extend(zone.as_ref().map(|_| "time_zone"));
    let in_zone = zone.as_ref().map_or_else(String::new, |zone| format!(" Sessions of both use {zone}."));
    let text = format!("The servers differ in {}, which can change results.{in_zone}", differ.join(", "));
    let caveat = (!differ.is_empty()).then(|| Caveat::new("settings-differ", Severity::Note, text));
    Ok((zone, caveat))
}
