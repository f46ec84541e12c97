//! What a log has, and what it lacks, in plain words.

use super::flags::Args;
use super::source;
use crate::command::Session;
use crate::failure::Stopped;
use crate::{format, out};
use anyhow::Result;
use evenkeel_lab::replay::check::{Check, Left, check};
use std::process::ExitCode;

/// Most databases that are named for people.
const NAMED: usize = 8;

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let (recording, summary) = source::opened(session, &args.log)?;
    let found = check(&recording, summary.as_ref(), &session.stop)?;
    if session.stop.is_set() {
        return Err(Stopped("before all was read".to_owned()).into());
    }
    out::answer(args.json, &found, || out::write(&text(&found)))?;
    Ok(ExitCode::SUCCESS)
}

fn text(check: &Check) -> String {
    let mut lines = vec![
        ("source", source_of(check)),
        ("time", span(check)),
        ("sessions", sessions(check)),
        ("statements", statements(check)),
        ("times", times(check)),
        ("not known", unknown(check)),
        ("databases", databases(check)),
    ];
    lines.extend(check.left_out.iter().map(|(why, left)| ("left out", left_out(why, left))));
    lines.iter().map(|(name, words)| format!("{name:<12}{words}\n")).collect()
}

fn source_of(check: &Check) -> String {
    let Some(header) = check.sources.first() else { return "no capture".to_owned() };
    let word = |value: &serde_json::Value| value.as_str().map(format::plain);
    let kind = word(&header["source"]).unwrap_or_else(|| "unknown".to_owned()).replace('-', " ");
    let server = &header["server"];
    let host = word(&server["hostname"])
        .or_else(|| word(&server["host"]))
        .map(|host| format!(" on {host}:{}", server["port"]));
    let version = word(&server["version"]).or_else(|| word(&header["version"]));
    let version = version.map_or(String::new(), |version| format!(" of server {version}"));
    let none = if host.is_none() { "; which server is not known" } else { "" };
    format!("{kind}{version}{}{none}", host.unwrap_or_default())
}

fn span(check: &Check) -> String {
    let (Some(from), Some(to)) = (check.from_unix_s, check.to_unix_s) else {
        return "not known: one statement after the other".to_owned();
    };
    format!(
        "{} to {}, {}; at most {} statements in a second",
        format::instant((from * 1e3) as u64),
        format::instant((to * 1e3) as u64),
        format::seconds((to - from).round()),
        format::count(check.peak_per_s)
    )
}

fn sessions(check: &Check) -> String {
    let late = match check.late_sessions {
        0 => String::new(),
        late => format!("; what {} of them had set before is not in it", format::count(late)),
    };
    format!("{}{late}", format::count(check.sessions))
}

fn statements(check: &Check) -> String {
    let (all, failed) = (format::count(check.statements), format::count(check.with_error));
    let sent = format::count(check.sent_by_default);
    format!("{all}; at most {sent} are sent without --allow-writes; {failed} are known to have failed")
}

fn times(check: &Check) -> String {
    let exact = match check.sources.first().and_then(|header| header["times"].as_str()) {
        Some("none") => "not known",
        Some("seconds") => "to the second, over which its statements are spread evenly",
        Some("microseconds") => "to the microsecond",
        _ => "to the nanosecond",
    };
    exact.to_owned()
}

/// What is not known of statements that it has.
fn unknown(check: &Check) -> String {
    let total = check.statements;
    let has_errors = check.sources.first().is_none_or(|header| header["has_errors"] != false);
    let known = [
        ("ends, which --order goes by,", check.with_end),
        ("rows", check.with_rows),
        ("errors", if has_errors { total } else { 0 }),
    ];
    let lacks = known.iter().filter(|(_, known)| *known < total);
    let lacks: Vec<_> =
        lacks.map(|(what, known)| format!("{what} of {}", format::count(total - known))).collect();
    if lacks.is_empty() { "nothing".to_owned() } else { format::listed(&lacks) }
}

fn databases(check: &Check) -> String {
    let named = check.databases.iter().take(NAMED).map(|name| format::plain(name));
    let more = check.databases.len().saturating_sub(NAMED);
    let names: Vec<String> = named.chain((more > 0).then(|| format!("{more} more"))).collect();
    if names.is_empty() { "none is named".to_owned() } else { format::listed(&names) }
}

fn left_out(why: &str, left: &Left) -> String {
    let words = match why {
        "too-long" => "longer than 64 MB",
        "behind" => "the capture buffer was full",
        "not-repeatable" => {
            "cannot be replayed: LOAD DATA LOCAL, passwords of accounts, COM_CHANGE_USER, DELIMITER blocks"
        }
        "cut" => "cut: the log begins or ends there, or another entry begins",
        "prepared" => "prepare or name a prepared statement; what they ran has an entry of its own",
        "inner" => "asked by a procedure, whose CALL has an entry of its own",
        "no-statement" => "no statement, such as Ping",
        "undated" => "unreadable timestamps; the previous timestamp is used",
        "unprepared" => "executions of statements that were prepared before the recording",
        "damaged" => "records that cannot be read",
        "cut-files" => "files that end inside a record",
        "unended-files" => {
            "files without an end: the guard was killed, its disk was full, or it still records"
        }
        "after-end" => "the capture had ended: --capture-max, or no room on its disk",
        other => other,
    };
    let line = left.first_line.map_or(String::new(), |line| format!(" (first in line {line})"));
    format!("{} {words}{line}", format::count(left.count))
}
