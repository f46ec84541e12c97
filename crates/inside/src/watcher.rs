//! The thread that looks after the gate: what runs long, what waits inside the server, who was killed, and the limits.

use crate::machine::{Cpu, uses_server};
use crate::options::Mode;
use crate::runaway::Runaways;
use crate::session::{Session, Verdict, lock};
use crate::sessions::{MOMENT, Sessions};
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Costs, Interval};
use evenkeel_core::control::{
    Bounds, Controller, ControllerSettings, SupervisedController, Verdict as Decided,
};
use evenkeel_core::gate::{Class, Front, Kinds, Lane, Long, LongReason, LongSample, Seen};
use evenkeel_core::number_map::NumberMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// From one look to the next while a place is kept for a session, while somebody waits, and else. Each look wakes a thread: on
/// two busy virtual CPUs that took the server a tenth of a millisecond.
const LOOKS: [Duration; 3] = [Duration::from_millis(2), Duration::from_millis(10), Duration::from_millis(20)];
const KILLS_EVERY: Nanos = Nanos::from_millis(50);
const TICK: Nanos = Nanos::from_millis(50);
/// What lasts is looked at from then on at the latest.
const FIRST_LOOK: Nanos = Nanos::from_millis(500);
/// What runs long is looked at so often.
const AGAIN: Nanos = Nanos::from_millis(50);
/// Time without any end after which liveness lets one more in.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Limit at the start, and the highest. It comes down from there: a limit that is too high for a while costs what the server costs
/// without the gate, one that is too low costs more.
pub const INITIAL: u32 = 64;
/// So many transactions for each CPU, or this share of rollbacks, are worth a look also while nobody waits.
const CROWD: f64 = 8.0;
const ABORTS: f64 = 0.1;
const LIMIT_MAX: u32 = 1_024;

/// Stops the thread.
#[derive(Debug, Default)]
pub struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub fn stop(&self) {
        *lock(&self.stopped) = true;
        self.changed.notify_all();
    }

    /// Whether it is to stop, after so long at most.
    fn after(&self, longest: Duration) -> bool {
        let stopped = self.changed.wait_timeout_while(lock(&self.stopped), longest, |stopped| !*stopped);
        stopped.map_or(true, |(stopped, _)| *stopped)
    }
}

pub struct Watcher {
    sessions: Arc<Sessions>,
    controller: Option<SupervisedController>,
    mode: Mode,
    kinds: Kinds,
    classes: Arc<NumberMap<u64, Class>>,
    costs: Costs,
    last_tick: Nanos,
    last_kills: Nanos,
    /// Running and waiting in the short lane, at each look since the last tick, added up.
    levels: (f64, f64, f64, usize),
    /// When something that runs in each lane was seen to use the server.
    busy: [Nanos; 2],
    oldest: (Nanos, u64),
    /// A session without a transaction has kept its place at the last look.
    keeps: bool,
    runaways: Runaways,
    long: Long,
    cpu: Cpu,
    cpus: usize,
    open: bool,
}

impl Watcher {
    pub fn new(sessions: Arc<Sessions>) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            sessions,
            controller: None,
            mode: Mode::Off,
            kinds: Kinds::default(),
            classes: Arc::default(),
            costs: Costs::default(),
            last_tick: Nanos::ZERO,
            last_kills: Nanos::ZERO,
            levels: (0.0, 0.0, 0.0, 0),
            busy: [Nanos::ZERO; 2],
            oldest: (Nanos::ZERO, 0),
            keeps: false,
            runaways: Runaways::default(),
            long: Long::new(cpus as u32, LIMIT_MAX),
            cpu: Cpu::now(),
            cpus,
            open: true,
        }
    }

    /// Looks until it is stopped.
    pub fn run(mut self, stop: &Stop) {
        loop {
            let next = match () {
                () if self.keeps => LOOKS[0],
                () if self.sessions.fronts.iter().any(Front::is_shut) => LOOKS[1],
                () => LOOKS[2],
            };
            if stop.after(next) {
                return;
            }
            let now = self.sessions.now();
            self.sessions.renew();
            self.look(now);
            if now - self.last_kills >= KILLS_EVERY {
                self.last_kills = now;
                self.sessions.wake_killed(now);
            }
            if now - self.last_tick >= TICK {
                self.tick(now);
                self.last_tick = now;
            }
        }
    }

    fn look(&mut self, now: Nanos) {
        let running = self.sessions.running(Lane::Short);
        self.levels.0 += 1.0;
        self.levels.1 += running as f64;
        self.levels.2 += self.sessions.waiting(Lane::Short) as f64;
        self.levels.3 = self.levels.3.max(running);
        let first = self.kinds.threshold().min(FIRST_LOOK);
        self.oldest = (Nanos::ZERO, 0);
        self.keeps = false;
        let sessions = Arc::clone(&self.sessions);
        let bound = sessions.options.runaway();
        for session in sessions.placed() {
            let (lasted, at_server) = session.lasts(now);
            if at_server && lasted > self.oldest.0 {
                self.oldest = (lasted, lock(&session.held).map_or(0, |held| held.digest));
            }
            if !at_server && lasted >= MOMENT && self.takes_back(&session) {
                continue;
            }
            self.keeps |= !at_server && lock(&session.held).is_some_and(|held| held.kept);
            if at_server && bound.is_some_and(|bound| lasted >= bound) {
                self.runaways.meet(&sessions, &session);
            }
            if lasted >= first {
                self.look_at(now, &session, lasted, at_server);
            }
        }
    }

    /// Whether a session has kept its place after its transaction; it came back too late.
    fn takes_back(&self, session: &Session) -> bool {
        let mut held = lock(&session.held);
        let kept = held.as_ref().is_some_and(|held| held.kept);
        if kept {
            self.sessions.gives_back(session, &mut held);
        }
        kept
    }

    /// A transaction has a place whose statement has run for long, or that has been idle for as long.
    fn look_at(&mut self, now: Nanos, session: &Session, lasted: Nanos, at_server: bool) {
        let mut held = lock(&session.held);
        let Some(held) = held.as_mut().filter(|held| now >= held.look) else { return };
        // It may have begun something meanwhile.
        if session.lasts(now).0 < self.kinds.threshold().min(FIRST_LOOK) {
            return;
        }
        let uses = at_server && uses_server(session.task.load(Relaxed));
        let was_asleep = std::mem::replace(&mut held.slept, !uses);
        held.look = if held.slept && !was_asleep { now + Nanos::from_millis(4) } else { now + AGAIN };
        if uses {
            self.busy[Lane::Long as usize] = now;
            self.busy[held.place.lane as usize] = now;
        }
        if at_server && held.place.lane == Lane::Short && lasted < self.kinds.patience(held.digest) {
            return;
        }
        if uses && held.place.lane == Lane::Short {
            // The next ones of its kind need not prove it.
            self.kinds.learn(held.digest, Seen { count: 1, long: 1, floor_s: lasted.as_secs_f64() });
            self.publish();
        }
        let aside = held.place.aside;
        self.sessions.at_gate(|keeper| match (uses, aside) {
            (true, true) => {
                keeper.gate.move_to_long(now, &mut held.place);
                keeper.gate.step_back(&mut held.place);
            }
            (true, false) => keeper.gate.move_to_long(now, &mut held.place),
            (false, false) if !at_server => keeper.gate.pause(now, &mut held.place),
            (false, false) if was_asleep => {
                keeper.gate.step_aside(now, &mut held.place);
            }
            (false, _) => {}
        });
    }

    fn tick(&mut self, now: Nanos) {
        let threshold = self.kinds.threshold();
        let tally = self.sessions.take(threshold);
        if tally.teach(&mut self.kinds) {
            self.publish();
        }
        self.set_mode(now);
        let limit = self.sessions.limit(Lane::Short);
        let (looks, running, queued, most) = std::mem::replace(&mut self.levels, (0.0, 0.0, 0.0, 0));
        let classes = Arc::clone(&self.classes);
        let interval = Interval {
            start: self.last_tick,
            end: now,
            in_flight_mean: running / looks.max(1.0),
            in_flight_max: most,
            queued_mean: queued / looks.max(1.0),
            ..tally.interval(&mut self.costs, |digest| classes.get(&digest) != Some(&Class::Long))
        };
        let signals = self.cpu.signals(self.cpus, interval.end - interval.start, interval.completions);
        let aborts = interval.rolled_back as f64 > ABORTS * interval.completions as f64;
        let crowd = interval.in_flight_mean > CROWD * self.cpus as f64;
        // Where nobody waits a lower limit would only cost.
        let asked = interval.queued_mean > 0.0 || aborts || crowd;
        let decided = self.controller.as_mut().filter(|_| asked).map(|controller| {
            let mut sample = evenkeel_core::control::Sample { signals, ..interval.sample(limit as u32) };
            controller.tick(&mut sample)
        });
        if let Some(decided) = &decided
            && decided.limit as usize != limit
        {
            self.sessions.at_gate(|keeper| keeper.gate.set_limit(now, Lane::Short, decided.limit as usize));
        }
        self.limit_long(now, &interval, interval.work + tally.trifles as f64);
        self.keep_alive(now);
        self.show(&tally, decided.as_ref());
    }

    fn publish(&mut self) {
        self.classes = Arc::new(self.kinds.classes().collect());
        self.sessions.set_classes(&self.classes);
    }

    fn set_mode(&mut self, now: Nanos) {
        let mode = self.sessions.options.mode();
        let pooled = self.sessions.pooled.load(Relaxed);
        let broken = self.sessions.broken.load(Relaxed);
        let open =
            matches!(mode, Mode::Watch | Mode::Off) || pooled || broken || self.sessions.options.is_open(now);
        if mode != self.mode {
            self.mode = mode;
            let limit = self.sessions.limit(Lane::Short) as u32;
            self.controller = match mode {
                Mode::Auto => Some(supervised(limit.min(LIMIT_MAX))),
                Mode::Watch | Mode::Fixed(_) | Mode::Off => None,
            };
            if let Mode::Fixed(limit) = mode {
                self.sessions.at_gate(|keeper| keeper.gate.set_limit(now, Lane::Short, limit as usize));
            }
        }
        let options = evenkeel_core::gate::Options { watch: open, ..self.sessions.options.gate() };
        self.open = open;
        self.sessions.at_gate(|keeper| keeper.gate.set_options(now, options));
        let wait = self.sessions.options.max_wait_ms.load(Relaxed);
        if wait > 0 {
            self.sessions.at_gate(|keeper| keeper.gate.reject_overdue(now, Nanos::from_millis(wait)));
        }
    }

    fn limit_long(&mut self, now: Nanos, interval: &Interval, short_work: f64) {
        let (limit, running) = (self.sessions.limit(Lane::Long), self.sessions.running(Lane::Long));
        let sample = LongSample {
            seconds: (interval.end - interval.start).as_secs_f64(),
            short_work,
            full: !self.open && (self.sessions.waiting(Lane::Long) > 0 || running >= limit),
        };
        let found = self.long.update(&sample);
        let wanted = match self.sessions.options.long_limit.load(Relaxed) {
            0 => found as usize,
            chosen => chosen as usize,
        };
        if wanted != limit {
            self.sessions.at_gate(|keeper| keeper.gate.set_limit(now, Lane::Long, wanted));
        }
    }

    /// Liveness, where nothing that runs in a lane was seen to use the server for as long.
    fn keep_alive(&mut self, now: Nanos) {
        for lane in Lane::ALL {
            if now - self.busy[lane as usize] >= PATIENCE {
                self.sessions.at_gate(|keeper| keeper.gate.keep_alive(now, lane, PATIENCE));
            }
        }
    }

    fn show(&self, tally: &crate::tally::Tally, decided: Option<&Decided>) {
        let shown = &self.sessions.options.shown;
        let (lanes, aside, liveness) = self
            .sessions
            .at_gate(|keeper| (keeper.gate.lanes(), keeper.gate.aside(), keeper.gate.liveness_total()));
        for (lane, census) in lanes.iter().enumerate() {
            shown.limit[lane].store(census.limit as u64, Relaxed);
            shown.running[lane].store(census.running as u64, Relaxed);
            shown.waiting[lane].store(census.waiting as u64, Relaxed);
        }
        shown.aside.store(aside as u64, Relaxed);
        shown.liveness.store(liveness, Relaxed);
        shown.completed.fetch_add(tally.completions() + tally.trifles, Relaxed);
        shown.rolled_back.fetch_add(tally.rolled_back(), Relaxed);
        shown.would_wait.fetch_add(tally.would_wait, Relaxed);
        shown.waits.fetch_add(tally.waits, Relaxed);
        shown.waited_ms.fetch_add((tally.waited_s * 1e3).round() as u64, Relaxed);
        shown.long_from_ms.store(self.kinds.threshold().0 / 1_000_000, Relaxed);
        shown.oldest_ms.store(self.oldest.0.0 / 1_000_000, Relaxed);
        let put = |place: &Mutex<String>, text: &dyn std::fmt::Display| {
            let mut place = lock(place);
            place.clear();
            let _ = write!(place, "{text}");
        };
        match decided {
            Some(decided) => put(&shown.reasons[0], decided),
            None => {
                let why = if self.controller.is_some() { "nobody waits" } else { "it is fixed" };
                put(&shown.reasons[0], &format_args!("limit {}, because {why}", lanes[0].limit));
            }
        }
        let (long, why) = match self.sessions.options.long_limit.load(Relaxed) {
            0 => (u64::from(self.long.limit()), self.long.reason()),
            chosen => (chosen, LongReason::Fixed),
        };
        put(&shown.reasons[1], &format_args!("limit {long}, because {why}"));
        put(&shown.oldest, &format_args!("{:016x}", self.oldest.1));
        put(
            &shown.state,
            &match (self.mode, self.sessions.pooled.load(Relaxed), self.open) {
                (_, true, _) => "not limiting: thread_handling is pool-of-threads",
                (Mode::Off, ..) => "off",
                (Mode::Watch, ..) => "only watching, nothing is held back",
                (_, _, true) => "not limiting: the plugin is being uninstalled",
                (_, _, false) => "limiting",
            },
        );
    }
}

fn supervised(limit: u32) -> SupervisedController {
    let bounds = Bounds { initial: limit, range: (1, LIMIT_MAX) };
    let controller: Box<dyn Controller> = ControllerSettings::named("evenkeel", bounds)
        .map(|settings| settings.build())
        .unwrap_or_else(|| Box::new(evenkeel_core::control::Fixed::new(limit)));
    SupervisedController::new(controller, limit, LIMIT_MAX)
}

impl Sessions {
    /// Who was killed while it waited goes on, for the server to end its statement.
    pub fn wake_killed(&self, now: Nanos) {
        let killed = self.at_gate(|keeper| {
            let server = self.server;
            let ends = |session: &Session| server.is_killed(session.thd);
            let killed: Vec<u64> = keeper
                .waiting
                .iter()
                .filter(|(_, waiting)| ends(&waiting.session))
                .map(|(id, _)| *id)
                .collect();
            // Who was admitted meanwhile stays: its notice is under way.
            let cancelled = |id: &u64| {
                keeper.waiting.get(id).is_some_and(|waiting| keeper.gate.cancel(now, waiting.stand))
            };
            let cancelled: Vec<u64> = killed.into_iter().filter(cancelled).collect();
            cancelled.into_iter().filter_map(|id| keeper.waiting.remove(&id)).collect::<Vec<_>>()
        });
        killed.into_iter().for_each(|waiting| waiting.session.decide(Verdict::Killed));
    }

    pub fn waiting(&self, lane: Lane) -> usize {
        self.at_gate(|keeper| keeper.gate.waiting(lane))
    }

    pub fn limit(&self, lane: Lane) -> usize {
        self.at_gate(|keeper| keeper.gate.limit(lane))
    }
}
