//! `evenkeel study telecom`: its flags, and the plan that they make.

use crate::command::Session;
use crate::failure::WithHint;
use crate::study::published::{self, Show};
use crate::{format, out};
use anyhow::{Context, Result, anyhow};
use evenkeel_os::free_bytes;
use evenkeel_sense::Machine;
use evenkeel_study::harness::{Part, Plan};
use evenkeel_study::telecom::parts;
use evenkeel_study::telecom::record::{DEFAULT_RECORDS, MachineRecord, QUICK_RECORDS, Setting};
use evenkeel_study::telecom::{NAME, time};
use std::path::PathBuf;
use std::process::ExitCode;

/// Numbers of records have ten digits.
const RECORDS_MAX: u64 = 1_000_000_000;

/// Flags of `evenkeel study telecom`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel study telecom
      about 20 minutes on two cores
  evenkeel study telecom --quick
      a rough look within three minutes, one run of each
  evenkeel study telecom --records 1000000 --parts load,crash
  evenkeel study telecom --records 70000000 --repeats 1
      the published size: it takes days, and says how many before it begins
  evenkeel study telecom --resume last

Synthetic call records of three days on a private server: exported, loaded (InnoDB untuned and tuned, MyISAM, Aria; indexes \
before and after), cut by a server that is killed, dispatched to a table for each day, and the whole chain with and without \
separators from the source. Every load is audited, record by record. Each figure is shown beside the published one.

Exit codes: 0 done; 2 wrong use, no server, or a record that was lost or doubled; 130, 143 stopped by Ctrl-C, SIGTERM: finished \
runs are kept (continue with --resume).")]
pub struct Args {
    /// A rough look within three minutes: 10,000 records a day, one run of each
    #[arg(long)]
    quick: bool,
    /// Records of a day [default: 100000; --quick: 10000; published: 70000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1_000..=RECORDS_MAX))]
    records: Option<u64>,
    /// Days of records, one file each
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=31))]
    days: u32,
    /// Runs of each combination [default: 3; --quick: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: Option<u32>,
    /// Only these parts: export, load, crash, dispatch, days
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    parts: Vec<String>,
    /// Seed of records and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The server's program [default: mariadbd in PATH and the usual places]
    #[arg(long, value_name = "FILE")]
    server_binary: Option<PathBuf>,
    /// File for the page [default: report.html in the study's folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Continue a stopped study: its folder, its name or a prefix of it, or `last`
    #[arg(long, value_name = "STUDY")]
    resume: Option<String>,
    /// Results as JSON
    #[arg(long)]
    json: bool,
}

/// Makes the study, or goes on with one, and prints what came out.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let show = Show { json: args.json, out: args.out.as_ref() };
    if let Some(name) = &args.resume {
        return published::resume(session, NAME, name, &show);
    }
    let setting = setting(args);
    check_space(session, &setting)?;
    let plan = plan(args, &setting)?;
    if !session.quiet {
        out::tell(&before(&plan, &setting));
    }
    published::start(session, &plan, &show)
}

fn setting(args: &Args) -> Setting {
    let records = args.records.unwrap_or(if args.quick { QUICK_RECORDS } else { DEFAULT_RECORDS });
    let machine = Machine::read(None);
    Setting {
        records,
        days: args.days,
        pool_mib: Setting::pool_for(records, machine.memory_bytes),
        place: MachineRecord {
            processor: machine.processor.model,
            cpus: machine.cpus.as_ref().map(ToString::to_string),
            hypervisor: machine.hypervisor.name,
            server_binary: args.server_binary.as_ref().map(|path| path.display().to_string()),
        },
    }
}

fn plan(args: &Args, setting: &Setting) -> Result<Plan> {
    let all = parts::parts(setting, args.repeats.unwrap_or(if args.quick { 1 } else { 3 }));
    published::plan(NAME, args.seed, published::chosen(&args.parts, all, "")?, setting)
}

/// How much it will be, and how long it will take.
fn before(plan: &Plan, setting: &Setting) -> String {
    let runs: usize = plan.parts.iter().map(Part::runs).sum();
    let lasts = published::lasts(time::whole_s(setting, &plan.parts));
    format!(
        "{} of {} days with {} records each: about {lasts} on two cores, and up to {} of disk\n",
        format::counted(runs, "run"),
        setting.days,
        format::count(setting.records),
        format::bytes(setting.disk_bytes())
    )
}

/// A disk that fills up in the middle of the night is known in the evening.
fn check_space(session: &Session, setting: &Setting) -> Result<()> {
    std::fs::create_dir_all(&session.home).with_context(|| format!("making {}", session.home.display()))?;
    let doing = || format!("asking how much room {} has", session.home.display());
    let (free, needs) = (free_bytes(&session.home).with_context(doing)?, setting.disk_bytes());
    if free < needs {
        let text = format!(
            "{} has {} free, and {} records of {} days need up to {}",
            session.home.display(),
            format::bytes(free),
            format::count(setting.records),
            setting.days,
            format::bytes(needs)
        );
        return Err(anyhow!(text)).hint("take fewer --records or --days, or another --home");
    }
    Ok(())
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

    fn args(flags: &[&str]) -> Args {
        Line::try_parse_from([&["x"], flags].concat()).map(|line| line.args).expect("flags")
    }

    #[test]
    fn what_will_be_done_is_said_before_with_its_minutes_or_hours() {
        let said = |flags: &[&str]| {
            let args = args(flags);
            let setting = setting(&args);
            before(&plan(&args, &setting).expect("a plan"), &setting)
        };
        assert!(
            said(&[]).starts_with("60 runs of 3 days with 100,000 records each: about "),
            "{}",
            said(&[])
        );
        assert!(said(&["--quick"]).starts_with("20 runs of 3 days with 10,000 records each: about "));
        assert!(said(&["--records", "70000000"]).contains(" hours "), "{}", said(&["--records", "70000000"]));
    }

    #[test]
    fn parts_are_those_asked_for_and_what_is_none_is_named() {
        let args = args(&["--parts", "crash,load", "--quick"]);
        let made = plan(&args, &setting(&args)).expect("a plan");
        let names: Vec<&str> = made.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["load", "crash"]);
        let error =
            published::chosen(&["loads".to_owned()], parts::parts(&Setting::default(), 1), "").unwrap_err();
        assert_eq!(error.root_cause().to_string(), "there is no part \"loads\" here");
    }
}
