//! Which servers a profile measures, with which data and factors.

use super::flags::{Args, numbers, server_cpus};
use super::variant::{self, Factors};
use crate::console::Session;
use crate::failure::WithHint;
use crate::server::{data, place};
use anyhow::{Result, anyhow};
use evenkeel_lab::data::{DataSet, Via};
use evenkeel_lab::workload::Workload;
use evenkeel_site::elsewhere::Elsewhere;
use evenkeel_site::sandbox::{CpuSet, DiskLimit, SandboxSpec, check_server};
use evenkeel_site::server::Target;
use evenkeel_study::profile::{Reset, SeriesSpec, ServerSpec, SiteSpec};
use evenkeel_study::store::format::TargetRecord;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Servers with their data, and what is measured on them.
#[derive(Default)]
pub struct Servers {
    pub sites: Vec<SiteSpec>,
    /// Combinations of factors other than the rate.
    pub series: Vec<SeriesSpec>,
    pub targets: Vec<TargetRecord>,
}

/// Private servers that live as long as the study.
pub fn private(session: &Session, args: &Args, factors: &Factors, workload: &str) -> Result<Servers> {
    check(args)?;
    let set = data::set(workload, &args.data, items(args, factors))?;
    let cpus = server_cpus(args);
    let limit = args.server.at.disk;
    let mut servers = Servers::default();
    for target in 0..args.sandboxes as usize {
        let label = target_label(target);
        for (place, layout) in factors.layouts.iter().enumerate() {
            let via = layout.unwrap_or(args.data.rows.via);
            let sandbox = private_sandbox(session, args, set, via, &label)?;
            let data = data::spec(set, args.data.rows.data_seed, via, None);
            let site = servers.sites.len();
            if place == 0 {
                servers.targets.push(target_record(&label, &sandbox, &cpus));
            }
            servers.sites.push(SiteSpec {
                target_label: label.clone(),
                place: ServerSpec::Sandbox { sandbox, data: (!place::is_file(workload)).then_some(data) },
                elsewhere: None,
                of_others: false,
                sql: Vec::new(),
            });
            for pool in &factors.pools {
                for disk in factors.disks(limit) {
                    servers.series.push(SeriesSpec {
                        label: variant::label(*pool, *layout, &disk, &label, args.sandboxes as usize),
                        target,
                        site,
                        workload: private_workload(workload, set)?,
                        pool: *pool,
                        disk: disk.limit,
                        layout: via.to_string(),
                        levels: disk.levels,
                    });
                }
            }
        }
    }
    Ok(servers)
}

/// The private server whose data came in this way.
fn private_sandbox(
    session: &Session,
    args: &Args,
    set: DataSet,
    via: Via,
    label: &str,
) -> Result<SandboxSpec> {
    let program = args.server.server_binary.as_deref();
    // Each version of a server keeps data of its own.
    let of = program.map(|path| check_server(Some(path))).transpose()?.unwrap_or_default();
    let of = of.to_lowercase().replace([' ', '.'], "-");
    let name = sandbox_name(set, args.data.rows.data_seed, via.word(), label);
    let name = if of.is_empty() { name } else { format!("{name}-{of}") };
    let mut sandbox = crate::server::place::spec(session, &args.server, name)?;
    sandbox.domain.cpus = Some(server_cpus(args));
    Ok(sandbox)
}

/// A workload of the user's asks tables that only a server of the user's has.
fn private_workload(workload: &str, set: DataSet) -> Result<Arc<dyn Workload>> {
    if place::is_file(workload) {
        crate::config::workload::text(Path::new(workload))?;
        return Err(anyhow::anyhow!("{workload} uses tables that a private server does not have"))
            .hint("name a server: mysql://user@host/database, or start one with data by `evenkeel sandbox up demo`, fill it by `evenkeel sandbox shell demo`, and name it sandbox:demo/DATABASE");
    }
    place::workload(workload, set)
}

pub fn remote(session: &Session, args: &Args, workload: &str, reset: &Reset) -> Result<Servers> {
    let elsewhere = of(args)?;
    let mut servers = Servers::default();
    for (index, text) in args.targets.iter().enumerate() {
        let target = place::target(session, text, workload)?;
        let label = match place::named(text, workload) {
            _ if args.targets.len() > 1 => target_label(index),
            Some((name, _)) => name.to_owned(),
            None => target.address.to_string(),
        };
        servers.targets.push(TargetRecord {
            label: label.clone(),
            url: if text.starts_with("sandbox:") { text.clone() } else { target.to_string() },
            cpus: Vec::new(),
            memory_bytes: None,
        });
        servers.series.push(SeriesSpec {
            label: label.clone(),
            target: index,
            site: index,
            workload: allowed_workload(session, (text, workload, args.allow_writes), &target)?,
            pool: None,
            disk: DiskLimit::default(),
            layout: "as-is".to_owned(),
            levels: BTreeMap::new(),
        });
        servers.sites.push(SiteSpec {
            target_label: label,
            place: place_of(session, text, workload, target, reset),
            elsewhere: elsewhere.get(index).cloned(),
            of_others: place::is_of_others(text),
            sql: Vec::new(),
        });
    }
    Ok(servers)
}

fn allowed_workload(
    session: &Session,
    asked: (&str, &str, bool),
    target: &Target,
) -> Result<Arc<dyn Workload>> {
    let workload = place::remote_workload(session, asked.1, target)?;
    place::check_writes(session, asked, target, workload.as_ref())?;
    Ok(workload)
}

/// A named private server is the study's to restart where it is reset in full.
fn place_of(session: &Session, text: &str, workload: &str, target: Target, reset: &Reset) -> ServerSpec {
    match place::named(text, workload) {
        Some((name, database)) if *reset == Reset::Full => ServerSpec::Named {
            home: session.home.clone(),
            name: name.to_owned(),
            database: database.to_owned(),
        },
        _ => ServerSpec::Remote(target),
    }
}

/// `a`, `b` ... `z`, then numbers.
fn target_label(index: usize) -> String {
    ('a'..='z').nth(index).map_or_else(|| (index + 1).to_string(), String::from)
}

fn sandbox_name(set: DataSet, seed: u64, via: &str, label: &str) -> String {
    let size = match set {
        DataSet::Tpcw(scale) => format!("{}-{}", scale.ebs(), scale.items()),
        DataSet::DvdStore(size) => size.to_string(),
    };
    format!("{}-{size}-s{seed}-{via}-{label}", set.name())
}

fn target_record(label: &str, sandbox: &SandboxSpec, cpus: &CpuSet) -> TargetRecord {
    TargetRecord {
        label: label.to_owned(),
        url: format!("sandbox:{}", sandbox.name),
        cpus: numbers(cpus),
        memory_bytes: sandbox.domain.memory,
    }
}

/// NUM_ITEMS: as asked for, else as in the study, or as many as make the smallest pool one that a server starts
/// with. An item with its author and both's indexes takes about 900 bytes.
fn items(args: &Args, factors: &Factors) -> u32 {
    const BYTES_PER_ITEM: f64 = 900.0;
    let needed = factors.smallest_percent().map_or(0.0, |percent| {
        evenkeel_study::profile::POOL_BYTES_MIN as f64 * 100.0 / percent / BYTES_PER_ITEM
    });
    let rounded = (needed / 5_000.0).ceil() * 5_000.0;
    args.data.rows.items.unwrap_or(data::ITEMS_DEFAULT.max(rounded as u32))
}

pub fn check(args: &Args) -> Result<()> {
    let (flag, given) = match (args.sense_with.len(), args.sense_from.len()) {
        (0, 0) => return Ok(()),
        (0, given) => ("--sense-from", given),
        (given, _) => ("--sense-with", given),
    };
    let is_private =
        args.targets.is_empty() || args.targets.iter().any(|target| target.starts_with("sandbox:"));
    if is_private {
        return Err(anyhow!("{flag} is for a server on another machine; a private one is seen from here"))
            .hint(format!("name your server as mysql://..., or leave {flag} out"));
    }
    if given != args.targets.len() {
        let urls = crate::format::counted(args.targets.len(), "URL");
        return Err(anyhow!("{flag} is given {given} times with {urls}"))
            .hint(format!("give {flag} once for each URL, in their order"));
    }
    Ok(())
}

/// Who sees each target, in their order; nobody where nobody is asked to.
pub fn of(args: &Args) -> Result<Vec<Elsewhere>> {
    check(args)?;
    let with = args.sense_with.iter().map(|command| Ok(Elsewhere::command(command)));
    let from = args.sense_from.iter().map(|url| Elsewhere::metrics(url));
    Ok(with.chain(from).collect::<Result<_, _>>()?)
}
