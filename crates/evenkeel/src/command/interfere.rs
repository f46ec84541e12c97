//! `evenkeel interfere`: who slows whom down, of jobs in several domains.

use super::Session;
use crate::failure::WithHint;
use crate::study::published;
use crate::study::stored::check_name;
use anyhow::{Context, Result, anyhow};
use clap::builder::NonEmptyStringValueParser;
use clap::value_parser;
use evenkeel_lab::workload::similar;
use evenkeel_site::sandbox::Domain;
use evenkeel_site::server::{Target, without_password};
use evenkeel_study::harness::Plan;
use evenkeel_study::interfere::jobs::{JOBS, Job};
use evenkeel_study::interfere::tables::BLOCK_ROWS;
use evenkeel_study::interfere::{NAME, Setting, Site, names, parts, remedy};
use evenkeel_study::published::MachineRecord;
use std::collections::BTreeSet;
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
  evenkeel interfere --at cpus=0 --at cpus=0 --at cpus=1 --triples --jobs read,load
      is it worse beside two?
  evenkeel interfere --server guest=mysql://root@192.168.122.10 --server other=mysql://root@192.168.122.11 \
    --scratch evenkeel_scratch --sense-with guest='ssh guest evenkeel sense' --sense-with other='ssh other evenkeel sense'
      two virtual machines on one host; the password is in EVENKEEL_PASSWORD
  evenkeel study --resume last
      continue one that was stopped

Jobs: load (LOAD DATA), select (ranges, groups and sorts of a whole table), read (by primary key), write (an insert and an update, \
committed), cpu (a process that spins on each CPU of the domain), disk \
(direct I/O by fio, which must be installed, and a --home on a disk), net (a TCP connection from the domain to the machine, by iperf3, \
which must be installed), clone (copies of the domain's data directory), idle (nothing, as a control).

A job is compared with itself alone: in every repeat each job runs alone and beside each job of the other domains, in random order. \
Tables are checked after every run.

Exit codes: 0 done; 2 wrong use, or a server that does not start; 130, 143 stopped by Ctrl-C, SIGTERM: finished runs are kept.")]
pub struct Args {
    /// A domain: `host`, or any of cpus=0-1, quota=50%, weight=400, memory=512M, disk-iops=300, disk-rate=20M, file-disk=20G, net=20M
    /// with commas between, as in `sandbox up`; given twice, with --triples three times [default: host, host]
    #[arg(long, value_name = "DOMAIN")]
    pub at: Vec<Domain>,
    /// A server of yours, a virtual machine say, as a domain: its name and URL, beside or instead of --at. Its jobs are load, select,
    /// read, write and idle
    #[arg(long, value_name = "NAME=URL", value_parser = named_value, requires = "scratch")]
    pub server: Vec<Named>,
    /// The schema on each --server in which the jobs work; it must not exist yet, is made,
    /// and dropped at the end
    #[arg(long, value_name = "SCHEMA", requires = "server", value_parser = NonEmptyStringValueParser::new())]
    pub scratch: Option<String>,
    /// A command whose output shows the machine of a --server, as in `profile`: NAME='ssh db1 evenkeel sense'
    #[arg(long, value_name = "NAME=COMMAND", value_parser = named_value)]
    pub sense_with: Vec<Named>,
    /// Three domains: each job also beside each pair of neighbours; give --at three times
    #[arg(long)]
    pub triples: bool,
    /// Jobs of all domains; given once for each, those of each [default: load,select,read,write,cpu; --quick: select,write,cpu,idle]
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
    /// The mariadbd or mysqld of the private servers [default: the system's mariadbd]
    #[arg(long, value_name = "FILE")]
    pub server_binary: Option<PathBuf>,
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

/// `NAME=VALUE`.
#[derive(Clone, Debug)]
pub struct Named {
    name: String,
    value: String,
}

fn named_value(text: &str) -> Result<Named, String> {
    let (name, value) = text.split_once('=').unwrap_or_default();
    // It stands in tables, and in names of figures and folders.
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    match (2..=12).contains(&name.len()) && name.chars().all(fits) && !value.is_empty() {
        true => Ok(Named { name: name.to_owned(), value: value.to_owned() }),
        false => Err("write it as NAME=..., the name of 2 to 12 small letters and digits".to_owned()),
    }
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
    let domains = domains(args)?;
    if args.remedy && !matches!(domains[..], [Site::Private(_), Site::Private(_)]) {
        return Err(anyhow!("--remedy changes the domains of two private servers"))
            .hint("give --at twice, without --server and --triples");
    }
    let names = names(&domains);
    let jobs = jobs(args, &domains, &names)?;
    let repeats = args.repeats.unwrap_or(REPEATS);
    let mut parts = parts(&names, &jobs, repeats);
    parts.extend(args.remedy.then(|| remedy::parts(repeats)).into_iter().flatten());
    let setting = Setting {
        domains,
        scratch: args.scratch.clone(),
        rows: args.rows / BLOCK_ROWS * BLOCK_ROWS,
        seconds: args.seconds.unwrap_or(if args.quick { 1 } else { 4 }).into(),
        place: MachineRecord::here(args.server_binary.as_deref()),
    };
    published::plan(NAME, args.seed, parts, &setting)
}

/// All domains: private ones, and servers of the user's.
fn domains(args: &Args) -> Result<Vec<Site>> {
    let mut all: Vec<Site> = args.at.iter().cloned().map(Site::Private).collect();
    for Named { name, value: url } in &args.server {
        Target::parse(url).with_context(|| format!("reading --server {name}"))?;
        if without_password(url) != *url {
            return Err(anyhow!(
                "the URL of --server {name} has a password, and the plan of a study keeps none"
            ))
            .hint("set EVENKEEL_PASSWORD, or name a file with it: ?defaults-file=FILE");
        }
        let sense_with = args.sense_with.iter().find(|command| command.name == *name);
        let sense_with = sense_with.map(|command| command.value.clone());
        all.push(Site::Server { name: name.clone(), url: url.clone(), sense_with });
    }
    if all.is_empty() && !args.triples {
        return Ok(vec![Site::Private(Domain::default()); 2]);
    }
    let (names, wanted) = (names(&all), if args.triples { 3 } else { 2 });
    if let Some(stray) = args.sense_with.iter().find(|command| !names.contains(&command.name)) {
        return Err(anyhow!("--sense-with names {0}, but there is no --server {0}", stray.name))
            .hint("give both the same name");
    }
    if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
        return Err(anyhow!("two domains have one name: {}", names.join(", ")))
            .hint("give each another name");
    }
    if all.len() != wanted {
        let compared = if args.triples { "three domains with --triples" } else { "two domains" };
        let given = if all.len() == 1 { "one is".to_owned() } else { format!("{} are", all.len()) };
        return Err(anyhow!("interfere compares {compared}, and {given} given: {}", names.join(", ")))
            .hint(format!("give --at and --server {wanted} times in all"));
    }
    Ok(all)
}

/// The jobs of each domain. A server of the user's gets those that need none of ours.
fn jobs(args: &Args, domains: &[Site], names: &[String]) -> Result<Vec<Vec<&'static Job>>> {
    let default = if args.quick { &JOBS_QUICK[..] } else { &JOBS_OF_ALL };
    let lists = match args.jobs.as_slice() {
        [] => vec![default.join(","); domains.len()],
        [all] => vec![all.clone(); domains.len()],
        each if each.len() == domains.len() => each.to_vec(),
        _ => {
            return Err(anyhow!("--jobs is given {} times", args.jobs.len()))
                .hint("give it once, or once for each domain");
        }
    };
    let mut all = lists.iter().map(|list| named(list)).collect::<Result<Vec<_>>>()?;
    for ((jobs, site), name) in all.iter_mut().zip(domains).zip(names) {
        if matches!(site, Site::Private(_)) {
            continue;
        }
        if args.jobs.is_empty() {
            jobs.retain(|job| !job.is_private());
        }
        if let Some(job) = jobs.iter().find(|job| job.is_private()) {
            return Err(anyhow!("job {} needs a private server (--at); {name} is a --server", job.name))
                .hint("give --jobs once for each domain, without cpu, disk, net and clone for a --server");
        }
    }
    if all.iter().flatten().all(|job| !job.is_busy()) {
        return Err(anyhow!("job idle does nothing")).hint("name another one as well, as --jobs read,idle");
    }
    Ok(all)
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
    fn a_server_of_the_users_gets_the_jobs_that_need_no_domain_of_ours() {
        let plan = made("--at host --server db=mysql://u@h --scratch s --quick --sense-with db=x=y").unwrap();
        assert_eq!(levels(&plan), ["alone,select,write,cpu,idle", "alone,select,write,idle"]);
        assert_eq!(plan.parts[0].factors[1].name, "db");
        assert_eq!(plan.setting["domains"][1]["sense_with"], "x=y");
        let three = made("--at host --at host --at host --triples --jobs read").unwrap();
        assert_eq!(three.parts[0].combinations().len(), 8);
    }

    #[test]
    fn what_is_wrong_is_said_before_anything_starts() {
        for (line, words) in [
            ("--jobs raed", "did you mean read"),
            ("--jobs read --jobs read --jobs read", "once for each domain"),
            ("--at host", "two domains, and one is given: a give --at and --server 2 times"),
            ("--at host --at host --triples", "3 times in all"),
            ("--server db=mysql://u@h --server db=mysql://u@i --scratch s", "give each another name"),
            ("--at host --server db=mysql://u:p@h --scratch s", "EVENKEEL_PASSWORD"),
            (
                "--at host --server db=mysql://u@h --scratch s --sense-with dc=x",
                "but there is no --server dc",
            ),
            (
                "--at host --server db=mysql://u@h --scratch s --jobs read,cpu",
                "job cpu needs a private server (--at); db is a --server",
            ),
        ] {
            let error = made(line).unwrap_err();
            let told = format!("{error:#} {}", crate::failure::hint(&error).unwrap_or_default());
            assert!(told.contains(words), "{line}: {told}");
        }
    }
}
