//! One line for each file.

use super::super::convert::counted;
use crate::{format, out};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_haul::audit::Kind;
use evenkeel_haul::dispatch::{DayDone, Dispatched, Retired, RetiredTable};
use evenkeel_haul::input::Identity;
use evenkeel_haul::load::{Loaded, LoadedFile};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Says what became of a file.
pub fn done(json: bool, path: &Path, passage: &Passage) -> Result<()> {
    let (records, rows, rejects, records_before) = passage.sums();
    let days = passage.dispatched.as_ref().map_or(&[][..], |done| &done.days);
    if json {
        let mut line = json!({
            "event": "done", "file": path.to_string_lossy(), "records": records, "rows": rows, "rejects": rejects,
            "records_before": records_before, "moved": passage.moved(), "undated": passage.undated(), "days": days,
            "dropped": passage.retired.as_ref().map_or(&[][..], |done| &done.dropped),
            "audit": serde_json::to_value(&passage.audit)?,
            "load_s": passage.load.as_secs_f64(), "audit_s": passage.audit_time.as_secs_f64(),
            "dispatch_s": passage.dispatch.as_secs_f64(), "retire_s": passage.retire.as_secs_f64(),
        });
        let missing = [
            ("not_dispatched", passage.not_dispatched.as_deref()),
            ("not_retired", passage.not_retired.as_deref()),
            ("not_audited", not_audited(passage)),
        ];
        for (key, why) in missing.into_iter().filter(|(_, why)| why.is_some()) {
            line[key] = json!(why);
        }
        return Ok(out::line(line.to_string())?);
    }
    let mut text = format!("{}: {}", name(path), counted(records, "record"));
    if records_before > 0 {
        text.push_str(&format!(" ({} of them were in before)", format::count(records_before)));
    }
    text.push_str(&format!(", {}, {}", counted(rows, "row"), counted(rejects, "reject")));
    text.push_str(&of_audit(passage));
    text.push_str(&of_days(passage, days));
    text.push_str(&of_retired(passage));
    text.push_str(&format!("; {} s", format::fixed(passage.time().as_secs_f64(), 1)));
    one_line(&text)
}

/// Why a file that was to be audited was not.
fn not_audited(passage: &Passage) -> Option<&'static str> {
    (passage.is_unlike && passage.audit.is_none()).then_some("it was changed meanwhile")
}

fn of_audit(passage: &Passage) -> String {
    match &passage.audit {
        None => not_audited(passage).map_or_else(String::new, |why| format!("; not audited, since {why}")),
        Some(audit) if audit.total() == 0 && audit.unchecked == 0 => "; audited".to_owned(),
        Some(audit) if audit.total() == 0 => {
            format!("; audited, {} not checked", format::count(audit.unchecked))
        }
        Some(audit) => {
            let of = |(kind, times): (_, &u64)| format!("{} {kind}", format::count(*times));
            let found: Vec<String> = audit.found.iter().map(of).collect();
            format!("; the audit found {}", found.join(", "))
        }
    }
}

fn of_days(passage: &Passage, days: &[DayDone]) -> String {
    let mut text = match &passage.not_dispatched {
        Some(why) => format!("; not dispatched: {why}"),
        None => format!("; {}", to_days(passage.moved(), days)),
    };
    if passage.undated() > 0 {
        text.push_str(&format!("; {} without a date stay", format::count(passage.undated())));
    }
    text
}

/// How many records went with each table, the first ones by name: they are nowhere else.
fn of_retired(passage: &Passage) -> String {
    const NAMES: usize = 5;
    let mut text = String::new();
    if let Some(retired) = passage.retired.as_ref().filter(|done| !done.dropped.is_empty()) {
        let (tables, records) = passage.dropped();
        let (tables, records) = (format::counted(tables, "old table"), format::count(records));
        let of = |table: &RetiredTable| format!("{} {}", table.table, format::count(table.records));
        let mut names: Vec<String> = retired.dropped.iter().take(NAMES).map(of).collect();
        if retired.dropped.len() > NAMES {
            names.push(format!("{} more", retired.dropped.len() - NAMES));
        }
        text = format!("; {tables} dropped with {records} records ({})", names.join(", "));
    }
    let refused = passage.retired.iter().flat_map(|done| &done.refused);
    for (table, why) in refused.filter_map(|table| Some((&table.table, table.refused.as_ref()?))).take(NAMES)
    {
        text.push_str(&format!("; {table} stays: {why}"));
    }
    if let Some(why) = &passage.not_retired {
        text.push_str(&format!("; old tables stay: {why}"));
    }
    text
}

fn to_days(moved: u64, days: &[DayDone]) -> String {
    let with_records = days.iter().filter(|day| day.records > 0).count();
    let mut text = format!("{} to {}", format::count(moved), format::counted(with_records, "day table"));
    for day in days {
        if let Some(why) = &day.refused {
            text.push_str(&format!("; records for {} stay in the source: {why}", day.table));
        }
    }
    text
}

/// Says what was dispatched of what was loaded before.
pub fn left_over(json: bool, done: &Dispatched) -> Result<()> {
    let line = match json {
        true => json!({ "event": "left-over", "moved": done.records, "days": done.days }).to_string(),
        false => format!("loaded before: {}", to_days(done.records, &done.days)),
    };
    Ok(out::line(line)?)
}

/// Says that a file cannot be loaded.
pub fn refused(json: bool, path: &Path, (why, hint): (&str, Option<&str>)) -> Result<()> {
    if json {
        let line = json!({ "event": "refused", "file": path.to_string_lossy(), "why": why, "hint": hint });
        return Ok(out::line(line.to_string())?);
    }
    let hint = hint.map(|hint| format!("; hint: {hint}")).unwrap_or_default();
    one_line(&format!("{}: refused, left where it is: {why}{hint}", name(path)))
}

/// Whoever may put files into the folder chooses their names, and none makes two lines of one.
fn one_line(text: &str) -> Result<()> {
    Ok(out::line(format::plain(text))?)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What an audit found after a load.
#[derive(Clone, Debug, Serialize)]
pub struct AuditOfFile {
    /// How much of each kind.
    pub found: BTreeMap<Kind, u64>,
    /// Records that were in before and have left the table: nobody looked for them.
    pub unchecked: u64,
    /// The file that names each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_in: Option<PathBuf>,
}

impl AuditOfFile {
    /// How much was found.
    pub fn total(&self) -> u64 {
        self.found.values().sum()
    }
}

/// How a file was left once all was done with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Left {
    /// It is what was loaded, moved or not, as was asked for.
    #[default]
    AsItWas,
    /// It is another one by now, or has grown, and is where it was.
    Changed,
    /// It could not be moved.
    Unmoved(String),
}

/// How far a file has come, and what its steps brought.
#[derive(Debug, Default)]
pub struct Passage {
    pub loaded: Option<Loaded>,
    pub dispatched: Option<Dispatched>,
    pub retired: Option<Retired>,
    /// Why its records are not in day tables.
    pub not_dispatched: Option<String>,
    /// Why old day tables are still there.
    pub not_retired: Option<String>,
    /// What an audit after the load found, if there was one.
    pub audit: Option<AuditOfFile>,
    /// Whether the file was changed before it could be audited.
    pub is_unlike: bool,
    /// How the file was left once all was done.
    pub left: Left,
    /// Whether a step was tried more than once, so that some of what was in before came by this watch.
    pub is_retried: bool,
    pub load: Nanos,
    pub audit_time: Nanos,
    pub dispatch: Nanos,
    pub retire: Nanos,
}

impl Passage {
    fn file(&self) -> Option<&LoadedFile> {
        self.loaded.as_ref().and_then(|loaded| loaded.files.first())
    }

    /// What the file was that was loaded.
    pub fn identity(&self) -> Option<Identity> {
        self.file().map(|file| file.identity)
    }

    /// Whether all of it was in before.
    pub fn is_known(&self) -> bool {
        !self.is_retried && self.file().is_some_and(|file| file.before > 0 && file.tally.records == 0)
    }

    /// Whether somebody should look at it.
    pub fn is_finding(&self) -> bool {
        let stays = self.dispatched.iter().flat_map(|done| &done.days).any(|day| day.refused.is_some());
        let is_kept = self.retired.as_ref().is_some_and(|done| !done.refused.is_empty());
        stays || is_kept || self.not_dispatched.is_some() || self.not_retired.is_some()
    }

    /// Records, rows and rejects of the file, and how many records were in before.
    pub fn sums(&self) -> (u64, u64, u64, u64) {
        let Some(file) = self.file() else { return (0, 0, 0, 0) };
        let rows: u64 = file.tally.lines.iter().sum();
        (
            file.records_before + file.tally.records,
            file.rows_before + rows,
            file.rejects_before + file.tally.rejects,
            if self.is_retried { 0 } else { file.records_before },
        )
    }

    /// Rows and rejects that were in before, unless this watch has brought them.
    pub fn before(&self) -> (u64, u64) {
        match self.file().filter(|_| !self.is_retried) {
            Some(file) => (file.rows_before, file.rejects_before),
            None => (0, 0),
        }
    }

    /// Tables that were dropped, and how many records with them.
    pub fn dropped(&self) -> (usize, u64) {
        let dropped = self.retired.as_ref().map_or(&[][..], |done| &done.dropped);
        (dropped.len(), dropped.iter().map(|table| table.records).sum())
    }

    /// Time of all steps.
    pub fn time(&self) -> Nanos {
        self.load + self.audit_time + self.dispatch + self.retire
    }

    /// Records that went to day tables.
    pub fn moved(&self) -> u64 {
        self.dispatched.as_ref().map_or(0, |done| done.records)
    }

    /// Records without a date, which stay.
    fn undated(&self) -> u64 {
        self.dispatched.as_ref().map_or(0, |done| done.undated)
    }
}
