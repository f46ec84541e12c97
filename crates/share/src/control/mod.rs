//! The loop of a host that shares storage: measure, report, hear the others, ask the law, set the window.
//!
//! It does so once a period, at an instant that follows from the member's name, so that members are spread over the period.
//! Where the bus is down or the law fails, the last window is kept, and listeners hear of it once; hosts without a bus
//! neither stop nor burst. A period that came late is not made up for.

mod shown;
mod storage;
mod supervised;
mod why;

use super::event::{Event, Listener};
use super::{DiskCounts, Handle, Seen};
use evenkeel_bus::{Bus, Dropped, Heard};
use evenkeel_core::Nanos;
use evenkeel_core::share::{Costs, Law, Report};
use evenkeel_os::Latest;
use evenkeel_os::clock::Clock;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use storage::{Crowded, Storage};
pub use supervised::SupervisedLaw;
pub use why::{Disk, Fault, Member, Snapshot, Totals, Why};

/// Longest wait for the engine.
const PATIENCE: Duration = Duration::from_millis(500);
/// Listeners hear of dropped reports at most this often.
const DROPS_EVERY: Nanos = Nanos::from_secs(60);

/// In a period that ends later than this, or than half a period, this host did not run all the time.
const LATE: Nanos = Nanos::from_millis(250);
/// Periods, with that one, whose latency is not reported: I/Os that were under way end in it or in the next.
const DOUBTED: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Time from one report to the next.
    pub period: Nanos,
    pub law: Law,
    pub costs: Costs,
}

/// What other threads ask of the loop.
#[derive(Clone, Debug)]
pub enum Order {
    /// New settings; another law goes on from the window in force.
    Set(Box<Settings>),
    /// Other shares of a disk, above zero.
    Shares(usize, f64),
    /// Ends the loop; the window stays, and the others hear that this member leaves.
    Stop,
}

/// The loop, which owns the window and everything that it follows from.
pub struct Loop {
    engine: Handle,
    names: Vec<String>,
    bus: Bus,
    clock: Clock,
    settings: Settings,
    law: SupervisedLaw,
    why: Why,
    fault: Option<Fault>,
    outsider: bool,
    unfair: bool,
    twin: bool,
    /// Members whose costs differ, as far as listeners have heard.
    differ: BTreeSet<String>,
    /// Counts of the disks at the end of the last period.
    counted: Vec<DiskCounts>,
    present: BTreeSet<String>,
    known_drops: ([u64; Dropped::ALL.len()], Option<Nanos>),
    storage: Storage,
    crowded: Crowded,
    totals: Totals,
    listener: Arc<Listener>,
    latest: Latest<Snapshot>,
    patience: Duration,
    /// When the last period ended, and of how many to come the latency is not reported.
    ended: Option<Nanos>,
    doubted: u32,
}

/// The reports of a period that the law goes by, and the place of this host's own among them.
struct Heeded {
    reports: Vec<Report>,
    own: usize,
}

impl Loop {
    /// A loop on an engine whose disks have these names, with the clock that its bus was opened with.
    pub fn new(
        (engine, names): (Handle, Vec<String>),
        (mut bus, clock): (Bus, Clock),
        settings: Settings,
        (listener, latest): (Arc<Listener>, Latest<Snapshot>),
    ) -> Self {
        let law = SupervisedLaw::new(settings.law.build(), settings.law.initial());
        listener(&Event::Joined {
            member: bus.name().to_owned(),
            period: settings.period,
            note: bus.note().map(str::to_owned),
        });
        engine.set_window(law.window());
        bus.set_costs(settings.costs.mark());
        Self {
            engine,
            names,
            bus,
            clock,
            settings,
            law,
            why: Why::Begins,
            fault: None,
            outsider: false,
            unfair: false,
            twin: false,
            differ: BTreeSet::new(),
            counted: Vec::new(),
            present: BTreeSet::new(),
            known_drops: ([0; Dropped::ALL.len()], None),
            storage: Storage::default(),
            crowded: Crowded::default(),
            totals: Totals::default(),
            listener,
            latest,
            patience: PATIENCE,
            ended: None,
            doubted: 0,
        }
    }

    /// Ends one period after the other, until it is ordered to stop or nobody can give orders any more.
    pub fn run(mut self, orders: &Receiver<Order>) {
        let mut next = self.clock.now() + phase(self.bus.name(), self.settings.period);
        loop {
            match orders.recv_timeout(Duration::from(next - self.clock.now())) {
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(order) => {
                    let before = self.settings.period;
                    self.obey(order);
                    if self.settings.period != before {
                        next = self.clock.now() + phase(self.bus.name(), self.settings.period);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    let now = self.clock.now();
                    self.end_period(now);
                    next = following(next, self.clock.now(), self.settings.period);
                }
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Set(settings) => {
                if settings.law != self.settings.law {
                    self.law.replace(&settings.law);
                }
                self.engine.set_costs(settings.costs);
                self.bus.set_costs(settings.costs.mark());
                self.settings = *settings;
                self.bus.set_period(settings.period);
            }
            Order::Shares(disk, shares) => self.engine.set_shares(disk, shares),
            Order::Stop => {}
        }
    }

    pub fn end_period(&mut self, now: Nanos) {
        self.totals.periods += 1;
        let Some(mut seen) = self.engine.measure(self.patience) else {
            return self.keep(Fault::Engine);
        };
        self.doubt(&mut seen, now);
        self.storage.notify(&self.names, &seen.counts, now, &*self.listener);
        self.crowded.notify(&seen.counts.crowd, now, &*self.listener);
        let report = self.law.report(&seen.measured.period);
        let decided = self
            .converse(&report, now)
            .and_then(|heeded| Ok((self.law.update(&heeded.reports, heeded.own)?, heeded)));
        match decided {
            Ok((window, heeded)) => self.enforce(window, seen.window, &heeded),
            Err(fault) => self.keep(fault),
        }
        let live = self.bus.live(now);
        self.notify_of_others(&live, now);
        self.show(now, &seen, &report, &live);
    }

    /// A host that was stopped, or had no CPU, has measured its own standstill and not the latency of the storage. Reported to
    /// the others, it would let all windows fall.
    fn doubt(&mut self, seen: &mut Seen, now: Nanos) {
        let due = self.settings.period + LATE.max(Nanos(self.settings.period.0 / 2));
        let is_late = self.ended.replace(now).is_some_and(|last| now - last > due);
        self.doubted = if is_late { DOUBTED } else { self.doubted };
        if self.doubted > 0 {
            self.doubted -= 1;
            (seen.measured.period.latency, seen.measured.period.completions) = (None, 0);
        }
    }

    /// Sends this host's report and hears the others: the reports of the live members by name, if this one is among them.
    fn converse(&mut self, report: &Report, now: Nanos) -> Result<Heeded, Fault> {
        let sent = self.bus.send(self.law.window(), report, now);
        let heard = self.bus.hear(now);
        // Why a report was not sent says more than that it was not heard.
        sent?;
        heard?;
        let live = self.bus.live(now);
        let own = live.iter().position(|heard| self.bus.is_own(&heard.message)).ok_or(Fault::Unheard)?;
        Ok(Heeded { reports: live.into_iter().map(|heard| heard.message.report).collect(), own })
    }

    fn enforce(&mut self, window: f64, from: f64, heeded: &Heeded) {
        let at_floor = self.law.is_at_floor();
        self.why = Why::of(&self.settings.law, window, at_floor, &heeded.reports, heeded.own);
        if self.fault.take().is_some() {
            (self.listener)(&Event::Recovered);
        }
        if window != from {
            self.engine.set_window(window);
            (self.listener)(&Event::Window { from, to: window, why: self.why.clone() });
        }
        self.notify_of_fairness();
        match self.why {
            Why::Outsider { latency, threshold } if !self.outsider => {
                self.outsider = true;
                (self.listener)(&Event::Outsider { latency, threshold });
            }
            Why::Outsider { .. } => {}
            _ if self.outsider => {
                self.outsider = false;
                (self.listener)(&Event::OutsiderGone);
            }
            _ => {}
        }
    }

    fn notify_of_fairness(&mut self) {
        let unfair = self.law.unfair();
        match unfair {
            Some(ratio) if !self.unfair => (self.listener)(&Event::Unfair { ratio }),
            None if self.unfair => (self.listener)(&Event::Fair),
            _ => {}
        }
        self.unfair = unfair.is_some();
    }

    fn keep(&mut self, fault: Fault) {
        self.totals.kept += 1;
        let is_new = self.fault.as_ref().is_none_or(|before| !before.is_like(&fault));
        self.why = Why::Kept(fault.clone());
        self.fault = Some(fault.clone());
        if is_new {
            (self.listener)(&Event::Fault { fault, window: self.law.window() });
        }
    }

    /// Notifies of members that came and went, and of reports that were dropped.
    fn notify_of_others(&mut self, live: &[Heard], now: Nanos) {
        let others = live.iter().filter(|heard| !self.bus.is_own(&heard.message));
        let present: BTreeSet<String> = others.map(|heard| heard.message.member.clone()).collect();
        for member in present.difference(&self.present) {
            (self.listener)(&Event::Came { member: member.clone() });
        }
        for member in self.present.difference(&present) {
            (self.listener)(&Event::Gone { member: member.clone() });
        }
        self.present = present;
        self.notify_of_costs(live);
        let twin = self.bus.has_twin(now);
        if twin && !self.twin {
            (self.listener)(&Event::Twin { member: self.bus.name().to_owned() });
        }
        self.twin = twin;
        if self.known_drops.1.is_none_or(|at| now - at >= DROPS_EVERY) {
            self.notify_of_drops(now);
        }
    }

    /// Notifies of members whose costs differ from this host's, and of those whose costs no longer do.
    fn notify_of_costs(&mut self, live: &[Heard]) {
        let others = live.iter().filter(|heard| self.differs(heard));
        let differ: BTreeSet<String> = others.map(|heard| heard.message.member.clone()).collect();
        for member in differ.difference(&self.differ) {
            (self.listener)(&Event::CostsDiffer { member: member.clone() });
        }
        for member in self.differ.difference(&differ).filter(|member| self.present.contains(*member)) {
            (self.listener)(&Event::CostsAgree { member: member.clone() });
        }
        self.differ = differ;
    }

    /// Whether a member has another table of costs; one whose version has no mark of it is taken to have the same.
    fn differs(&self, heard: &Heard) -> bool {
        heard.message.costs != 0 && heard.message.costs != self.settings.costs.mark()
    }

    fn notify_of_drops(&mut self, now: Nanos) {
        for (known, (why, count)) in self.known_drops.0.iter_mut().zip(self.bus.dropped()) {
            if count > *known {
                (self.listener)(&Event::Dropped { why, count: count - *known });
                (*known, self.known_drops.1) = (count, Some(now));
            }
        }
    }
}

/// When in a period a member of this name acts.
fn phase(name: &str, period: Nanos) -> Nanos {
    let part = u128::from(crc32fast::hash(name.as_bytes()));
    Nanos(((u128::from(period.0) * part) >> 32) as u64)
}

/// The next instant of the same phase that is not over: what was missed is not made up for.
fn following(last: Nanos, now: Nanos, period: Nanos) -> Nanos {
    let missed = (now - last).0 / period.0.max(1);
    last + Nanos(period.0.saturating_mul(missed + 1))
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
