//! From the flags of `evenkeel profile` to what the lab is to do.

use super::profile::{Args, Arrivals, ProtocolName};
use super::{Session, data, place};
use crate::config::factor::{self, Factor, Pool};
use crate::config::{rate, units, workload as user_workload};
use crate::failure::WithHint;
use anyhow::{Context, Result};
use evenkeel_core::random::Seed;
use evenkeel_core::rates::RatePlan;
use evenkeel_core::trust::Tolerance;
use evenkeel_lab::data::Via;
use evenkeel_lab::data::tpcw::Scale;
use evenkeel_lab::load::{Protocol, SessionPolicy};
use evenkeel_lab::sandbox::{self, CpuSet, SandboxSpec};
use evenkeel_lab::store::format::{
    ArrivalsRecord, LayoutRecord, ProtocolRecord, ResetRecord, SettingsRecord, TargetRecord,
};
use evenkeel_lab::study::{Place, PoolSize, Process, Reset, SeriesSpec, SiteSpec, StudySpec};
use evenkeel_lab::target::{Control, Target};
use evenkeel_lab::workload::Workload;
use evenkeel_sense::cpu::Domain;
use std::path::PathBuf;
use std::sync::Arc;

/// A study in all its parts.
pub struct Study {
    /// What the lab does.
    pub spec: StudySpec,
    /// What the plan says of it.
    pub settings: SettingsRecord,
    /// The targets of the plan.
    pub targets: Vec<TargetRecord>,
}

/// Reads the flags; `workload_file` replaces the workload's own file where a study is resumed.
pub fn study(
    session: &Session,
    args: &Args,
    command: Vec<String>,
    workload_file: Option<PathBuf>,
) -> Result<Study> {
    let factors = Factors::read(&args.factor)?;
    let workload =
        workload_file.map_or_else(|| args.workload.clone(), |path| path.to_string_lossy().into_owned());
    if args.targets.is_empty() && args.reset_command.is_some() {
        return Err(anyhow::anyhow!(
            "--reset-command is for a server of yours; a private one is restarted anyway"
        ))
        .hint("name your server, or leave --reset-command out");
    }
    let reset = reset(session, args)?;
    let servers = if args.targets.is_empty() {
        private(session, args, &factors, &workload)?
    } else {
        remote(session, args, &factors, &workload, &reset)?
    };
    let generator_cpus = generator_cpus(args)?;
    let rates = rates(args)?;
    let spec = StudySpec {
        kind: "profile".to_owned(),
        command,
        seed: Seed(args.seed),
        process: match args.arrivals {
            Arrivals::Poisson => Process::Poisson,
            Arrivals::Constant => Process::Constant,
        },
        rates,
        rate_text: args.rate.clone(),
        repeats: args.repeats,
        duration: positive(&args.duration, "--duration")?,
        warm_up: units::duration(&args.warm_up).context("reading --warm-up")?,
        timeout: positive(&args.timeout, "--timeout")?,
        sessions: match args.per_request {
            true => SessionPolicy::PerRequest { max: args.max_sessions },
            false => SessionPolicy::Pooled { max: args.max_sessions },
        },
        protocol: match args.protocol {
            ProtocolName::Prepared => Protocol::Prepared,
            ProtocolName::Text => Protocol::Text,
        },
        reset,
        theta_ceiling_percent: ceiling(args.theta_ceiling)?,
        objective_p95: args.objective.as_deref().map(|text| positive(text, "--objective")).transpose()?,
        tolerance: Tolerance { standard_error: args.tolerance_se, spread: args.tolerance_spread },
        generator_cpus,
        request_log: args.request_log,
        retries: args.retries,
        whole_sweep: args.whole_sweep,
        sites: servers.sites,
        series: servers.series,
    };
    Ok(Study { settings: settings(&spec), targets: servers.targets, spec })
}

/// Private servers are restarted, those of `sandbox:NAME` as well where there are no others beside them: to be
/// compared, all targets are treated alike.
fn reset(session: &Session, args: &Args) -> Result<Reset> {
    let all_named = args.targets.iter().all(|text| is_restartable(session, text));
    Ok(match &args.reset_command {
        Some(command) => Reset::Command(command.clone()),
        None if args.no_reset || !all_named => Reset::Nothing,
        None => Reset::Full,
    })
}

/// Whether a target is a private server that nobody else measures on.
fn is_restartable(session: &Session, text: &str) -> bool {
    let found = place::named(text).map(|(name, _)| sandbox::find(&session.home, name));
    matches!(found, Some(Ok(server)) if server.is_detached())
}

fn rates(args: &Args) -> Result<RatePlan> {
    let rates = rate::parse(&args.rate)?;
    if args.whole_sweep && matches!(rates, RatePlan::Steps { .. }) {
        return Err(anyhow::anyhow!(
            "--whole-sweep has no meaning with --rate {}, which has no last rate",
            args.rate
        ))
        .hint("give the rates an end, as 10..100:10, or leave --whole-sweep out");
    }
    Ok(rates)
}

fn positive(text: &str, flag: &str) -> Result<evenkeel_core::Nanos> {
    let duration = units::duration(text).with_context(|| format!("reading {flag}"))?;
    if duration.0 == 0 {
        return Err(anyhow::anyhow!("{flag} {text} is no time at all")).hint("write it as 250ms, 10s or 2m");
    }
    Ok(duration)
}

fn ceiling(percent: f64) -> Result<f64> {
    if !(percent > 0.0 && percent <= 100.0) {
        return Err(anyhow::anyhow!("--theta-ceiling {percent} is not between 0 and 100"))
            .hint("leave it out for 100 %");
    }
    Ok(percent)
}

/// What changes between series.
struct Factors {
    pools: Vec<Option<Pool>>,
    layouts: Vec<Option<Via>>,
}

impl Factors {
    fn read(texts: &[String]) -> Result<Self> {
        let (mut pools, mut layouts) = (vec![None], vec![None]);
        for text in texts {
            match factor::parse(text)? {
                Factor::BufferPool(levels) => pools = levels.into_iter().map(Some).collect(),
                Factor::Layout(levels) => {
                    layouts =
                        levels.iter().map(|level| Ok(Some(level.parse::<Via>()?))).collect::<Result<_>>()?;
                }
            }
        }
        Ok(Self { pools, layouts })
    }

    /// Smallest pool in percent of the tables.
    fn smallest_percent(&self) -> Option<f64> {
        let percents = self.pools.iter().filter_map(|pool| match pool {
            Some(Pool::Percent(percent)) => Some(*percent),
            _ => None,
        });
        percents.min_by(f64::total_cmp)
    }

    fn label(&self, pool: Option<Pool>, layout: Option<Via>, target: &str, targets: usize) -> String {
        let mut parts = Vec::new();
        match pool {
            Some(Pool::Percent(percent)) => parts.push(format!("pool {percent:.0} %")),
            Some(Pool::Bytes(bytes)) => parts.push(format!("pool {} MiB", bytes >> 20)),
            None => {}
        }
        if let Some(layout) = layout {
            parts.push(format!("{layout} layout"));
        }
        if targets > 1 || parts.is_empty() {
            parts.push(target.to_owned());
        }
        parts.join(", ")
    }
}

#[derive(Default)]
struct Servers {
    sites: Vec<SiteSpec>,
    series: Vec<SeriesSpec>,
    targets: Vec<TargetRecord>,
}

fn private(session: &Session, args: &Args, factors: &Factors, workload: &str) -> Result<Servers> {
    let scale = Scale::new(args.data.ebs, items(args, factors))?;
    let cpus = server_cpus(args)?;
    let mut servers = Servers::default();
    for target in 0..args.sandboxes as usize {
        let label = target_label(target);
        for layout in &factors.layouts {
            let via = layout.unwrap_or(data::via(args.data.rows.via));
            let name = sandbox_name(scale, args.data.rows.data_seed, via, &label);
            let mut sandbox = super::sandbox::spec(session, &args.server, name)?;
            sandbox.cpus = Some(cpus.clone());
            let data = data::spec(scale, args.data.rows.data_seed, via, None);
            let site = servers.sites.len();
            if layout == &factors.layouts[0] {
                servers.targets.push(target_record(&label, &sandbox, &cpus));
            }
            servers.sites.push(SiteSpec {
                target_label: label.clone(),
                place: Place::Sandbox { sandbox, data: (!place::is_file(workload)).then_some(data) },
            });
            for pool in &factors.pools {
                servers.series.push(SeriesSpec {
                    label: factors.label(*pool, *layout, &label, args.sandboxes as usize),
                    target,
                    site,
                    workload: private_workload(workload, scale)?,
                    pool: pool.map(pool_size),
                    layout: layout_record(via),
                });
            }
        }
    }
    Ok(servers)
}

/// A workload of the user's asks tables that only a server of the user's has.
fn private_workload(workload: &str, scale: Scale) -> Result<Arc<dyn Workload>> {
    if place::is_file(workload) {
        return Err(anyhow::anyhow!("{workload} asks tables that a private server does not have"))
            .hint("name a server: mysql://user@host/database, or start one with data by `evenkeel sandbox up demo`, fill it by `evenkeel sandbox shell demo`, and name it sandbox:demo/DATABASE");
    }
    place::tpcw_workload(workload, scale)
}

fn remote(
    session: &Session,
    args: &Args,
    factors: &Factors,
    workload: &str,
    reset: &Reset,
) -> Result<Servers> {
    if factors.pools.len() > 1 || factors.layouts.len() > 1 || !args.factor.is_empty() {
        return Err(anyhow::anyhow!(
            "--factor needs private servers, which can be restarted and filled anew"
        ))
        .hint("leave the URL out, or measure the levels one by one");
    }
    let mut servers = Servers::default();
    for (index, text) in args.targets.iter().enumerate() {
        let target = place::target(session, text)?;
        let label = match place::named(text) {
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
            label: factors.label(None, None, &label, args.targets.len()),
            target: index,
            site: index,
            workload: remote_workload(workload, &target)?,
            pool: None,
            layout: LayoutRecord::AsIs,
        });
        servers.sites.push(SiteSpec { target_label: label, place: place_of(session, text, target, reset) });
    }
    Ok(servers)
}

/// A named private server is the study's to restart where it is reset in full.
fn place_of(session: &Session, text: &str, target: Target, reset: &Reset) -> Place {
    match place::named(text) {
        Some((name, database)) if *reset == Reset::Full => {
            Place::Named { home: session.home.clone(), name: name.to_owned(), database: database.to_owned() }
        }
        _ => Place::Remote(target),
    }
}

/// A workload for a server of the user's.
pub fn remote_workload(workload: &str, target: &Target) -> Result<Arc<dyn Workload>> {
    if place::is_file(workload) {
        let mut control = Control::connect(target)?;
        return Ok(Arc::new(user_workload::load(workload.as_ref(), &mut control)?));
    }
    // An unknown name is told before the server is asked what it holds.
    place::tpcw_workload(workload, Scale::new(1, 1_000)?)?;
    place::tpcw_workload(workload, place::database(target)?)
}

fn layout_record(via: Via) -> LayoutRecord {
    match via {
        Via::Insert => LayoutRecord::Insert,
        Via::Load => LayoutRecord::Load,
        Via::Dump => LayoutRecord::Dump,
    }
}

/// `a`, `b` ... `z`, then numbers.
fn target_label(index: usize) -> String {
    u8::try_from(index)
        .ok()
        .filter(|index| *index < 26)
        .map_or_else(|| (index + 1).to_string(), |index| char::from(b'a' + index).to_string())
}

fn sandbox_name(scale: Scale, seed: u64, via: Via, label: &str) -> String {
    format!("tpcw-{}-{}-s{seed}-{via}-{label}", scale.ebs(), scale.items())
}

fn target_record(label: &str, sandbox: &SandboxSpec, cpus: &CpuSet) -> TargetRecord {
    TargetRecord {
        label: label.to_owned(),
        url: format!("sandbox:{}", sandbox.name),
        cpus: numbers(cpus),
        memory_bytes: sandbox.memory,
    }
}

fn pool_size(pool: Pool) -> PoolSize {
    match pool {
        Pool::Percent(percent) => PoolSize::Percent(percent),
        Pool::Bytes(bytes) => PoolSize::Bytes(bytes),
    }
}

/// NUM_ITEMS: as asked for, else as in the study, or as many as make the smallest pool one that a server starts
/// with. An item with its author and both's indexes takes about 900 bytes.
fn items(args: &Args, factors: &Factors) -> u32 {
    const BYTES_PER_ITEM: f64 = 900.0;
    let needed = factors
        .smallest_percent()
        .map_or(0.0, |percent| evenkeel_lab::study::POOL_BYTES_MIN as f64 * 100.0 / percent / BYTES_PER_ITEM);
    let rounded = (needed / 5_000.0).ceil() * 5_000.0;
    args.data.rows.items.unwrap_or(data::ITEMS_DEFAULT.max(rounded as u32))
}

/// The CPUs that this process may use, which a container may have made few.
fn own_cpus() -> Vec<u32> {
    let allowed = Domain::Process(std::process::id()).cpus();
    let cpus: Vec<u32> = allowed.iter().flat_map(CpuSet::iter).collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// The server gets all CPUs but the last, which the generator takes; one CPU is shared.
fn server_cpus(args: &Args) -> Result<CpuSet> {
    if let Some(text) = &args.server.cpus {
        return units::cpus(text).context("reading --cpus");
    }
    let own = own_cpus();
    Ok(own[..(own.len() - 1).max(1)].iter().copied().collect())
}

fn numbers(cpus: &CpuSet) -> Vec<usize> {
    cpus.iter().map(|cpu| cpu as usize).collect()
}

fn generator_cpus(args: &Args) -> Result<Vec<usize>> {
    match &args.generator_cpus {
        Some(text) => Ok(numbers(&units::cpus(text).context("reading --generator-cpus")?)),
        None if args.targets.is_empty() => {
            Ok(own_cpus().last().map(|cpu| *cpu as usize).into_iter().collect())
        }
        None => Ok(Vec::new()),
    }
}

fn settings(spec: &StudySpec) -> SettingsRecord {
    let (name, max) = match spec.sessions {
        SessionPolicy::Pooled { max } => ("pooled", max),
        SessionPolicy::PerRequest { max } => ("per-request", max),
    };
    SettingsRecord {
        arrivals: match spec.process {
            Process::Poisson => ArrivalsRecord::Poisson,
            Process::Constant => ArrivalsRecord::Constant,
        },
        repeats: spec.repeats,
        duration_s: spec.duration.as_secs_f64(),
        warm_up_s: spec.warm_up.as_secs_f64(),
        timeout_s: spec.timeout.as_secs_f64(),
        sessions: format!("{name}:{max}"),
        protocol: match spec.protocol {
            Protocol::Prepared => ProtocolRecord::Prepared,
            Protocol::Text => ProtocolRecord::Text,
        },
        reset: match &spec.reset {
            Reset::Full => ResetRecord::Restart,
            Reset::Command(_) => ResetRecord::Command,
            Reset::Nothing => ResetRecord::Nothing,
        },
        theta_ceiling_percent: spec.theta_ceiling_percent,
        objective_p95_ms: spec.objective_p95.map(evenkeel_core::Nanos::as_millis_f64),
        tolerance_se_percent: spec.tolerance.standard_error,
        tolerance_spread_percent: spec.tolerance.spread,
        generator_cpus: spec.generator_cpus.clone(),
        request_log: spec.request_log,
        retries: spec.retries,
        whole_sweep: spec.whole_sweep,
    }
}
