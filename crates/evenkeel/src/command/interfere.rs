//! `evenkeel interfere`: who slows whom down, of jobs in two domains.

use super::Session;
use crate::failure::WithHint;
use crate::study::published;
use crate::study::stored::check_name;
use anyhow::{Result, anyhow};
use clap::value_parser;
use evenkeel_lab::workload::similar;
use evenkeel_site::sandbox::Domain;
use evenkeel_study::harness::Plan;
use evenkeel_study::interfere::jobs::{JOBS, Job};
use evenkeel_study::interfere::tables::BLOCK_ROWS;
use evenkeel_study::interfere::{DOMAINS, NAME, Setting, parts, remedy};
use evenkeel_study::published::MachineRecord;
use std::path::PathBuf;
use std::process::ExitCode;

const JOBS_OF_ALL: [&str; 5] = ["load", "select", "read", "write", "cpu"];
/// Many short runs say more of a restless machine than few long ones.
const REPEATS: u32 = 5;
const JOBS_QUICK: [&str; 4] = ["select", "write", "cpu", "idle"];

/// Flags of `evenkeel interfere`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel interfere --quick
      two private servers that share the machine: a rough look within five minutes
  evenkeel interfere --at cpus=0,memory=512M --at cpus=1,memory=512M
      two domains with a CPU each
  evenkeel interfere --at cpus=0 --at cpus=0 --jobs read,write --jobs load
      does a load in b disturb the reads and writes of a?
  evenkeel interfere --at cpus=0 --at cpus=0 --jobs read --jobs cpu --remedy
      and what removes it: another CPU, a weight, a limit?
  evenkeel study --resume last
      continue one that was stopped

Jobs: load (LOAD DATA), select (ranges, groups and sorts of a whole table), read (by primary key), write (an insert and an update, \
committed), cpu (a process that spins on each CPU of the domain), disk \
(direct I/O by fio, which must be installed, and a --home on a disk), idle (nothing, as a control).

A job is compared with itself alone: in every repeat each job runs alone and beside each job of the other domain, in random order. \
Tables are checked after every run.

Exit codes: 0 done; 2 wrong use, or a server that does not start; 130, 143 stopped by Ctrl-C, SIGTERM: finished runs are kept.")]
pub struct Args {
    /// A domain: `host`, or any of cpus=0-1, quota=50%, weight=400, memory=512M, disk-iops=300, file-disk=20G, net=20M with commas between,
    /// as in `sandbox up`; given twice [default: host, host]
    #[arg(long, value_name = "DOMAIN")]
    pub at: Vec<Domain>,
    /// Jobs of both domains; given twice, those of each [default: load,select,read,write,cpu; --quick: select,write,cpu,idle]
    #[arg(long, value_name = "LIST")]
    pub jobs: Vec<String>,
    /// A short version: fewer jobs, windows of 1 s
    #[arg(long)]
    pub quick: bool,
    /// Runs of each pair [default: 5]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1_000))]
    pub repeats: Option<u32>,
    /// Tries remedies for the worst three slowdowns, each until one has removed it: other CPUs, weights, limits of CPU or disk
    #[arg(long)]
    pub remedy: bool,
    /// How long a pair is watched, in seconds [default: 4; --quick: 1]
    #[arg(long, value_name = "S", value_parser = value_parser!(u32).range(1..=3_600))]
    pub seconds: Option<u32>,
    /// Rows of the table that is read, about 300 bytes each
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = value_parser!(u64).range(1_000..=1_000_000_000))]
    pub rows: u64,
    /// Seed of rows and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Name of the study, as `report` and other commands take it [default: time and kind of study]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// The slowdowns as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let root = session.runs_dir(args.output.as_ref());
    let mut plan = plan(args)?;
    if let Some(name) = &args.name {
        check_name(&root, name)?;
        plan.id.clone_from(name);
    }
    published::start(session, &root, &plan, args.json)
}

fn plan(args: &Args) -> Result<Plan> {
    let domains = domains(&args.at)?;
    let default = if args.quick { &JOBS_QUICK[..] } else { &JOBS_OF_ALL };
    let jobs = match args.jobs.as_slice() {
        [] => [default.join(","), default.join(",")],
        [both] => [both.clone(), both.clone()],
        [a, b] => [a.clone(), b.clone()],
        _ => {
            return Err(anyhow!("--jobs is given {} times", args.jobs.len()))
                .hint("give it once, or once for each domain");
        }
    };
    let [a, b] = jobs;
    let repeats = args.repeats.unwrap_or(REPEATS);
    let mut parts = parts(&[named(&a)?, named(&b)?], repeats);
    parts.extend(args.remedy.then(|| remedy::parts(repeats)).into_iter().flatten());
    let setting = Setting {
        domains,
        rows: args.rows / BLOCK_ROWS * BLOCK_ROWS,
        seconds: args.seconds.unwrap_or(if args.quick { 1 } else { 4 }).into(),
        place: MachineRecord::here(None),
    };
    published::plan(NAME, args.seed, parts, &setting)
}

/// Both domains.
fn domains(at: &[Domain]) -> Result<[Domain; 2]> {
    match at {
        [] => Ok(DOMAINS.map(|_| Domain::default())),
        [a, b] => Ok([a.clone(), b.clone()]),
        _ => Err(anyhow!("there are {} domains", at.len()))
            .hint("give --at twice, or leave it out for two that share the machine"),
    }
}

/// The jobs of a list, each once.
fn named(list: &str) -> Result<Vec<&'static Job>> {
    let mut found: Vec<&'static Job> = Vec::new();
    for name in list.split(',') {
        let Some(job) = Job::named(name) else {
            let names = JOBS.iter().map(|job| job.name);
            let near = similar(name, names.clone());
            let near = near.first().map_or_else(String::new, |near| format!("did you mean {near}? "));
            return Err(anyhow!("there is no job {name:?}"))
                .hint(format!("{near}there is {}", names.collect::<Vec<_>>().join(", ")));
        };
        if !found.contains(&job) {
            found.push(job);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn made(line: &str) -> Result<Plan> {
        let words = std::iter::once("x").chain(line.split_whitespace());
        plan(&Line::try_parse_from(words).expect("flags").args)
    }

    fn levels(plan: &Plan) -> Vec<String> {
        let names = |factor: &evenkeel_study::harness::Factor| {
            factor.levels.iter().map(|level| level.name.as_str()).collect::<Vec<_>>().join(",")
        };
        plan.parts[0].factors.iter().map(names).collect()
    }

    #[test]
    fn jobs_are_of_both_domains_or_of_each() {
        let both = made("--jobs read,idle,read").unwrap();
        assert_eq!(levels(&both), ["alone,read,idle", "alone,read,idle"]);
        let each = made("--jobs read --jobs load,cpu --at cpus=0+1 --at host --repeats 2").unwrap();
        assert_eq!(
            (levels(&each), each.parts[0].runs()),
            (vec!["alone,read".into(), "alone,load,cpu".into()], 12)
        );
        assert_eq!(each.setting["domains"][0], "cpus=0-1");
        assert_eq!(levels(&made("--quick").unwrap())[1], "alone,select,write,cpu,idle");
        assert_eq!((made("").unwrap().parts.len(), made("--remedy").unwrap().parts.len()), (1, 13));
    }

    #[test]
    fn what_is_wrong_is_said_before_anything_starts() {
        for (line, words) in [
            ("--jobs raed", "did you mean read"),
            ("--jobs read --jobs read --jobs read", "once for each domain"),
            ("--at host", "give --at twice"),
        ] {
            let error = made(line).unwrap_err();
            let told = format!("{error:#} {}", crate::failure::hint(&error).unwrap_or_default());
            assert!(told.contains(words), "{line}: {told}");
        }
    }
}
