//! Hosts of tests: real engines in front of one toy array, with clients that always want more.
//!
//! Their time passes by hand, so that what they measure is the same on every machine. A thread lets them act
//! in between: they are asked for what they have measured.

use super::*;
use crate::handle::Inbox;
use crate::worker::Worker;
use crate::{Answer, Backing, Buffer, DiskPlan, Ended, Plan, Reply, Request, Work};
use evenkeel_core::share::Costs;
use evenkeel_core::share::law::Settings as Evenkeel;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Latency threshold of all hosts in seconds.
pub const THRESHOLD_S: f64 = 0.02;
/// From one report to the next.
pub const PERIOD: Nanos = Nanos::from_millis(100);
/// Time that the array takes for an I/O, one after the other.
const SERVICE: Nanos = Nanos::from_millis(1);
/// The I/O that costs 1.
const UNIT: usize = 16_384;

const BEHIND: Nanos = Nanos::from_millis(100);

/// Storage that does one I/O after the other, for any number of hosts, and the engines of those.
#[derive(Clone)]
pub struct Station {
    array: Array,
    engines: Arc<Mutex<Vec<Worker>>>,
    /// The engine that stands still, by place.
    stopped: Arc<AtomicUsize>,
}

/// What a disk knows of the storage: not the engines, which own the disks.
#[derive(Clone)]
struct Array {
    clock: Clock,
    free_at: Arc<Mutex<Nanos>>,
    is_burdened: Arc<AtomicBool>,
    /// Each host has a half of it, whatever the others do.
    is_apart: Arc<AtomicBool>,
}

impl Station {
    pub fn new() -> Self {
        let engines: Arc<Mutex<Vec<Worker>>> = Arc::default();
        let known = Arc::downgrade(&engines);
        let stopped = Arc::new(AtomicUsize::new(usize::MAX));
        let still = Arc::clone(&stopped);
        std::thread::spawn(move || {
            while let Some(engines) = known.upgrade() {
                running(&mut guard(&engines), &still).for_each(Worker::act);
                drop(engines);
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        let array = Array {
            clock: Clock::by_hand(),
            free_at: Arc::default(),
            is_burdened: Arc::default(),
            is_apart: Arc::default(),
        };
        Self { array, engines, stopped }
    }

    /// Lets so much time pass for all engines.
    pub fn pass(&self, time: Nanos) {
        assert!(!self.engines.is_poisoned(), "the thread of the engines has panicked");
        let clock = self.array.clock;
        let until = clock.now() + time;
        let mut engines = guard(&self.engines);
        loop {
            running(&mut engines, &self.stopped).for_each(Worker::act);
            let due = running(&mut engines, &self.stopped).map(|one| one.due()).min().unwrap_or(Nanos::MAX);
            if due > until {
                return clock.set(until);
            }
            clock.set(due);
        }
    }

    /// From now on this engine stands still, by place; none does for a place that is none.
    pub fn stop(&self, place: usize) {
        self.stopped.store(place, Ordering::SeqCst);
    }

    /// Load that keeps to no rules, or its end.
    pub fn burden(&self, is_burdened: bool) {
        self.array.is_burdened.store(is_burdened, Ordering::SeqCst);
    }

    /// Gives each of two hosts a half of the storage, or all of it to both again.
    pub fn set_apart(&self, is_apart: bool) {
        self.array.is_apart.store(is_apart, Ordering::SeqCst);
    }
}

/// Those that do not stand still.
fn running<'a>(engines: &'a mut [Worker], stopped: &AtomicUsize) -> impl Iterator<Item = &'a mut Worker> {
    let still = stopped.load(Ordering::SeqCst);
    engines.iter_mut().enumerate().filter_map(move |(place, one)| (place != still).then_some(one))
}

impl Array {
    /// When an I/O ends; `own_free_at` is for a host that has a half of its own.
    fn take(&self, time: Nanos, own_free_at: &mut Nanos) -> Nanos {
        if self.is_apart.load(Ordering::SeqCst) {
            *own_free_at = (*own_free_at).max(self.clock.now()) + time + time;
            return *own_free_at;
        }
        let least = if self.is_burdened.load(Ordering::SeqCst) { BEHIND } else { Nanos::ZERO };
        let mut free_at = guard(&self.free_at);
        *free_at = (*free_at).max(self.clock.now() + least) + time;
        *free_at
    }
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Disk {
    array: Array,
    own_free_at: Nanos,
    under_way: Vec<(Nanos, u64, Work)>,
}

impl Backing for Disk {
    fn bytes(&self) -> u64 {
        1 << 20
    }

    fn start(&mut self, id: u64, work: Work, now: Nanos) {
        let is_flush = matches!(work, Work::Flush);
        let due = if is_flush { now } else { self.array.take(SERVICE, &mut self.own_free_at) };
        self.under_way.push((due, id, work));
    }

    fn push(&mut self, _: Nanos) -> io::Result<()> {
        Ok(())
    }

    fn collect(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        for (due, id, work) in std::mem::take(&mut self.under_way) {
            match work {
                work if due > now => self.under_way.push((due, id, work)),
                Work::Read { buffer, .. } => ended.push(Ended { id, answer: Ok(buffer) }),
                _ => ended.push(Ended { id, answer: Ok(Buffer::default()) }),
            }
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.under_way.iter().map(|(due, ..)| *due).min()
    }
}

/// A host: an engine, its loop, and clients.
pub struct Host {
    pub looped: Loop,
    pub latest: Latest<Snapshot>,
    pub events: Arc<Mutex<Vec<Event>>>,
    _wants: Wants,
}

/// Whether clients ask again; not any more once this is dropped.
struct Wants(Arc<AtomicBool>);

impl Drop for Wants {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

pub fn law() -> Law {
    Law::Evenkeel(Evenkeel { most: 64.0, initial: 8.0, ..Evenkeel::new(THRESHOLD_S) })
}

impl Host {
    /// A host with one disk of these shares, and so many I/Os wanted at any time.
    pub fn start(station: &Station, shares: f64, wanted: usize, (bus, clock): (Bus, Clock)) -> Self {
        let backing = Disk { array: station.array.clone(), own_free_at: Nanos::ZERO, under_way: Vec::new() };
        let disks = vec![DiskPlan { name: "disk".to_owned(), shares, backing: Box::new(backing) }];
        let plan = Plan { disks, window: 8.0, costs: Costs::default(), memory: 1 << 20 };
        let inbox = Arc::new(Inbox::new().expect("a descriptor"));
        let engine = Handle(Arc::clone(&inbox));
        guard(&station.engines).push(Worker::by_hand(plan, inbox, station.array.clock));
        let wants = Arc::new(AtomicBool::new(true));
        (0..wanted).for_each(|_| ask(&engine, &wants));
        let (events, latest) = (Arc::new(Mutex::new(Vec::new())), Latest::new());
        let heard = Arc::clone(&events);
        let listener = Arc::new(move |event: &Event| heard.lock().expect("no panic").push(event.clone()));
        let settings = Settings { period: PERIOD, law: law(), costs: Costs::default() };
        let names = vec!["disk".to_owned()];
        let mut looped = Loop::new((engine, names), (bus, clock), settings, (listener, latest.clone()));
        looped.patience = Duration::from_secs(60);
        Self { looped, latest, events, _wants: Wants(wants) }
    }

    pub fn window(&self) -> f64 {
        self.latest.get().map_or(0.0, |snapshot| snapshot.window)
    }

    /// The events since the last call, but for changes of the window.
    pub fn events(&self) -> Vec<Event> {
        let mut events = self.events.lock().expect("no panic");
        std::mem::take(&mut *events).into_iter().filter(|event| !event.is_routine()).collect()
    }
}

/// Asks for an I/O, and for the next one when it has ended.
fn ask(engine: &Handle, wants: &Arc<AtomicBool>) {
    let (again, still) = (engine.clone(), Arc::clone(wants));
    let reply = Reply::Call(Box::new(move |answer: Answer| {
        if answer.is_ok() && still.load(Ordering::SeqCst) {
            ask(&again, &still);
        }
    }));
    let work = Work::Read { offset: 0, buffer: Buffer::zeroed(UNIT) };
    engine.submit(Request { disk: 0, work, reply });
}
