//! `evenkeel drill recover --from`.

use super::audit;
use super::common::shown;
use super::recover::{Args, Objectives, lines};
use crate::command::Session;
use crate::failure::{FINDING, WithHint};
use crate::{format, out};
use anyhow::{Result, anyhow};
use evenkeel_haul::drill::binlog::Position;
use evenkeel_haul::drill::{Found, OwnBackup, Until};
use evenkeel_haul::ledger::Ledger;
use std::path::Path;
use std::process::ExitCode;

/// Restores what somebody has, and says whether it can be trusted.
pub fn run(session: &Session, args: &Args, backup: &Path) -> Result<ExitCode> {
    let drill = OwnBackup {
        home: &session.home,
        server_binary: args.server_binary.clone(),
        backup,
        incrementals: &args.incremental,
        logs: args.logs.as_deref(),
        until: args.until.as_deref().map_or(Ok(Until::End), until)?,
        ledger: args.ledger.as_deref().map(Ledger::read).transpose()?,
        keep: args.keep.clone(),
        stop: &session.stop,
    };
    let found = shown(session, args.json, |tell| drill.run(tell))?;
    let missed = Objectives::of(args)?.late(found.recovery_s, &found.steps);
    let is_right = found.is_right();
    let mut value = serde_json::to_value(&found)?;
    value["missed"] = serde_json::json!(missed);
    value["is_right"] = serde_json::json!(is_right);
    out::answer(args.json, &value, || out::write(&text(&found, args, missed.as_slice())))?;
    Ok(if is_right && missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

/// A time that begins with its date, a position in a log, or a GTID.
fn until(text: &str) -> Result<Until> {
    let bytes = text.as_bytes();
    let is_date = bytes.len() >= 10
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[..4].iter().all(u8::is_ascii_digit);
    if is_date {
        let seconds = evenkeel_os::tools::run("date", &["-d".as_ref(), text.as_ref(), "+%s".as_ref()]);
        return seconds
            .ok()
            .and_then(|text| text.parse().ok())
            .map(Until::Time)
            .ok_or_else(|| wrong(text))
            .hint(PLACES);
    }
    let (before, number) = text.rsplit_once([':', '-']).ok_or_else(|| wrong(text)).hint(PLACES)?;
    let number: u64 = number.parse().map_err(|_| wrong(text)).hint(PLACES)?;
    let is_source = before.len() == 36 && before.matches('-').count() == 4;
    match before.contains('.') {
        true => Ok(Until::Position(Position { log: before.to_owned(), offset: number })),
        false if is_source || before.split('-').filter(|part| part.parse::<u32>().is_ok()).count() == 2 => {
            Ok(Until::Gtid(text.to_owned()))
        }
        false => Err(wrong(text)).hint(PLACES),
    }
}

const PLACES: &str = "write it as 0-1-345, bin.000007:1234 or '2026-11-30 14:00:00'";

fn wrong(text: &str) -> anyhow::Error {
    anyhow!("--until {text} is not a GTID, a position or a time")
}

fn text(found: &Found, args: &Args, missed: &[String]) -> String {
    let mut text = format!("{}\n", found.server);
    text += &lines(found.recovery_s, &found.steps, found.transactions);
    if let (Some(gtid), Some(at)) = (&found.last_gtid, found.last_at) {
        text += &format!("last transaction {gtid}, begun {}\n", format::instant(1_000 * u64::from(at)));
    }
    if found.cut > 0 {
        text += &format!(
            "the last log ends with an incomplete transaction ({}), which was not applied\n",
            format::bytes(found.cut)
        );
    }
    text += &found.account.as_ref().map(audit::text).unwrap_or_default();
    let wrong = found.damaged.iter().chain(missed);
    wrong.for_each(|line| text += &format!("WRONG: {line}\n"));
    if found.damaged.is_empty() {
        text += &format!("CHECK TABLE finds nothing wrong in {}\n", format::counted(found.tables, "table"));
    }
    if let Some(name) = &args.keep {
        text += &format!(
            "it runs on: evenkeel sandbox shell {name}; remove it: evenkeel sandbox down {name} && evenkeel sandbox clean {name}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_gtid_a_position_or_a_time() {
        assert_eq!(until("0-1-345").unwrap(), Until::Gtid("0-1-345".into()));
        let mysql = "3e11fa47-71ca-11e1-9e33-c80aa9429562:23";
        assert_eq!(until(mysql).unwrap(), Until::Gtid(mysql.into()));
        let position = Position { log: "bin.000007".into(), offset: 1234 };
        assert_eq!(until("bin.000007:1234").unwrap(), Until::Position(position));
        assert_eq!(until("2026-11-30 14:00:00 UTC").unwrap(), Until::Time(1_796_047_200));
        assert_eq!(until("2026-11-30 UTC").unwrap(), Until::Time(1_795_996_800));
        for text in ["some day", "345", "5", "2026-11-40", "0-345", "bin.000007", "a-b-3"] {
            assert!(until(text).is_err(), "{text}");
        }
    }
}
