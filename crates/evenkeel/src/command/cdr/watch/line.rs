//! One line for each file.

use crate::{format, out};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_haul::dispatch::{DayDone, Dispatched, Retired};
use evenkeel_haul::load::{Loaded, LoadedFile};
use serde::Serialize;
use std::path::{Path, PathBuf};

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
    /// Whether a step was tried more than once, so that some of what was in before came by this watch.
    pub is_retried: bool,
    pub load: Nanos,
    pub dispatch: Nanos,
    pub retire: Nanos,
}

impl Passage {
    fn file(&self) -> Option<&LoadedFile> {
        self.loaded.as_ref().and_then(|loaded| loaded.files.first())
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

    /// Records that went to day tables.
    pub fn moved(&self) -> u64 {
        self.dispatched.as_ref().map_or(0, |done| done.records)
    }
}

/// A line of JSON.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Line<'a> {
    Done {
        file: &'a Path,
        records: u64,
        rows: u64,
        rejects: u64,
        records_before: u64,
        moved: u64,
        undated: u64,
        days: &'a [DayDone],
        dropped: Vec<&'a str>,
        load_s: f64,
        dispatch_s: f64,
        retire_s: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        not_dispatched: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        not_retired: Option<&'a str>,
    },
    LeftOver {
        moved: u64,
        days: &'a [DayDone],
    },
    Refused {
        file: &'a Path,
        why: &'a str,
        hint: Option<&'a str>,
        set_aside: Option<&'a PathBuf>,
    },
}

/// Says what became of a file.
pub fn done(json: bool, path: &Path, passage: &Passage) -> Result<()> {
    let (records, rows, rejects, records_before) = passage.sums();
    let days = passage.dispatched.as_ref().map_or(&[][..], |done| &done.days);
    if json {
        let dropped = passage.retired.iter().flat_map(|done| &done.dropped);
        return Ok(out::line(serde_json::to_string(&Line::Done {
            file: path,
            records,
            rows,
            rejects,
            records_before,
            moved: passage.moved(),
            undated: passage.dispatched.as_ref().map_or(0, |done| done.undated),
            days,
            dropped: dropped.map(|table| table.table.as_str()).collect(),
            load_s: passage.load.as_secs_f64(),
            dispatch_s: passage.dispatch.as_secs_f64(),
            retire_s: passage.retire.as_secs_f64(),
            not_dispatched: passage.not_dispatched.as_deref(),
            not_retired: passage.not_retired.as_deref(),
        })?)?);
    }
    let count = format::count;
    let mut text = format!("{}: {} records", name(path), count(records));
    if records_before > 0 {
        text.push_str(&format!(" ({} of them were in before)", count(records_before)));
    }
    text.push_str(&format!(", {} rows, {} rejects", count(rows), count(rejects)));
    text.push_str(&of_days(passage, days));
    let seconds = (passage.load + passage.dispatch + passage.retire).as_secs_f64();
    text.push_str(&format!("; {} s", format::fixed(seconds, 1)));
    Ok(out::line(text)?)
}

fn of_days(passage: &Passage, days: &[DayDone]) -> String {
    let mut text = match &passage.not_dispatched {
        Some(why) => format!("; not dispatched: {why}"),
        None => format!("; {}", to_days(passage.moved(), days)),
    };
    let undated = passage.dispatched.as_ref().map_or(0, |done| done.undated);
    if undated > 0 {
        text.push_str(&format!("; {} without a date stay", format::count(undated)));
    }
    if let Some(dropped) = passage.retired.as_ref().map(|done| done.dropped.len()).filter(|count| *count > 0)
    {
        text.push_str(&format!("; {} dropped", format::counted(dropped, "old table")));
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
        true => serde_json::to_string(&Line::LeftOver { moved: done.records, days: &done.days })?,
        false => format!("loaded before: {}", to_days(done.records, &done.days)),
    };
    Ok(out::line(line)?)
}

/// Says that a file cannot be loaded.
pub fn refused(
    json: bool,
    path: &Path,
    (why, hint): (&str, Option<&str>),
    set_aside: Option<&PathBuf>,
) -> Result<()> {
    if json {
        return Ok(out::line(serde_json::to_string(&Line::Refused { file: path, why, hint, set_aside })?)?);
    }
    let hint = hint.map(|hint| format!("; hint: {hint}")).unwrap_or_default();
    let place = match set_aside {
        Some(place) => format!("set aside as {}", place.display()),
        None => "left where it is".to_owned(),
    };
    Ok(out::line(format!("{}: refused, {place}: {why}{hint}", name(path)))?)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
