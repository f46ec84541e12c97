//! `evenkeel share knee`: the latency threshold from the knee of the storage itself, which is only read; and what I/Os cost,
//! for which it is overwritten where a flag says so.

mod costs;
mod flags;

use crate::command::{Session, mode};
use crate::failure::{NOT_VALID, WithHint};
use crate::progress::{ProgressEvent, View};
use crate::share::knee::{Measurement, Sweep, SweepPlan, caveats, json, sweep, text};
use crate::{format, out};
use anyhow::{Result, anyhow};
use costs::{interrupted, on_engine};
use evenkeel_core::share::knee::{Judgment, Verdict, judge};
use evenkeel_share::DiskPlan;
pub use flags::KneeArgs;
use std::process::ExitCode;

/// Measures, and says the threshold or why there is none.
///
/// # Errors
/// Wrong flags, storage that cannot be read.
pub fn run(session: &Session, args: &KneeArgs) -> Result<ExitCode> {
    if args.costs {
        return costs::run(session, args);
    }
    let plan = args.plan()?;
    let disk = args.open(plan.block, true)?;
    let storage = args.storage(&disk);
    let Some(swept) = measure(session, &plan, disk)? else {
        return Ok(interrupted(session));
    };
    let judgment = judge(&swept.points())
        .ok_or_else(|| anyhow!("no read ended in a step of {}", args.duration))
        .hint("measure for longer: --duration")?;
    let caveats = caveats(&storage, &swept, plan.block);
    let measured = Measurement { plan: &plan, sweep: &swept, judgment: &judgment, caveats: &caveats };
    match args.json {
        true => out::line(serde_json::to_string_pretty(&json(&measured, args.as_json(&storage)))?)?,
        false => out::painted(&text(&measured, crate::command::look()))?,
    }
    Ok(exit_code(&judgment))
}

/// A figure of rounds that disagree is shown, but a script is not to use it.
fn exit_code(judgment: &Judgment) -> ExitCode {
    match judgment.verdict {
        Verdict::Found => ExitCode::SUCCESS,
        Verdict::NotLevel | Verdict::Flat | Verdict::Unsteady => ExitCode::from(NOT_VALID),
    }
}

fn measure(session: &Session, plan: &SweepPlan, disk: DiskPlan) -> Result<Option<Sweep>> {
    let mut view = View::new(mode(session, false));
    let mut tell = |text: String, left_s: f64| {
        let text = format!("{text}, {} left", format::seconds(left_s.ceil()));
        view.show(&ProgressEvent::Step { text });
    };
    on_engine(disk, |disk| sweep(disk, plan, &session.stop, &mut tell))
}
