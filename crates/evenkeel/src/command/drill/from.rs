//! `evenkeel drill recover --from`.

use super::recover::{Args, Objectives, lines};
use crate::command::{Session, mode};
use crate::failure::{FINDING, WithHint};
use crate::progress::{ProgressEvent, View};
use crate::{format, out};
use anyhow::{Result, anyhow};
use evenkeel_haul::drill::binlog::{Position, Until};
use evenkeel_haul::drill::{Found, From};
use std::path::Path;
use std::process::ExitCode;

/// Restores what somebody has, and says whether it can be trusted.
pub fn run(session: &Session, args: &Args, backup: &Path, objectives: &Objectives) -> Result<ExitCode> {
    let drill = From {
        home: &session.home,
        server_binary: args.server.clone(),
        backup,
        incrementals: &args.incremental,
        logs: args.logs.as_deref(),
        until: args.until.as_deref().map_or(Ok(Until::End), until)?,
        keep: args.keep.clone(),
        stop: &session.stop,
    };
    std::fs::create_dir_all(&session.home)?;
    let mut view = View::new(mode(session, args.json));
    let found = drill.run(&mut |text| view.show(&ProgressEvent::Step { text: text.to_owned() }))?;
    drop(view);
    let missed = objectives.late(found.recovery_s, &found.steps);
    let is_right = found.damaged.is_empty();
    let mut value = serde_json::to_value(&found)?;
    value["missed"] = serde_json::json!(missed);
    value["is_right"] = serde_json::json!(is_right);
    out::answer(args.json, &value, || out::write(&text(&found, args, missed.as_slice())))?;
    Ok(if is_right && missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

/// A GTID, a position in a log, or a time as `date -d` reads it.
fn until(text: &str) -> Result<Until> {
    if let Some((log, offset)) = text.rsplit_once(':')
        && log.contains('.')
        && !log.contains(' ')
        && let Ok(offset) = offset.parse()
    {
        return Ok(Until::Position(Position { log: log.to_owned(), offset }));
    }
    let is_mariadb = text.split('-').count() == 3 && text.split('-').all(|part| part.parse::<u64>().is_ok());
    let is_mysql = text.rsplit_once(':').is_some_and(|(source, number)| {
        source.len() == 36 && source.matches('-').count() == 4 && number.parse::<u64>().is_ok()
    });
    // 2026-11-30 is a date, and a GTID only of somebody with a domain of that number.
    let is_date =
        text.len() == 10 && text.as_bytes().get(4) == Some(&b'-') && text.as_bytes().get(7) == Some(&b'-');
    if (is_mariadb && !is_date) || is_mysql {
        return Ok(Until::Gtid(text.to_owned()));
    }
    let seconds = evenkeel_os::tools::run("date", &["-d".as_ref(), text.as_ref(), "+%s".as_ref()]);
    let seconds = seconds.ok().and_then(|text| text.parse().ok());
    let wrong = || anyhow!("--until {text} is no GTID, position or time");
    seconds
        .map(Until::Time)
        .ok_or_else(wrong)
        .hint("write it as 0-1-345, bin.000007:1234 or '2026-11-30 14:00:00'")
}

fn text(found: &Found, args: &Args, missed: &[String]) -> String {
    let mut text = format!("{}\n", found.server);
    text += &lines(found.recovery_s, &found.steps, found.transactions);
    if let (Some(gtid), Some(at)) = (&found.last_gtid, found.last_at) {
        text += &format!("last transaction {gtid}, begun {}\n", format::instant(1_000 * u64::from(at)));
    }
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
        assert!(until("some day").is_err());
    }
}
