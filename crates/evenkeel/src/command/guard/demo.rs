//! `evenkeel guard demo`: a flash sale on a private server, first without a guard, then with one.

use super::stage::{DemoArgs, Stage, remove};
use crate::command::Session;
use crate::guard::child::{Child, Spec};
use crate::guard::inside;
use crate::guard::show::{self, Act, Sample, Status};
use crate::{format, out, signals};
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_lab::load::{self, ArrivalPlan, LoadPhase, LoadPlan, LoadProgress, Protocol, SessionPolicy};
use evenkeel_os::Stop;
use evenkeel_site::server::{Address, Control, Target};
use std::fmt::Display;
use std::process::ExitCode;

/// Plays, and leaves nothing behind.
/// Errors: no server can be started, or the guard ends.
pub fn run(session: &Session, args: &DemoArgs) -> Result<ExitCode> {
    // What a crash or a second Ctrl-C left.
    remove(session)?;
    let played = Stage::build(session, args)
        .and_then(|stage| Ok((play(session, args, &stage)?, stage.plugin.clone())));
    // The stage, with its server, is gone by now; its files go here, whatever happened.
    let removed = remove(session);
    if session.stop.is_set() {
        removed?;
        out::tell("stopped; the server, the guard and their files are gone\n");
        return Ok(signals::exit_code());
    }
    let (acts, plugin) = played?;
    removed?;
    out::write(&format!("\n{}", show::summary(&acts, plugin.as_deref().map_err(String::as_str))))?;
    Ok(ExitCode::SUCCESS)
}

/// So many clients the server carries well.
const FEW: u32 = 8;
/// A sample is at least so long; the load reports its progress twice a second.
const SECOND: Nanos = Nanos::from_millis(900);
/// Longer than any wait for a lock in the demo.
const TIMEOUT: Nanos = Nanos::from_secs(60);
/// What is under way at the end of an act is waited for so long, and then cut.
const DRAIN: Nanos = Nanos::from_secs(2);

/// What holds the clients of a load back.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Direct,
    Plugin,
    Proxy,
}

/// A load, and how many of its seconds say nothing yet.
struct Turn {
    way: Way,
    clients: u32,
    seconds: usize,
    settle: usize,
}

/// The loads in their order.
fn turns(args: &DemoArgs, has_plugin: bool) -> Vec<Turn> {
    let (whole, many) = (args.duration as usize, args.clients);
    // The load has to settle: a quarter of the time, and two seconds at most.
    let direct = |clients, seconds: usize| {
        let settle = (seconds / 4).clamp(1, 2).min(seconds - 1);
        Turn { way: Way::Direct, clients, seconds, settle }
    };
    // A guard has to find its limit.
    let guarded = |way, seconds| Turn { way, clients: many, seconds, settle: seconds / 2 };
    let mut turns = vec![direct(FEW, whole)];
    match has_plugin {
        false => turns.extend([direct(many, whole), guarded(Way::Proxy, 2 * whole)]),
        true => turns.extend((0..2).flat_map(|_| {
            let seconds = 3 * whole / 4;
            [direct(many, whole / 2), guarded(Way::Plugin, seconds), guarded(Way::Proxy, seconds)]
        })),
    }
    turns
}

/// Plays all turns; ends early where somebody asks.
pub fn play(session: &Session, args: &DemoArgs, stage: &Stage) -> Result<Vec<Act>> {
    let turns = turns(args, stage.plugin.is_ok());
    let control = Control::connect(&stage.control_target())?;
    let mut player = Player { session, stage, control, proxy: None, second: 0, acts: Vec::new() };
    player.tell(format!(
        "A flash sale on {}, {} s; each transaction: a read, five updates of 200 hot items in any order, an insert",
        stage.version,
        turns.iter().map(|turn| turn.seconds).sum::<usize>()
    ))?;
    for turn in &turns {
        player.prepare(turn.way)?;
        player.turn(turn)?;
    }
    match player.proxy {
        Some(proxy) if !session.stop.is_set() => proxy.child.stop()?,
        _ => {}
    }
    Ok(player.acts)
}

struct Player<'a> {
    session: &'a Session,
    stage: &'a Stage,
    control: Control,
    /// It goes on between its turns, with what it has found.
    proxy: Option<Child>,
    /// Seconds of the turns so far.
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
    /// Lets the guard hold back whom it is to hold back from now on.
    fn prepare(&mut self, way: Way) -> Result<()> {
        if self.stage.plugin.is_ok() {
            let mode = if way == Way::Plugin { "auto" } else { "off" };
            self.control.exec(&format!("SET GLOBAL evenkeel_mode = '{mode}'"))?;
        }
        if way == Way::Proxy && self.proxy.is_none() && !self.session.stop.is_set() {
            let backend = self.stage.target().address.to_string();
            let file = self.session.home.join("guard-demo.toml");
            let spec = Spec { backend, file, settings: String::new() };
            let proxy = Child::start(&spec).context("starting the proxy of the demo")?;
            let program = format::program();
            self.tell(format!("more in another terminal: {program} guard top {}", proxy.metrics))?;
            self.proxy = Some(proxy);
        }
        Ok(())
    }

    fn turn(&mut self, turn: &Turn) -> Result<()> {
        if self.session.stop.is_set() {
            return Ok(());
        }
        let word = match turn.way {
            Way::Direct => "direct",
            Way::Plugin => "plugin",
            Way::Proxy => "proxy",
        };
        let plan = self.plan(turn)?;
        let mut act = Act { name: format!("{word}, {} clients", turn.clients), samples: Vec::new() };
        let mut before = Before { deadlocks: deadlocks(&mut self.control)?, ..Before::default() };
        let mut trouble = Ok(());
        // Trouble ends the load too, and is no wish to stop.
        let ends = Stop::default();
        load::run(&plan, &ends, &mut |progress| {
            if trouble.is_ok() && act.samples.len() < turn.seconds {
                trouble = self.look(&mut act, progress, &mut before, turn);
            }
            // Whatever went wrong, the load must not go on without being watched.
            if trouble.is_err() || self.session.stop.is_set() {
                ends.set();
            }
        })?;
        match self.acts.iter_mut().find(|known| known.name == act.name) {
            Some(known) => known.samples.append(&mut act.samples),
            None => self.acts.push(act),
        }
        trouble
    }

    fn plan(&self, turn: &Turn) -> Result<LoadPlan> {
        let (clients, mut target) = (turn.clients, self.stage.target());
        if let Some(proxy) = self.proxy.as_ref().filter(|_| turn.way == Way::Proxy) {
            target = through(proxy, target)?;
        }
        Ok(LoadPlan {
            target,
            workload: self.stage.workload.clone(),
            arrivals: ArrivalPlan::Closed { clients, think: None },
            warm_up: Nanos::ZERO,
            warm_up_max: None,
            // The last sample ends before the load does.
            measure: Nanos::from_secs(turn.seconds as u64) + SECOND,
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
        turn: &Turn,
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
            counts: act.samples.len() >= turn.settle,
            guard: self.says(turn.way)?,
        });
        *before = Before { elapsed: progress.elapsed, completed: progress.completed, deadlocks };
        self.second += 1;
        self.tell(act.line(self.second))
    }

    /// What the guard says of itself.
    fn says(&mut self, way: Way) -> Result<Option<String>> {
        let told = |limit: &dyn Display, running: &dyn Display, waiting: &dyn Display, why: &str| {
            format!("limit {limit}  running {running}  waiting {waiting}: {why}")
        };
        Ok(match (way, &self.proxy) {
            (Way::Proxy, Some(proxy)) => {
                let Status { limit, running, waiting, decision, .. } = status(proxy)?;
                Some(told(&limit, &running, &waiting, &decision))
            }
            (Way::Plugin, _) => {
                let status = inside::Status::read(&mut self.control)?;
                let value = |name: &str| status.text(&format!("short_{name}"));
                Some(told(&value("limit"), &value("running"), &value("waiting"), value("reason")))
            }
            _ => None,
        })
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
