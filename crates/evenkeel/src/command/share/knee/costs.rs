//! `evenkeel share knee --costs`: what I/Os cost.

use super::flags::{KneeArgs, SEED};
use crate::command::{Session, mode};
use crate::config::units;
use crate::failure::{NOT_VALID, WithHint};
use crate::progress::{ProgressEvent, View};
use crate::share::knee::costs::{CostsPlan, json, measure, text};
use crate::share::knee::storage_caveats;
use crate::{out, signals};
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::share::{Costs, SIZES_MAX};
use evenkeel_share::{DiskPlan, Engine, Handle, Plan};
use std::process::ExitCode;

/// Rounds below which a standard error says little.
const ROUNDS_LEAST: u32 = 4;

/// Standard error of each throughput that is good enough.
const ERROR: f64 = 0.02;

pub fn run(session: &Session, args: &KneeArgs) -> Result<ExitCode> {
    let plan = plan(args)?;
    let largest = plan.reads.iter().copied().max().unwrap_or_default();
    let disk = args.open(largest.into(), !args.more.overwrite)?;
    let storage = args.storage(&disk);
    let mut view = View::new(mode(session, false));
    let mut tell = |text: String| view.show(&ProgressEvent::Step { text });
    let Some(found) = on_engine(disk, |disk| measure(disk, &plan, &session.stop, &mut tell))? else {
        return Ok(interrupted(session));
    };
    drop(view);
    let caveats = storage_caveats(&storage);
    match args.json {
        true => {
            let value = json(&found, &plan, &caveats, args.as_json(&storage))?;
            out::line(serde_json::to_string_pretty(&value)?)?;
        }
        false => out::painted(&text(&found, &plan, &caveats, crate::command::look())?)?,
    }
    let (_, error) = found.tables()?;
    let is_known = error <= std::f64::consts::SQRT_2 * plan.error;
    Ok(if is_known { ExitCode::SUCCESS } else { ExitCode::from(NOT_VALID) })
}

fn plan(args: &KneeArgs) -> Result<CostsPlan> {
    let flags = &args.more;
    let size = |text: &String| Ok(u32::try_from(args.block(text, "--sizes")?)?);
    let mut sizes: Vec<u32> = flags.sizes.iter().map(size).collect::<Result<_>>()?;
    sizes.sort_unstable();
    sizes.dedup();
    if !(1..SIZES_MAX).contains(&sizes.len()) {
        return Err(anyhow!("--sizes has {} sizes", sizes.len())).hint("1 to 7, as 4k,16k,64k,256k");
    }
    let time = |text: &str, flag: &'static str| -> Result<Nanos> { units::duration(text).context(flag) };
    Ok(CostsPlan {
        writes: if flags.overwrite { sizes.clone() } else { Vec::new() },
        reads: sizes,
        depth_most: args.depth_max,
        step: args.step()?,
        rounds: args.rounds.max(ROUNDS_LEAST),
        error: ERROR,
        limit: time(&flags.limit, "--limit")?,
        fill: time(&flags.fill, "--fill")?,
        seed: SEED,
    })
}

// The engine through which both measurements go, and their end where somebody stops them.

/// Measures on an engine in front of a disk.
pub fn on_engine<T>(disk: DiskPlan, measure: impl FnOnce((Handle, u64)) -> Result<T>) -> Result<T> {
    let bytes = disk.backing.bytes();
    // An infinite window: the loop alone says how many are outstanding. Nobody comes by a socket.
    let engine =
        Engine::start(Plan { disks: vec![disk], window: f64::INFINITY, costs: Costs::default(), memory: 0 })?;
    match measure((engine.handle(), bytes)) {
        Ok(swept) => {
            engine.stop()?;
            Ok(swept)
        }
        Err(error) => {
            // An engine waits for its last read, and storage that answers no more would keep the message for ever. There
            // is nothing to flush.
            std::mem::forget(engine);
            Err(error)
        }
    }
}

/// Says that a measurement was stopped, and gives its exit code.
pub fn interrupted(session: &Session) -> ExitCode {
    if !session.quiet {
        out::tell("stopped; there is no result before all rounds have ended\n");
    }
    signals::exit_code()
}
