//! `evenkeel guard demo`: a flash sale on a private server, first without a guard, then with one.

use crate::command::{Session, mode};
use crate::config::{units, workload as workload_file};
use crate::failure::Stopped;
use crate::guard::child::{Child, Spec};
use crate::guard::show::{self, Act, Sample, Status};
use crate::progress::{ProgressEvent, View};
use crate::server::place as server;
use crate::{out, signals};
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_lab::load::{self, ArrivalPlan, LoadPhase, LoadPlan, LoadProgress, Protocol, SessionPolicy};
use evenkeel_lab::workload::Workload;
use evenkeel_lab::workload::user::{NoColumns, UserWorkload};
use evenkeel_os::Stop;
use evenkeel_site::sandbox::{self, Sandbox, SandboxError, SandboxSpec};
use evenkeel_site::server::{Address, Control, Target};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Plays, and leaves nothing behind.
/// Errors: no server can be started, or the guard ends.
pub fn run(session: &Session, args: &DemoArgs) -> Result<ExitCode> {
    // What a crash or a second Ctrl-C left.
    remove(session)?;
    let played = Stage::build(session, args).and_then(|stage| play(session, args, &stage));
    // The stage, with its server, is gone by now; its files go here, whatever happened.
    let removed = remove(session);
    if session.stop.is_set() {
        removed?;
        out::tell("stopped; the server, the guard and their files are gone\n");
        return Ok(signals::exit_code());
    }
    let acts = played?;
    removed?;
    out::write(&format!("\n{}", show::summary(&acts)))?;
    Ok(ExitCode::SUCCESS)
}

/// Flags of `evenkeel guard demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A private MariaDB is started and filled. Act 1: 8 clients buy, then 256, straight at the server.
Act 2: the same 256 through a guard. Server and guard listen at free ports of 127.0.0.1, and all is
removed at the end, also after Ctrl-C.

Examples:
  evenkeel guard demo
  evenkeel guard demo --clients 400 --duration 30s")]
pub struct DemoArgs {
    /// Number of clients in the flash sale
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(16..=450))]
    pub clients: u32,
    /// Length of each load, whole seconds; the guard's takes twice as long, and its figures are those of the second half
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = seconds)]
    pub duration: u32,
    /// A mariadbd or mysqld other than the system's
    #[arg(long, value_name = "PATH")]
    pub server_binary: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<u32> {
    let seconds = units::duration(text)?.as_secs_f64();
    match (3.0..=600.0).contains(&seconds) && seconds.fract() == 0.0 {
        true => Ok(seconds as u32),
        false => bail!("between 3s and 600s is needed, in whole seconds"),
    }
}

/// So many clients the server carries well.
const FEW: u32 = 8;
/// A sample is at least so long; the load reports its progress twice a second.
const SECOND: Nanos = Nanos::from_millis(900);
/// Longer than any wait for a lock in the demo.
const TIMEOUT: Nanos = Nanos::from_secs(60);
/// What is under way at the end of an act is waited for so long, and then cut.
const DRAIN: Nanos = Nanos::from_secs(2);

/// Plays both acts; ends early where somebody asks.
pub fn play(session: &Session, args: &DemoArgs, stage: &Stage) -> Result<Vec<Act>> {
    let control = Control::connect(&stage.target())?;
    let mut player = Player { session, args, stage, control, second: 0, acts: Vec::new() };
    player.tell(format!(
        "A flash sale on {}, {} s; each transaction: a read, five updates of 200 hot items in any order, an insert",
        stage.version,
        4 * args.duration
    ))?;
    // The load, not the guard, has to settle: a quarter of the time, and two seconds at most.
    let settle = (args.duration as usize / 4).clamp(1, 2);
    for clients in [FEW, args.clients] {
        player.act(format!("direct, {clients} clients"), clients, settle, None)?;
    }
    if !session.stop.is_set() {
        let guard = player.guard()?;
        player.tell(format!("more in another terminal: evenkeel guard top {}", guard.metrics))?;
        let name = format!("guarded, {} clients", args.clients);
        player.act(name, args.clients, args.duration as usize, Some(&guard))?;
        guard.child.stop()?;
    }
    Ok(player.acts)
}

struct Player<'a> {
    session: &'a Session,
    args: &'a DemoArgs,
    stage: &'a Stage,
    control: Control,
    /// Seconds of the acts so far.
    second: usize,
    acts: Vec<Act>,
}

/// Where the counters stood at the last sample.
#[derive(Clone, Copy, Default)]
struct Before {
    elapsed: Nanos,
    completed: u64,
    deadlocks: u64,
}

impl Player<'_> {
    fn guard(&self) -> Result<Child> {
        let backend = self.stage.target().address.to_string();
        let file = self.session.home.join("guard-demo.toml");
        let spec = Spec { backend, file, settings: String::new() };
        Child::start(&spec).context("starting the guard of the demo")
    }

    fn act(&mut self, name: String, clients: u32, settle: usize, guard: Option<&Child>) -> Result<()> {
        if self.session.stop.is_set() {
            return Ok(());
        }
        let seconds = u64::from(self.args.duration) * if guard.is_some() { 2 } else { 1 };
        let plan = self.plan(clients, seconds, guard)?;
        let mut act = Act { name, settle, samples: Vec::new() };
        let mut before = Before { deadlocks: deadlocks(&mut self.control)?, ..Before::default() };
        let mut trouble = Ok(());
        // Trouble ends the load too, and is no wish to stop.
        let ends = Stop::default();
        load::run(&plan, &ends, &mut |progress| {
            if trouble.is_ok() && act.samples.len() < seconds as usize {
                trouble = self.look(&mut act, progress, &mut before, guard);
            }
            // Whatever went wrong, the load must not go on without being watched.
            if trouble.is_err() || self.session.stop.is_set() {
                ends.set();
            }
        })?;
        self.acts.push(act);
        trouble
    }

    fn plan(&self, clients: u32, seconds: u64, guard: Option<&Child>) -> Result<LoadPlan> {
        let mut target = self.stage.target();
        if let Some(guard) = guard {
            target = through(guard, target)?;
        }
        Ok(LoadPlan {
            target,
            workload: self.stage.workload.clone(),
            arrivals: ArrivalPlan::Closed { clients, think: None },
            warm_up: Nanos::ZERO,
            warm_up_max: None,
            // The last sample ends before the load does.
            measure: Nanos::from_secs(seconds) + SECOND,
            drain: DRAIN,
            timeout: TIMEOUT,
            seed: Seed(1),
            sessions: SessionPolicy::Pooled { max: clients },
            protocol: Protocol::Prepared,
            threads: 1,
            cpus: Vec::new(),
            busy_poll: false,
            request_log: None,
            parts: None,
        })
    }

    fn look(
        &mut self,
        act: &mut Act,
        progress: LoadProgress,
        before: &mut Before,
        guard: Option<&Child>,
    ) -> Result<()> {
        let length = progress.elapsed - before.elapsed;
        if progress.phase != LoadPhase::Measure || length < SECOND {
            return Ok(());
        }
        let deadlocks = deadlocks(&mut self.control)?;
        act.samples.push(Sample {
            seconds: length.as_secs_f64(),
            commits: progress.completed - before.completed,
            deadlocks: deadlocks.saturating_sub(before.deadlocks),
            guard: guard.map(status).transpose()?,
        });
        *before = Before { elapsed: progress.elapsed, completed: progress.completed, deadlocks };
        self.second += 1;
        self.tell(act.line(self.second))
    }

    fn tell(&self, line: String) -> Result<()> {
        if !self.session.quiet {
            out::line(line)?;
        }
        Ok(())
    }
}

fn through(guard: &Child, target: Target) -> Result<Target> {
    let address = guard.address.parse::<Address>();
    let address = address.with_context(|| format!("the guard listens at {}", guard.address))?;
    Ok(Target { address, ..target })
}

fn status(guard: &Child) -> Result<Status> {
    guard.status().with_context(|| format!("asking the guard: {}", guard.child.last_words()))
}

fn deadlocks(control: &mut Control) -> Result<u64> {
    const QUERY: &str = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_DEADLOCKS'";
    let value = control.query_value(QUERY)?;
    value
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| anyhow!("the server counts no deadlocks (Innodb_deadlocks)"))
}

/// The private server's name; two demos in one home would be in each other's way.
const NAME: &str = "guard-demo";

const SCHEMA: &str = include_str!("../../../../../examples/workloads/collapse/schema.sql");
const FLASH_SALE: &str = include_str!("../../../../../examples/workloads/collapse/flash_sale.toml");
const DATABASE: &str = "flash_sale";

/// The log is written out once a second, so that the disk of the machine is not what is seen.
const SETTINGS: [(&str, &str); 3] = [
    ("innodb_buffer_pool_size", "128M"),
    ("innodb_log_file_size", "64M"),
    ("innodb_flush_log_at_trx_commit", "2"),
];

/// A running server with data, and what its clients do. Dropping it ends the server.
pub struct Stage {
    /// Name and version of the server, as `MariaDB 10.11.19`.
    pub version: String,
    pub workload: Arc<dyn Workload>,
    sandbox: Sandbox,
}

impl Stage {
    pub fn build(session: &Session, args: &DemoArgs) -> Result<Self> {
        let mut view = View::new(mode(session, false));
        let mut spec = SandboxSpec::new(&session.home, NAME);
        spec.server_binary.clone_from(&args.server_binary);
        spec.settings.extend(SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let sandbox = Sandbox::up(&spec, &session.stop, &mut |event| server::tell(&mut view, &event))?;
        view.show(&ProgressEvent::Step { text: "filling the tables of the flash sale".to_owned() });
        let mut control =
            Control::connect(&sandbox.tcp_target()).context("connecting to the private server")?;
        let version = control.version().to_string();
        fill(session, &mut control).context("filling the private server")?;
        Ok(Self { version, workload: flash_sale()?, sandbox })
    }

    pub fn target(&self) -> Target {
        Target { database: Some(DATABASE.to_owned()), ..self.sandbox.tcp_target() }
    }
}

pub fn remove(session: &Session) -> Result<()> {
    match sandbox::clean(&session.home, &[NAME.to_owned()]) {
        Ok(_) | Err(SandboxError::Unknown { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn fill(session: &Session, control: &mut Control) -> Result<()> {
    control.exec(&format!("CREATE DATABASE {DATABASE}"))?;
    control.exec(&format!("USE {DATABASE}"))?;
    for statement in statements() {
        if session.stop.is_set() {
            return Err(Stopped("before the server was filled".into()).into());
        }
        control.exec(&statement)?;
    }
    Ok(())
}

/// Those of the schema that make and fill the tables that the flash sale asks.
fn statements() -> Vec<String> {
    let code: Vec<&str> = SCHEMA.lines().filter(|line| !line.starts_with("--")).collect();
    let code = code.join("\n");
    let all = code.split(';').map(str::trim).filter(|statement| !statement.is_empty());
    // CREATE TABLE x, INSERT INTO x
    let table = |statement: &str| statement.split_whitespace().nth(2).map(|name| format!(" {name} "));
    let asked = |statement: &&str| table(statement).is_some_and(|table| FLASH_SALE.contains(&table));
    all.filter(asked).map(str::to_owned).collect()
}

fn flash_sale() -> Result<Arc<dyn Workload>> {
    let definition = workload_file::parse("flash_sale.toml", FLASH_SALE)?;
    Ok(Arc::new(UserWorkload::new(&definition, &mut NoColumns)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tables_of_the_flash_sale_are_made() {
        let begins: Vec<String> = statements()
            .iter()
            .map(|statement| statement.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "CREATE TABLE customer",
            "INSERT INTO customer",
            "CREATE TABLE item",
            "INSERT INTO item",
            "CREATE TABLE sale",
        ];
        assert_eq!(begins, expected);
        assert_eq!(flash_sale().unwrap().name(), "flash_sale");
    }
}
