//! One turn after the other: what clients ask, what the window lets go, what has ended.

mod flow;
mod linger;

use super::front::{Front, TOKENS};
use super::handle::{Counts, DiskCounts, Inbox, Message, Seen};
use super::plan::{DiskPlan, Plan};
use super::{Backing, Ended, Reply, Request, ShareError, Work};
use evenkeel_core::Nanos;
use evenkeel_core::share::{Admission, Costs, Sent};
use evenkeel_os::clock::Clock;
use evenkeel_os::{Interest, Poller};
use linger::{LINGER, Linger};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

const TIMER: u64 = 0;
const WAKE: u64 = 1;
/// Time that the window has, after a stop, for what it holds back, and clients have to take their answers.
const PATIENCE: Nanos = Nanos::from_millis(5_000);
/// Time that clients have to take answers to what was given up then.
const LAST: Nanos = Nanos::from_millis(1_000);
/// The first token of a backing; each disk has the one at its number.
const BACKINGS: u64 = 16;
/// What one I/O moves: a socket is ready, a request comes, and ends. After more it sleeps at once: meanwhile clients with many
/// at a time ask for more of them, which is less work for each.
const FEW: usize = 3;

struct Disk {
    name: String,
    backing: Box<dyn Backing>,
    /// With why what was written before may be lost, if it may: no later flush can bring it back.
    counts: DiskCounts,
}

impl Disk {
    fn new(DiskPlan { name, backing, .. }: DiskPlan) -> Self {
        Self { name, backing, counts: DiskCounts::default() }
    }
}

struct Flying {
    disk: usize,
    /// How it was let go; a flush was not held back.
    sent: Option<Sent>,
    kind: Kind,
    bytes: u64,
    reply: Reply,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Change,
    Flush,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Change => "change",
            Self::Flush => "flush",
        }
    }
}

pub(super) struct Worker {
    clock: Clock,
    poller: Poller,
    inbox: Arc<Inbox>,
    front: Option<Box<dyn Front>>,
    disks: Vec<Disk>,
    admission: Admission<(Request, Nanos)>,
    costs: Costs,
    flying: Vec<Option<Flying>>,
    free: Vec<usize>,
    counts: Counts,
    /// Requests are no longer taken; answers that clients have not taken until then are given up.
    stopping: Option<Nanos>,
    ended: Vec<Ended>,
    requests: Vec<Request>,
    messages: Vec<Message>,
    /// Sockets that were ready, and I/Os that came or ended, since it last waited.
    moved: usize,
    /// Whether looking pays while the storage has nothing to do, and while it has.
    linger: [Linger; 2],
    /// The instant at which the timer fires, and the one at which time alone lets the next I/O go.
    alarm: Nanos,
    let_go_at: Nanos,
}

/// A descriptor to be watched that somebody else owns.
struct Watched(RawFd);

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Worker {
    pub fn new(plan: Plan, mut front: Option<Box<dyn Front>>, inbox: Arc<Inbox>) -> io::Result<Self> {
        let poller = Poller::new(Nanos::ZERO, TIMER)?;
        poller.add(inbox.wake(), WAKE, Interest::Read)?;
        for (place, disk) in plan.disks.iter().enumerate() {
            if let Some(descriptor) = disk.backing.descriptor() {
                poller.add(&Watched(descriptor), BACKINGS + place as u64, Interest::Read)?;
            }
        }
        if let Some(front) = &mut front {
            front.watch(&poller)?;
        }
        let shares: Vec<f64> = plan.disks.iter().map(|disk| disk.shares).collect();
        Ok(Self {
            clock: Clock::start(),
            poller,
            inbox,
            front,
            disks: plan.disks.into_iter().map(Disk::new).collect(),
            admission: Admission::new(&shares, plan.window, 0.0),
            costs: plan.costs,
            flying: Vec::new(),
            free: Vec::new(),
            counts: Counts::default(),
            stopping: None,
            ended: Vec::new(),
            requests: Vec::new(),
            messages: Vec::new(),
            moved: 0,
            linger: Default::default(),
            alarm: Nanos::MAX,
            let_go_at: Nanos::MAX,
        })
    }

    pub fn run(mut self) -> Result<(), ShareError> {
        let _ending = self.inbox.guarded();
        self.turns().map_err(ShareError::Ended).and_then(|()| self.last_flush())
    }

    fn turns(&mut self) -> io::Result<()> {
        while !self.is_done() {
            self.listen()?;
            self.turn()?;
            self.shed_if_late()?;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        let Some(until) = self.stopping else { return false };
        let quiet = self.free.len() == self.flying.len() && self.admission.waiting() == 0;
        quiet && (!self.has_unsent() || self.clock.now() >= until)
    }

    fn has_unsent(&self) -> bool {
        self.front.as_ref().is_some_and(|front| front.has_unsent())
    }

    /// Takes what there is, and waits where there is nothing.
    fn listen(&mut self) -> io::Result<()> {
        self.set_alarm()?;
        let ready = self.wait()?;
        for index in 0..ready {
            let ready = self.poller.ready(index);
            self.moved += usize::from(ready.token != TIMER);
            match (ready.token, &mut self.front) {
                (TIMER, _) => self.alarm = Nanos::MAX,
                (TOKENS.., Some(front)) => front.ready(ready),
                // Backings are asked in every turn.
                _ => {}
            }
        }
        self.take_messages();
        Ok(())
    }

    /// Waits until something is ready; says how many sockets are.
    fn wait(&mut self) -> io::Result<usize> {
        let has_more = self.front.as_ref().is_some_and(|front| front.has_more());
        let moved = std::mem::take(&mut self.moved);
        if has_more || !(1..=FEW).contains(&moved) {
            return self.sleep(!has_more);
        }
        let busy = usize::from(self.free.len() < self.flying.len());
        let (begun, looks) = (self.clock.now(), self.linger[busy].looks());
        let seen = if looks { self.look(begun)? } else { None };
        let ready = seen.map_or_else(|| self.sleep(true), Ok)?;
        self.linger[busy].learn(looks, self.clock.now() - begun);
        Ok(ready)
    }

    fn sleep(&mut self, may_sleep: bool) -> io::Result<usize> {
        let may_sleep = self.inbox.may_sleep() && may_sleep;
        let ready = self.poller.wait(may_sleep)?;
        self.inbox.is_awake();
        Ok(ready)
    }

    /// Looks for a moment; `None` where there was nothing to see.
    fn look(&mut self, begun: Nanos) -> io::Result<Option<usize>> {
        loop {
            let ready = self.poller.wait(false)?;
            if ready > 0 || self.inbox.has_messages() {
                return Ok(Some(ready));
            }
            if self.clock.now() - begun > LINGER {
                return Ok(None);
            }
            std::thread::yield_now();
        }
    }

    fn take_messages(&mut self) {
        let mut messages = std::mem::take(&mut self.messages);
        self.inbox.take(&mut messages);
        for message in messages.drain(..) {
            match message {
                Message::Request(request) => self.requests.push(request),
                Message::Window(window) => self.admission.set_window(window, self.clock.now().as_secs_f64()),
                Message::Shares(disk, shares) => self.admission.set_shares(disk, shares),
                Message::Costs(costs) => self.costs = *costs,
                Message::Measure(to) => {
                    // Who asked and went away wants no answer.
                    let _ = to.send(self.seen());
                }
                Message::Stop => self.stop(),
            }
        }
        self.messages = messages;
    }

    fn stop(&mut self) {
        self.stopping = Some(self.clock.now() + PATIENCE);
        if let Some(front) = &mut self.front {
            front.close();
        }
    }

    fn seen(&mut self) -> Seen {
        for disk in &mut self.disks {
            disk.backing.look();
            disk.counts.lost = disk.counts.lost.or(disk.backing.lost());
        }
        let counts = |disk: &Disk| DiskCounts { device_s: disk.backing.device_s(), ..disk.counts };
        self.counts.disks = self.disks.iter().map(counts).collect();
        if let Some(front) = &self.front {
            (self.counts.clients, self.counts.crowd) = (front.clients(), front.crowd().clone());
        }
        Seen {
            measured: self.admission.measure(self.clock.now().as_secs_f64()),
            window: self.admission.window(),
            waiting: self.admission.waiting(),
            outstanding: self.admission.outstanding(),
            counts: self.counts.clone(),
        }
    }

    /// Lets go and collects until nothing moves by itself any more.
    fn turn(&mut self) -> io::Result<()> {
        loop {
            if let Some(front) = &mut self.front {
                front.take(&self.poller, self.clock.now(), &mut self.requests);
            }
            self.take_requests();
            self.withdraw_gone();
            let more = self.let_go();
            let now = self.clock.now();
            for disk in &mut self.disks {
                disk.backing.push(now)?;
            }
            let any = self.collect();
            if let Some(front) = &mut self.front {
                front.push(&self.poller);
            }
            self.withdraw_gone();
            if !any && !more && self.requests.is_empty() {
                return Ok(());
            }
        }
    }

    /// The timer fires when the next thing is due.
    fn set_alarm(&mut self) -> io::Result<()> {
        let due = self.disks.iter().filter_map(|disk| disk.backing.due()).min().unwrap_or(Nanos::MAX);
        // Past, it would fire for ever.
        let until = self.stopping.filter(|until| *until > self.clock.now()).unwrap_or(Nanos::MAX);
        let front = self.front.as_ref().map_or(Nanos::MAX, |front| front.due());
        let due = due.min(self.let_go_at).min(until).min(front);
        if due != self.alarm {
            let after = if due == Nanos::MAX { due } else { due - self.clock.now() };
            self.poller.fire_in(after)?;
            self.alarm = due;
        }
        Ok(())
    }

    /// What was answered must be on the disk when the engine ends.
    fn last_flush(&mut self) -> Result<(), ShareError> {
        for place in 0..self.disks.len() {
            if self.disks[place].backing.is_read_only() {
                continue;
            }
            let (sender, receiver) = std::sync::mpsc::channel();
            let reply = Reply::Call(Box::new(move |answer| drop(sender.send(answer))));
            self.requests.push(Request { disk: place, work: Work::Flush, reply });
            self.turn().map_err(ShareError::Ended)?;
            while !self.is_done() {
                self.listen().map_err(ShareError::Ended)?;
                self.turn().map_err(ShareError::Ended)?;
            }
            if let Ok(Err(errno)) = receiver.recv() {
                return Err(ShareError::Flush { name: self.disks[place].name.clone(), errno });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl Worker {
    /// One without a thread: a test lets it act, and time pass.
    pub fn by_hand(plan: Plan, inbox: Arc<Inbox>, clock: Clock) -> Self {
        Self { clock, ..Self::new(plan, None, inbox).expect("descriptors") }
    }

    /// Does all that there is to do at this instant.
    pub fn act(&mut self) {
        loop {
            self.take_messages();
            self.turn().expect("a turn");
            self.shed_if_late().expect("a turn");
            if !self.inbox.has_messages() {
                return;
            }
        }
    }

    pub fn due(&self) -> Nanos {
        let due = self.disks.iter().filter_map(|disk| disk.backing.due()).min();
        due.unwrap_or(Nanos::MAX).min(self.let_go_at)
    }
}

#[cfg(test)]
mod tests;
