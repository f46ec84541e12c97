//! The acts: load, a sample each second, a picture or a line of it.

use super::flags::{DemoArgs, is_live};
use super::stage::Stage;
use crate::command::{Session, console_size};
use crate::guard::child::{Child, Spec};
use crate::guard::show::{self, Act, Guarded, Sample, Show};
use crate::out;
use crate::view::picture::Frame;
use crate::view::screen::Screen;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_lab::load::{self, ArrivalPlan, LoadPhase, LoadPlan, LoadProgress, Protocol, SessionPolicy};
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Address, Control, Target};

/// So many clients the server carries well.
const FEW: u32 = 8;
/// A sample is at least so long; the load reports its progress twice a second.
const SECOND: Nanos = Nanos::from_millis(900);
/// Longer than any wait for a lock in the demo.
const TIMEOUT: Nanos = Nanos::from_secs(60);
/// What is under way at the end of an act is waited for so long, and then cut.
const DRAIN: Nanos = Nanos::from_secs(2);

/// Plays both acts; ends early where somebody asks.
pub fn play(session: &Session, args: &DemoArgs, stage: &Stage) -> Result<Show> {
    let mut player = Player {
        session,
        args,
        stage,
        control: Control::connect(&stage.target())?,
        screen: is_live().then(Screen::enter).transpose()?,
        show: Show { server: stage.version.clone(), planned: 4 * args.duration as usize, ..Show::default() },
    };
    // The load, not the guard, has to settle: a quarter of the time, and two seconds at most.
    let settle = (args.duration as usize / 4).clamp(1, 2);
    for (clients, mark) in
        [(FEW, format!("act 1: {FEW} clients")), (args.clients, format!("{} clients", args.clients))]
    {
        let name = format!("direct, {clients} clients");
        player.act(Part { name, mark, clients, settle }, None)?;
    }
    if !session.stop.is_set() {
        let guard = player.guard()?;
        player.show.metrics = Some(guard.metrics().to_owned());
        let name = format!("guarded, {} clients", args.clients);
        let settle = args.duration as usize;
        player.act(
            Part { name, mark: "act 2: guarded".to_owned(), clients: args.clients, settle },
            Some(&guard),
        )?;
        guard.stop()?;
    }
    Ok(player.show)
}

struct Part {
    name: String,
    mark: String,
    clients: u32,
    settle: usize,
}

struct Player<'a> {
    session: &'a Session,
    args: &'a DemoArgs,
    stage: &'a Stage,
    control: Control,
    screen: Option<Screen>,
    show: Show,
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

    fn act(&mut self, part: Part, guard: Option<&Child>) -> Result<()> {
        if self.session.stop.is_set() {
            return Ok(());
        }
        let Part { name, mark, clients, settle } = part;
        self.show.begin(Act { name, mark, settle, samples: Vec::new() });
        let seconds = u64::from(self.args.duration) * if guard.is_some() { 2 } else { 1 };
        let plan = self.plan(clients, seconds, guard)?;
        let mut before = Before { deadlocks: deadlocks(&mut self.control)?, ..Before::default() };
        let (mut trouble, enough) = (Ok(()), self.show.len() + seconds as usize);
        // Trouble ends the load too, and is no wish to stop.
        let ends = Stop::default();
        load::run(&plan, &ends, &mut |progress| {
            if trouble.is_ok() && self.show.len() < enough {
                trouble = self.look(progress, &mut before, guard);
            }
            if self.screen.as_ref().is_some_and(Screen::is_left) {
                self.session.stop.set();
            }
            // Whatever went wrong, the load must not go on without being watched.
            if trouble.is_err() || self.session.stop.is_set() {
                ends.set();
            }
        })?;
        if self.session.stop.is_set() {
            // The terminal is given back first: what is to be ended yet takes a moment.
            self.screen = None;
        }
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

    fn look(&mut self, progress: LoadProgress, before: &mut Before, guard: Option<&Child>) -> Result<()> {
        let length = progress.elapsed - before.elapsed;
        if progress.phase == LoadPhase::Measure && length >= SECOND {
            let deadlocks = deadlocks(&mut self.control)?;
            let sample = Sample {
                seconds: length.as_secs_f64(),
                commits: progress.completed - before.completed,
                deadlocks: deadlocks.saturating_sub(before.deadlocks),
                response_s: progress.response_mean.map(Nanos::as_secs_f64),
                guard: guard.map(guarded).transpose()?,
            };
            *before = Before { elapsed: progress.elapsed, completed: progress.completed, deadlocks };
            self.show.push(sample);
            self.tell_line()?;
        }
        self.draw()
    }

    fn draw(&self) -> Result<()> {
        if let Some(screen) = &self.screen {
            let (width, height) = console_size();
            screen.draw(&self.show.draw(Frame { width, height: height.saturating_sub(1) }))?;
        }
        Ok(())
    }

    fn tell_line(&self) -> Result<()> {
        let last = self.show.acts.last().and_then(|act| Some((act, act.samples.last()?)));
        if let (None, false, Some((act, sample))) = (&self.screen, self.session.quiet, last) {
            out::line(show::line(self.show.len(), act, sample))?;
        }
        Ok(())
    }
}

fn through(guard: &Child, target: Target) -> Result<Target> {
    let address = guard.address().parse::<Address>();
    let address = address.with_context(|| format!("the guard listens at {}", guard.address()))?;
    Ok(Target { address, ..target })
}

fn guarded(guard: &Child) -> Result<Guarded> {
    let status = guard.status().with_context(|| format!("asking the guard: {}", guard.last_words()))?;
    Ok(Guarded {
        limit: status.limit,
        running: status.running,
        waiting: status.waiting,
        decision: status.decision,
    })
}

fn deadlocks(control: &mut Control) -> Result<u64> {
    const QUERY: &str = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_DEADLOCKS'";
    let value = control.query_value(QUERY)?;
    value
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| anyhow!("the server counts no deadlocks (Innodb_deadlocks)"))
}
