//! A member listens before it joins, reports, hears the others, and says when it leaves.

use super::carrier::Bounded;
use super::message;
use super::roster::Roster;
use super::{BusError, Carrier, Dropped, Heard, Identity, Message};
use evenkeel_core::Nanos;
use evenkeel_core::share::Report;
use evenkeel_os::clock::Clock;
use std::time::Duration;

/// A member listens for so many periods at most before its first report.
const LISTEN_PERIODS: u64 = 2;
/// Longest wait for a report to be carried or to come back: a quarter of a period, between these.
const PATIENCE: (Nanos, Nanos) = (Nanos::from_millis(250), Nanos::from_secs(2));
/// Pause between two looks while listening, and while the own report has not come back.
const LOOK: Duration = Duration::from_millis(20);

pub struct Bus {
    carrier: Box<dyn Carrier>,
    own: Identity,
    roster: Roster,
    period: Nanos,
    sequence: u64,
    /// Mark of this member's table of costs.
    costs: u64,
    /// Whether the others have to hear at the end that this member leaves.
    joined: bool,
    note: Option<String>,
    clock: Clock,
    /// The longest wait for the carrier, by the length of a period.
    patience: fn(Nanos) -> Nanos,
}

impl Bus {
    /// Joins as the member `name`, which reports once a `period`. Listens for up to two periods before. Messages arrive by
    /// `clock`, which later calls have to use too.
    /// Errors: the name is taken by a live member, or the carrier has no place left.
    pub fn open(
        carrier: Box<dyn Carrier>,
        name: &str,
        period: Nanos,
        clock: Clock,
    ) -> Result<Self, BusError> {
        Self::open_with(carrier, name, (period, patience), clock)
    }

    /// As [`Bus::open`], with another bound on waits.
    pub fn open_with(
        carrier: Box<dyn Carrier>,
        name: &str,
        (period, patience): (Nanos, fn(Nanos) -> Nanos),
        clock: Clock,
    ) -> Result<Self, BusError> {
        if !message::is_name(name) {
            return Err(BusError::Name(name.to_owned()));
        }
        let own = Identity::new(name);
        let roster = Roster::new(own.clone(), period);
        let note = carrier.note();
        let carrier: Box<dyn Carrier> = if carrier.keeps() {
            Box::new(Bounded::start(carrier, patience(period).into())?)
        } else {
            carrier
        };
        let (sequence, costs, joined) = (0, 0, false);
        let mut this = Self { carrier, own, roster, period, sequence, costs, joined, note, clock, patience };
        this.listen()?;
        let hello = this.next(0.0, &Report::default(), false);
        this.carrier.join(&hello)?;
        this.joined = true;
        Ok(this)
    }

    /// Listens for who is there, and whether this member's name is free.
    fn listen(&mut self) -> Result<(), BusError> {
        let end = self.clock.now() + Nanos(LISTEN_PERIODS.saturating_mul(self.period.0));
        let mut is_first = self.carrier.keeps();
        loop {
            let now = self.clock.now();
            match self.carrier.hear(LOOK) {
                Ok(pieces) => {
                    let at = (!is_first).then_some(now);
                    pieces.iter().for_each(|piece| self.roster.take(piece, at));
                    is_first = false;
                }
                // Storage may be slow just because it needs windows.
                Err(BusError::Slow) => {}
                Err(error) => return Err(error),
            }
            if self.roster.twin(now).is_some() {
                return Err(BusError::Twin(self.own.name.clone()));
            }
            let is_clear = self.carrier.keeps() && !is_first && self.roster.all_have_moved();
            if now >= end || is_clear {
                return Ok(());
            }
            if self.carrier.keeps() {
                std::thread::sleep(LOOK.min(Duration::from(end - now)));
            }
        }
    }

    fn next(&mut self, window: f64, report: &Report, leaves: bool) -> Vec<u8> {
        self.sequence += 1;
        self.roster.sent(self.sequence);
        let message = Message {
            member: self.own.name.clone(),
            incarnation: self.own.incarnation,
            sequence: self.sequence,
            period: self.period,
            leaves,
            window,
            costs: self.costs,
            report: report.clone(),
        };
        message.encode()
    }

    /// Sends a report to the others, with the window in force. An elder member of the same name silences this one.
    pub fn send(&mut self, window: f64, report: &Report, now: Nanos) -> Result<(), BusError> {
        if self.roster.elder(self.sequence, now).is_some() {
            return Err(BusError::Twin(self.own.name.clone()));
        }
        let bytes = self.next(window, report, false);
        self.carrier.send(&bytes)
    }

    /// Takes in the messages of the others, and waits a little until this member's own one has come back.
    pub fn hear(&mut self, now: Nanos) -> Result<(), BusError> {
        let end = self.clock.now() + (self.patience)(self.period);
        loop {
            for piece in self.carrier.hear(LOOK)? {
                self.roster.take(&piece, Some(now));
            }
            if self.roster.echo() == Some(self.sequence) {
                return Ok(());
            }
            if self.clock.now() >= end {
                return Err(BusError::Unheard);
            }
            if self.carrier.keeps() {
                std::thread::sleep(LOOK);
            }
        }
    }

    /// The live members by name, this one among them where its reports come back.
    pub fn live(&self, now: Nanos) -> Vec<Heard> {
        self.roster.live(now)
    }

    /// Whether this start of this member sent the message.
    pub fn is_own(&self, message: &Message) -> bool {
        self.own.has_sent(message)
    }

    /// Whether another start of this member is live.
    pub fn has_twin(&self, now: Nanos) -> bool {
        self.roster.twin(now).is_some()
    }

    pub fn name(&self) -> &str {
        &self.own.name
    }

    /// Sets another period, which holds from the next report on.
    pub fn set_period(&mut self, period: Nanos) {
        self.period = period;
        self.roster.set_period(period);
    }

    /// Sets the mark of the table of costs, which goes with messages from the next one on.
    pub fn set_costs(&mut self, mark: u64) {
        self.costs = mark;
    }

    /// Reports dropped so far, by reason.
    pub fn dropped(&self) -> [(Dropped, u64); Dropped::ALL.len()] {
        self.roster.dropped()
    }

    /// What an operator should know of how it carries.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

fn patience(period: Nanos) -> Nanos {
    Nanos(period.0 / 4).clamp(PATIENCE.0, PATIENCE.1)
}

impl Drop for Bus {
    fn drop(&mut self) {
        if !self.joined {
            return;
        }
        let last = self.next(0.0, &Report::default(), true);
        // The others find out by the silence too.
        let _ = self.carrier.send(&last);
    }
}

/// Waits of tests in which the bus works: no machine stands still for as long.
#[cfg(any(test, feature = "fixture"))]
pub fn patient(_: Nanos) -> Nanos {
    Nanos::from_secs(60)
}
