//! The telecom study's last three tests, and more of their kind: backups of each method restored, and failovers by each fault, with an
//! account of every acknowledged write.
//!
//! This file has what the harness asks; `record` is the setting in its plan and which runs there are, `judge` what they say.

mod judge;
pub mod record;

use crate::harness::{Event, Figure, Judgement, Notify, Order, Part, Plan, Run, Scale, Series, Unit};
use crate::published::{At, AtWork, Bed, PublishedError, Result};
use evenkeel_core::random::Seed;
use evenkeel_haul::drill::{self, Method, Recover};
use evenkeel_haul::failover::{self, Failover};
use evenkeel_haul::ledger::{Account, Finding};
pub use judge::judge;
use record::{REACH, RECOVERY, Setting};
use std::path::PathBuf;

/// The study's name in plans and on the command line.
pub const NAME: &str = "recovery";

pub const QUESTION: &str = "how long do recovery and failover take, and is an acknowledged write lost?";

/// All that are shown, in the order of columns.
pub const FIGURES: [Figure; 18] = [
    Figure::drawn("recovery_s", ["recovery", "s"], "Time to recover", "recovery, s")
        .words("From the kill until all that is recovered can be read."),
    Figure::plain("backup_s", ["backup", "s"]),
    Figure::plain("pause_s", ["writes paused", "s"]),
    Figure::plain("backup_mb", ["backup", "MB"]),
    Figure::plain("transactions", ["from the logs", "transactions"]),
    Figure::flag("exact", ["every row", "equal"]),
    Figure::drawn("outage_s", ["no write", "s"], "Time without an acknowledged write", "no write, s"),
    Figure::plain("detected_s", ["detected", "s"]),
    Figure::plain("promoted_s", ["promoted", "s"]),
    Figure::plain("behind", ["replica behind", "transactions"]),
    Figure::plain("extra", ["old primary alone", "writes"]),
    Figure::plain("errors", ["failed", "writes"]),
    Figure::plain("acknowledged", ["acknowledged", "writes"]),
    Figure::plain("lost", ["lost", "writes"]),
    Figure::plain("doubled", ["doubled", "writes"]),
    Figure::plain("unknown", ["without answer", "writes"]),
    Figure::plain("stale", ["stale", "reads"]),
    Figure::drawn(
        "acknowledged_per_s",
        ["acknowledged", "1/s"],
        "Writes around the fault, which is at 1 s",
        "acknowledged writes",
    )
    .on(Unit::PerSecond, Scale::Logarithmic),
];

pub type Recovery<'a> = AtWork<'a, Drills>;

/// Each run puts up and removes servers of its own.
pub struct Drills;

impl Bed for Drills {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &FIGURES;

    fn put_up(at: &At<'_, Setting>, _: Notify<'_>) -> Result<Self> {
        at.setting.place.check_server()?;
        Ok(Self)
    }

    /// By what was measured on two cores.
    fn takes_s(setting: &Setting, part: &Part, levels: &[String]) -> f64 {
        let is_incremental = levels.first().is_some_and(|level| level == "incremental");
        match part.name.as_str() {
            RECOVERY => 14.0 + setting.megabytes as f64 / 20.0 + if is_incremental { 6.0 } else { 0.0 },
            _ => 14.0,
        }
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>> {
        let mut say = |text: &str| tell(Event::Step(text.to_owned()));
        let seed = Seed(at.plan.seed).child(&order.name()).numbered(order.attempt.into());
        let server_binary = at.setting.place.server_binary.as_ref().map(PathBuf::from);
        if order.part.name == RECOVERY {
            let (method, incrementals) = way(order.level("method"))?;
            let drill = Recover {
                home: at.workplace.home,
                server_binary,
                method,
                snapshot: None,
                of: None,
                incrementals,
                rate: at.setting.rate,
                bytes: at.setting.megabytes << 20,
                seed,
                stop: at.workplace.stop,
            };
            return Ok(Some(recovered(&drill.run(&mut say)?)));
        }
        let unreadable = || PublishedError::unreadable("level");
        let is_reach = order.part.name == REACH;
        let mode = if is_reach { "async" } else { order.level("mode") };
        let reach = if is_reach { order.level("reach") } else { "hosts" };
        let drill = Failover {
            home: at.workplace.home,
            server_binary,
            replicas: 1,
            mode: mode.parse().map_err(|_| unreadable())?,
            fault: order.level("fault").parse().map_err(|_| unreadable())?,
            reach: reach.parse().map_err(|_| unreadable())?,
            promote: None,
            then: None,
            rate: at.setting.rate,
            seed,
            stop: at.workplace.stop,
        };
        Ok(Some(failed_over(&drill.run(&mut say)?)))
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        judge(plan, setting, runs)
    }
}

fn way(level: &str) -> Result<(Method, u32)> {
    match level {
        "full" => Ok((Method::Backup, 0)),
        "incremental" => Ok((Method::Backup, 1)),
        other => Ok((other.parse().map_err(|_| PublishedError::unreadable("method"))?, 0)),
    }
}

fn account(run: &mut Run, account: &Account) {
    run.set("acknowledged", account.acknowledged as f64);
    run.set("lost", account.count(Finding::Lost) as f64);
    run.set("doubled", account.count(Finding::Doubled) as f64);
    run.set("unknown", account.unknown as f64);
}

fn recovered(report: &drill::Report) -> Run {
    let mut run = Run::default();
    run.set("recovery_s", report.recovery_s);
    run.set("backup_s", report.backups.iter().map(|taken| taken.took_s).sum::<f64>());
    run.set("pause_s", report.backups.iter().map(|taken| taken.pause_s).fold(0.0, f64::max));
    run.set("backup_mb", report.backups.iter().map(|taken| taken.bytes as f64).sum::<f64>() / 1e6);
    run.set("transactions", report.transactions as f64);
    run.set("exact", if report.differences.is_empty() && report.damaged.is_empty() { 1.0 } else { 0.0 });
    account(&mut run, &report.account);
    run
}

fn failed_over(report: &failover::Report) -> Run {
    let timeline = &report.timeline;
    // An axis begins at 0, and a tenth of a second without a write is a gap.
    let shown = |per_s: f64| Some(per_s).filter(|per_s| *per_s > 0.0);
    let rows = report.pace.iter().map(|(at_s, per_s)| (at_s + 1.0, vec![shown(*per_s)])).collect();
    let series = Series { columns: vec!["acknowledged_per_s".to_owned()], rows };
    let mut run = Run { series, ..Run::default() };
    run.set("outage_s", timeline.outage_s());
    run.set("detected_s", timeline.detected_s);
    run.set("promoted_s", timeline.promoted_s);
    run.set("behind", report.made.as_ref().map(|made| made.behind as f64));
    run.set("extra", report.made.as_ref().map(|made| made.extra.len() as f64));
    run.set("stale", report.stale as f64);
    run.set("errors", report.account.errors.values().sum::<u64>() as f64);
    account(&mut run, &report.account);
    run
}
