//! Which servers the study measures, and what private ones are like.

use super::flags::Args;
use crate::command::Session;
use crate::config::units;
use crate::failure::WithHint;
use crate::server::place;
use anyhow::{Context, Result, anyhow};
use evenkeel_sense::cpu::Domain;
use evenkeel_site::sandbox::{self, CpuSet};
use evenkeel_site::server::{Target, without_password};
use evenkeel_study::variation::record::{PRIVATE, TargetRecord};

/// Servers in their order.
pub fn targets(session: &Session, args: &Args) -> Result<Vec<TargetRecord>> {
    if args.targets.is_empty() {
        if let Some(reset) = args.reset.first() {
            return Err(anyhow!(
                "--reset {reset:?} is for a server of yours; private ones are restarted anyway"
            ))
            .hint("name your server, or leave --reset out");
        }
        return Ok((1..=args.servers).map(private).collect());
    }
    let mut found = Vec::new();
    for (at, text) in args.targets.iter().enumerate() {
        check(session, text)?;
        found.push(TargetRecord {
            name: format!("t{}", at + 1),
            url: text.clone(),
            reset: reset_of(args, text)?,
        });
    }
    named_resets(args)?;
    Ok(found)
}

fn private(number: u32) -> TargetRecord {
    TargetRecord { name: format!("t{number}"), url: PRIVATE.to_owned(), reset: None }
}

/// A server that is not there, or a password that would be kept, is told before anything starts.
fn check(session: &Session, text: &str) -> Result<()> {
    if let Some((name, _)) = place::named(text, "") {
        let found = sandbox::find(&session.home, name);
        found.map(drop).with_context(|| format!("looking for sandbox {name}"))?;
        return Ok(());
    }
    Target::parse(text)?;
    if without_password(text) != *text {
        return Err(anyhow!(
            "the URL of {} has a password in it, which the study would keep",
            without_password(text)
        ))
        .hint("give it by EVENKEEL_PASSWORD, or by ?defaults-file=FILE in the URL");
    }
    Ok(())
}

/// Refuses a workload of the user's own that writes or locks on servers that may have other users, unless that is allowed.
pub fn check_writes(session: &Session, args: &Args) -> Result<()> {
    for url in args.targets.iter().filter(|url| place::is_of_others(url) && !args.allow_writes) {
        let target = place::target(session, url, &args.workload)?;
        let workload = place::remote_workload(session, &args.workload, &target)?;
        let asked = (url.as_str(), args.workload.as_str(), args.allow_writes);
        place::check_writes(session, asked, &target, workload.as_ref())?;
    }
    Ok(())
}

/// The command behind a server's URL.
fn reset_of(args: &Args, url: &str) -> Result<Option<String>> {
    let own = args.reset.iter().filter_map(|text| text.strip_prefix(url)?.strip_prefix('='));
    let own: Vec<&str> = own.collect();
    match own.as_slice() {
        [] => Ok(None),
        [command] if !command.trim().is_empty() && !url.starts_with("sandbox:") => {
            Ok(Some((*command).to_owned()))
        }
        [_] if url.starts_with("sandbox:") => {
            Err(anyhow!("--reset for {url}: sandboxes are restarted anyway")).hint("leave it out")
        }
        [_] => Err(anyhow!("--reset for {url} has no command")).hint("write it as --reset 'URL=COMMAND'"),
        _ => Err(anyhow!("there are several --reset for {url}")).hint("give one command for each server"),
    }
}

/// Every command has to belong to a server.
fn named_resets(args: &Args) -> Result<()> {
    let belongs = |text: &&String| {
        args.targets
            .iter()
            .any(|url| text.strip_prefix(url.as_str()).is_some_and(|rest| rest.starts_with('=')))
    };
    match args.reset.iter().find(|text| !belongs(text)) {
        None => Ok(()),
        Some(text) => Err(anyhow!("--reset {text:?} belongs to none of the servers"))
            .hint("it begins with the URL of a server as on the command line, followed by = and the command"),
    }
}

/// A pool in percent of the tables.
pub fn pool(args: &Args) -> Result<f64> {
    if !(args.pool > 0.0 && args.pool <= 1_000.0) {
        return Err(anyhow!("--pool {} is not a share of the tables", args.pool))
            .hint("write it in percent, as --pool 20");
    }
    Ok(args.pool)
}

/// Settings of private servers.
pub fn settings(args: &Args) -> Result<Vec<String>> {
    let checked = |setting: &String| match setting.split_once('=') {
        Some((name, value)) => Ok(format!("{}={}", name.trim().replace('-', "_"), value.trim())),
        None => {
            Err(anyhow!("--set {setting:?} is not a setting")).hint("write it as innodb_flush_method=fsync")
        }
    };
    args.set.iter().map(checked).collect()
}

/// CPUs of private servers, as a list; empty for all.
pub fn server_cpus(args: &Args) -> Result<String> {
    match &args.cpus {
        Some(text) => Ok(units::machine_cpus(text, "--cpus")?.to_string()),
        None if args.duet || !args.targets.is_empty() => Ok(String::new()),
        None => {
            let own = own_cpus();
            Ok(own[..(own.len() - 1).max(1)].iter().copied().collect::<CpuSet>().to_string())
        }
    }
}

/// CPUs of the load threads; empty where they run on any.
pub fn generator_cpus(args: &Args) -> Result<Vec<usize>> {
    let cpus: CpuSet = match &args.generator_cpus {
        Some(text) => units::machine_cpus(text, "--generator-cpus")?,
        None if args.duet || !args.targets.is_empty() => CpuSet::default(),
        None => own_cpus().last().copied().into_iter().collect(),
    };
    Ok(cpus.iter().map(|cpu| cpu as usize).collect())
}

fn own_cpus() -> Vec<u32> {
    let own: Vec<u32> = Domain::Process(std::process::id()).cpus().iter().flat_map(CpuSet::iter).collect();
    if own.is_empty() { vec![0] } else { own }
}
