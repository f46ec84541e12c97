//! An engine over a slow backing in memory: what is held back, in which order, and how it ends. Where time
//! decides it passes by hand.

use super::Worker;
use crate::handle::{Handle, Inbox};
use crate::{Answer, Backing, Buffer, DiskPlan, Ended, Engine, Errno, Plan, Reply, Request, Work};
use evenkeel_core::Nanos;
use evenkeel_core::share::Costs;
use evenkeel_os::clock::Clock;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

const UNIT: usize = 16_384;

#[derive(Default)]
struct Site {
    /// Works under way, and the most that ever were.
    busy: AtomicUsize,
    most: AtomicUsize,
    flush_fails: AtomicBool,
    /// It has no space for what is to be durable.
    full: AtomicBool,
    flushes: AtomicUsize,
}

/// Whatever is read or written, each work takes so long.
struct Slow {
    site: Arc<Site>,
    takes: Nanos,
    under_way: Vec<(Nanos, u64, Work)>,
}

impl Backing for Slow {
    fn bytes(&self) -> u64 {
        1 << 16
    }

    fn start(&mut self, id: u64, work: Work, now: Nanos) {
        if !matches!(work, Work::Flush) {
            let busy = self.site.busy.fetch_add(1, Ordering::SeqCst) + 1;
            self.site.most.fetch_max(busy, Ordering::SeqCst);
        }
        self.under_way.push((now + self.takes, id, work));
    }

    fn push(&mut self, _: Nanos) -> io::Result<()> {
        Ok(())
    }

    fn collect(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        for (due, id, work) in std::mem::take(&mut self.under_way) {
            if due > now {
                self.under_way.push((due, id, work));
                continue;
            }
            if !matches!(work, Work::Flush) {
                self.site.busy.fetch_sub(1, Ordering::SeqCst);
            }
            ended.push(Ended { id, answer: self.done(work) });
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.under_way.iter().map(|(due, ..)| *due).min()
    }
}

impl Slow {
    fn done(&mut self, work: Work) -> Answer {
        match work {
            Work::Write { durable: true, .. } if self.site.full.load(Ordering::SeqCst) => {
                Err(Errno::NO_SPACE)
            }
            Work::Read { buffer, .. } | Work::Write { buffer, .. } => Ok(buffer),
            Work::Flush if self.site.flush_fails.swap(false, Ordering::SeqCst) => Err(Errno::IO),
            Work::Flush => {
                self.site.flushes.fetch_add(1, Ordering::SeqCst);
                Ok(Buffer::default())
            }
            Work::Trim { .. } | Work::Zero { .. } => Err(Errno::UNSUPPORTED),
        }
    }
}

fn plan(takes: Nanos, window: f64, shares: &[f64]) -> (Plan, Arc<Site>) {
    let site = Arc::new(Site::default());
    let disk = |&shares: &f64| {
        let backing = Slow { site: site.clone(), takes, under_way: Vec::new() };
        DiskPlan { name: "disk".to_owned(), shares, backing: Box::new(backing) }
    };
    let disks = shares.iter().map(disk).collect();
    (Plan { disks, window, costs: Costs::default(), memory: 1 << 20 }, site)
}

fn engine(takes: Nanos, window: f64, shares: &[f64]) -> (Engine, Arc<Site>) {
    let (plan, site) = plan(takes, window, shares);
    (Engine::start(plan).unwrap(), site)
}

fn ask(engine: &Handle, disk: usize, work: Work) -> Receiver<Answer> {
    let (sender, receiver) = channel();
    let reply = Reply::Call(Box::new(move |answer| drop(sender.send(answer))));
    engine.submit(Request { disk, work, reply });
    receiver
}

/// An engine without a thread, whose time is that of the next thing to do.
struct ByHand {
    worker: Worker,
    handle: Handle,
    clock: Clock,
    site: Arc<Site>,
}

impl ByHand {
    fn new(takes: Nanos, window: f64, shares: &[f64]) -> Self {
        let ((plan, site), clock) = (plan(takes, window, shares), Clock::by_hand());
        let inbox = Arc::new(Inbox::new().unwrap());
        let worker = Worker::by_hand(plan, inbox.clone(), clock);
        Self { worker, handle: Handle(inbox), clock, site }
    }

    /// Goes on until it is so; panics where nothing is left to do before.
    fn run_until(&mut self, is_so: impl Fn() -> bool) {
        self.worker.act();
        while !is_so() {
            assert_ne!(self.worker.due(), Nanos::MAX, "nothing is left to do");
            self.clock.set(self.worker.due());
            self.worker.act();
        }
    }

    fn run(&mut self) {
        self.worker.act();
        while self.worker.due() != Nanos::MAX {
            self.clock.set(self.worker.due());
            self.worker.act();
        }
    }
}

fn read(offset: u64) -> Work {
    Work::Read { offset, buffer: Buffer::zeroed(UNIT) }
}

fn write(offset: u64, byte: u8) -> Work {
    Work::Write { offset, buffer: Buffer::from_slice(&[byte; UNIT]), durable: false }
}

#[test]
fn no_more_are_outstanding_than_the_window_allows_and_the_rest_is_wanted() {
    let mut engine = ByHand::new(Nanos::from_millis(5), 3.0, &[1.0]);
    let answers: Vec<_> = (0..30).map(|_| ask(&engine.handle, 0, read(0))).collect();
    engine.run();
    answers.iter().for_each(|answer| assert!(answer.try_recv().unwrap().is_ok()));
    assert_eq!(engine.site.most.load(Ordering::SeqCst), 3);
    let seen = engine.worker.seen();
    let period = &seen.measured.period;
    assert_eq!((period.completions, seen.counts.disks[0].reads, seen.waiting), (30, 30, 0));
    // Ten times three of them, of 30 in the beginning and 3 in the end.
    assert!((period.outstanding - 3.0).abs() < 1e-3 && (period.wanted() - 16.5).abs() < 1e-3, "{period:?}");
}

#[test]
fn disks_of_one_host_get_their_shares_of_its_window() {
    let mut engine = ByHand::new(Nanos::from_millis(1), 2.0, &[3.0, 1.0]);
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..200 {
        let (order, disk) = (order.clone(), number % 2);
        let reply = Reply::Call(Box::new(move |_| order.lock().unwrap().push(disk)));
        engine.handle.submit(Request { disk, work: read(0), reply });
    }
    engine.run();
    assert_eq!(order.lock().unwrap().len(), 200);
    let first = order.lock().unwrap()[..100].iter().filter(|&&disk| disk == 0).count();
    assert!((70..=80).contains(&first), "{first}");
}

#[test]
fn a_flush_does_not_wait_behind_the_window() {
    let mut engine = ByHand::new(Nanos::from_millis(100), 1.0, &[1.0]);
    let reads: Vec<_> = (0..5).map(|_| ask(&engine.handle, 0, read(0))).collect();
    let flush = ask(&engine.handle, 0, Work::Flush);
    engine.run_until(|| flush.try_recv().is_ok_and(|answer| answer.is_ok()));
    assert_eq!(engine.clock.now(), Nanos::from_millis(100), "a flush takes as long as a read");
    let done = reads.iter().filter(|read| read.try_recv().is_ok()).count();
    assert_eq!(done, 1, "the fifth read ends after half a second");
}

#[test]
fn a_flush_that_failed_stays_failed() {
    let (engine, site) = engine(Nanos::ZERO, f64::INFINITY, &[1.0]);
    let handle = engine.handle();
    site.flush_fails.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        let answer = ask(&handle, 0, Work::Flush).recv_timeout(PATIENCE).unwrap();
        assert_eq!(answer.map(drop), Err(Errno::IO));
    }
    let durable = Work::Write { offset: 0, buffer: Buffer::zeroed(512), durable: true };
    assert_eq!(ask(&handle, 0, durable).recv_timeout(PATIENCE).unwrap().map(drop), Err(Errno::IO));
    assert!(ask(&handle, 0, write(0, 1)).recv_timeout(PATIENCE).unwrap().is_ok(), "nothing was promised");
    assert!(engine.stop().is_err(), "and the end says that something may be lost");
}

#[test]
fn a_durable_write_that_failed_by_itself_takes_no_flush_with_it() {
    let (engine, site) = engine(Nanos::ZERO, f64::INFINITY, &[1.0]);
    let done = |work| ask(&engine.handle(), 0, work).recv_timeout(PATIENCE).unwrap().map(drop);
    let durable = || Work::Write { offset: 0, buffer: Buffer::zeroed(512), durable: true };
    site.full.store(true, Ordering::SeqCst);
    assert_eq!(done(durable()), Err(Errno::NO_SPACE));
    assert_eq!(done(Work::Flush), Ok(()));
    site.full.store(false, Ordering::SeqCst);
    assert_eq!(done(durable()), Ok(()));
    engine.stop().unwrap();
}

#[test]
fn an_engine_that_panics_answers_who_asks_it_later() {
    let (engine, _) = engine(Nanos::ZERO, f64::INFINITY, &[1.0]);
    let handle = engine.handle();
    let panics = Reply::Call(Box::new(|_| panic!("in the thread of the engine")));
    handle.submit(Request { disk: 0, work: read(0), reply: panics });
    while !engine.has_failed() {
        std::thread::yield_now();
    }
    assert_eq!(ask(&handle, 0, read(0)).recv_timeout(PATIENCE).unwrap().map(drop), Err(Errno::SHUTDOWN));
    assert!(engine.stop().is_err());
}

#[test]
fn who_stops_waits_for_what_was_asked_and_flushes() {
    let (engine, site) = engine(Nanos::from_millis(20), 1.0, &[1.0, 1.0]);
    let handle = engine.handle();
    let answers: Vec<_> = (0..4).map(|number| ask(&handle, number % 2, write(0, 1))).collect();
    engine.stop().unwrap();
    answers.iter().for_each(|answer| assert!(answer.try_recv().unwrap().is_ok()));
    assert_eq!(site.flushes.load(Ordering::SeqCst), 2);
    let (sender, receiver) = channel();
    let reply = Reply::Call(Box::new(move |answer| drop(sender.send(answer))));
    handle.submit(Request { disk: 0, work: read(0), reply });
    assert_eq!(receiver.try_recv().unwrap().map(drop), Err(Errno::SHUTDOWN));
}

#[test]
fn what_the_window_still_holds_back_a_while_after_a_stop_is_answered_as_not_done() {
    let mut engine = ByHand::new(Nanos::from_millis(60_000), 1.0, &[1.0, 1.0]);
    let answers: Vec<_> = (0..20).map(|number| ask(&engine.handle, number % 2, write(0, 1))).collect();
    engine.handle.stop();
    engine.worker.act();
    assert!(answers.iter().all(|answer| answer.try_recv().is_err()), "there is time for more");
    engine.clock.set(Nanos::from_millis(5_000));
    engine.worker.act();
    let not_done = |answer: &&Receiver<Answer>| matches!(answer.try_recv(), Ok(Err(Errno::SHUTDOWN)));
    assert_eq!(answers.iter().filter(not_done).count(), 19);
    engine.run();
    let done = |answer: &&Receiver<Answer>| matches!(answer.try_recv(), Ok(Ok(_)));
    assert_eq!(answers.iter().filter(done).count(), 1, "what the disk has is waited for");
}

#[test]
fn a_window_below_one_is_kept_in_the_mean() {
    let mut engine = ByHand::new(Nanos::from_millis(4), 0.25, &[1.0]);
    let answers: Vec<_> = (0..20).map(|_| ask(&engine.handle, 0, read(0))).collect();
    engine.run();
    answers.iter().for_each(|answer| assert!(answer.try_recv().unwrap().is_ok()));
    // Each is outstanding for a quarter of the time until the next one goes; after the last one there is no
    // next.
    let outstanding = engine.worker.seen().measured.period.outstanding;
    let expected = 20.0 * 4.0 / (19.0 * 16.0 + 4.0);
    assert!((outstanding - expected).abs() < 1e-3, "{outstanding}");
}
