//! `evenkeel study variation`: its flags, and the plan that they make.

mod flags;
mod servers;

use crate::command::Session;
use crate::config::{mu, units, workload};
use crate::failure::WithHint;
use crate::server::place;
use crate::study::published::{self, Show};
use crate::{format, out};
use anyhow::{Context, Result, anyhow};
use evenkeel_sense::Machine;
use evenkeel_study::harness::{Part, Plan};
use evenkeel_study::variation::parts::{Extent, parts};
use evenkeel_study::variation::record::{DataRecord, MachineRecord, MuRecord, Setting};
use evenkeel_study::variation::{NAME, time};
use std::process::ExitCode;

pub use flags::Args;

/// Makes the study, or goes on with one, and prints what came out.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let show = Show { json: args.json, out: args.out.as_ref() };
    if let Some(name) = &args.resume {
        return published::resume(session, NAME, name, &show);
    }
    let setting = setting(session, args)?;
    let plan = plan(args, &setting)?;
    if !session.quiet {
        out::tell(&before(&plan, &setting));
    }
    published::start(session, &plan, &show)
}

fn setting(session: &Session, args: &Args) -> Result<Setting> {
    let workload_file = workload_file(args)?;
    let targets = servers::targets(session, args)?;
    if args.duet && targets.len() < 2 {
        return Err(anyhow!("--duet asks several servers at once, and there is one"))
            .hint("name a second one, or leave --duet out");
    }
    if workload_file.is_some() {
        servers::check_writes(session, args)?;
    }
    let machine = Machine::read(None);
    Ok(Setting {
        targets,
        workload: args.workload.clone(),
        workload_file,
        runs_of_start: args.runs,
        mu: mu::parse(&args.mu, None)?
            .map(|plan| MuRecord { share_percent: 100.0 * plan.share, told_by: plan.told_by }),
        warm_up_s: seconds(args.warm_up.as_deref(), "--warm-up", (args, [2.0, 1.0, 10.0]), 0.0)?,
        duration_s: seconds(args.duration.as_deref(), "--duration", (args, [10.0, 3.0, 180.0]), 1.0)?,
        timeout_s: units::positive(&args.timeout, "--timeout")?.as_secs_f64(),
        duet: args.duet,
        data: DataRecord {
            ebs: args.ebs,
            items: args.items,
            seed: args.seed,
            via: args.via.name().to_owned(),
        },
        pool_percent: servers::pool(args)?,
        settings: servers::settings(args)?,
        server_cpus: servers::server_cpus(args)?,
        generator_cpus: servers::generator_cpus(args)?,
        may_differ: args.may_differ,
        machine: MachineRecord {
            processor: machine.processor.model,
            cpus: machine.cpus.as_ref().map(ToString::to_string),
            hypervisor: machine.hypervisor.name,
            server_binary: args.server_binary.as_ref().map(|path| path.display().to_string()),
        },
    })
}

/// The text of a workload file, which was understood; `None` for one that has a name.
fn workload_file(args: &Args) -> Result<Option<String>> {
    if !place::is_file(&args.workload) {
        place::check_workload(&args.workload)?;
        return Ok(None);
    }
    let text = workload::text(args.workload.as_ref())?;
    workload::parse(&args.workload, &text)?;
    Ok(Some(text))
}

/// A time by its flag, or what holds without it: usually, with --quick, with --full.
fn seconds(text: Option<&str>, flag: &str, (args, usual): (&Args, [f64; 3]), least: f64) -> Result<f64> {
    let Some(text) = text else { return Ok(by_extent(args, usual)) };
    let seconds = units::duration(text).with_context(|| format!("reading {flag}"))?.as_secs_f64();
    if seconds < least {
        return Err(anyhow!("{flag} {text} is too short to see anything")).hint("give it a second or more");
    }
    Ok(seconds)
}

fn by_extent<T: Copy>(args: &Args, [usual, quick, full]: [T; 3]) -> T {
    match (args.quick, args.full) {
        (true, _) => quick,
        (_, true) => full,
        _ => usual,
    }
}

fn plan(args: &Args, setting: &Setting) -> Result<Plan> {
    let ten: Vec<u32> = (1..=10).map(|tenth| 10 * tenth).collect();
    let mut levels = match (args.rate.as_slice(), args.load.as_slice()) {
        ([_, ..], _) => args.rate.clone(),
        (_, [_, ..]) => args.load.clone(),
        _ if args.full => ten,
        _ => vec![30, 60, 85],
    };
    levels.sort_unstable();
    levels.dedup();
    let extent = Extent {
        levels,
        are_rates: !args.rate.is_empty(),
        simple: if args.quick { vec![30, 60, 150] } else { vec![20, 50, 80, 120, 150] },
        write: if args.quick { vec![60] } else { vec![20, 50, 80] },
        class: if args.quick { vec![60] } else { vec![40, 80] },
        storage: if args.quick { vec![60] } else { vec![20, 50, 80] },
        pools: if args.quick { vec![20, 100] } else { vec![20, 40, 60, 80, 100] },
        starts: args.starts.unwrap_or_else(|| by_extent(args, [5, 3, 10])),
        other_starts: args.starts.unwrap_or_else(|| by_extent(args, [3, 2, 10])),
        class_starts: args.starts.unwrap_or_else(|| by_extent(args, [3, 1, 10])),
    };
    published::plan(
        NAME,
        args.seed,
        published::chosen(
            &args.parts,
            parts(setting, &extent),
            "; the other parts take private servers without --duet, --rate and --workload",
        )?,
        setting,
    )
}

/// How much it will be, and how long it will take.
fn before(plan: &Plan, setting: &Setting) -> String {
    let runs: usize = plan.parts.iter().map(Part::runs).sum();
    let lasts = published::lasts(time::whole_s(setting, &plan.parts));
    format!(
        "{} on {}: about {lasts}\n",
        format::counted(runs, "run"),
        format::counted(setting.targets.len(), "server")
    )
}

#[cfg(test)]
mod tests;
