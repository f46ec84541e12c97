//! A closed loop: reads, or writes, at random places, each followed by another one when it has ended.

use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::histogram::Histogram;
use evenkeel_core::random::Random;
use evenkeel_core::share::knee::Point;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_share::{Answer, Buffer, Errno, Handle, Reply, Request, Work};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often it is looked at whether a step is over; how long it was is measured.
const NAP: Duration = Duration::from_millis(5);
/// Storage that ends no I/O for as long has a fault: a disk that tries a bad sector again needs up to 7 s.
const SILENCE: Nanos = Nanos::from_secs(10);

#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// I/Os before it is counted; more, until as many have ended as are outstanding, because the first ones meet no queue.
    pub settle: Nanos,
    pub measure: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub bytes: u32,
    pub write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Reads that ended in the time that counts.
    pub reads: u64,
    pub point: Point,
}

/// I/Os of one kind to an engine's first disk.
///
/// The next one is asked for in the engine's own thread as soon as one has ended, so that as many are outstanding as were
/// asked for, and a thread that is woken late costs nothing.
pub struct Client(Arc<Loop>);

struct Loop {
    engine: Handle,
    clock: Clock,
    kind: Kind,
    blocks: u64,
    state: Mutex<State>,
}

struct State {
    random: Random,
    /// Another one follows one that has ended.
    wanted: bool,
    outstanding: u32,
    /// I/Os that have ended in this step, and when the last one did.
    ended: u64,
    last: Nanos,
    tally: Option<Tally>,
    failed: Option<Errno>,
}

struct Tally {
    begun: Nanos,
    ios: u64,
    latency_sum_s: f64,
    latencies: Histogram,
}

impl Client {
    /// Over a disk of so many bytes, at least those of one I/O.
    pub fn new(engine: Handle, kind: Kind, bytes: u64, random: Random) -> Self {
        let blocks = bytes / u64::from(kind.bytes);
        let state = State {
            random,
            wanted: false,
            outstanding: 0,
            ended: 0,
            last: Nanos::ZERO,
            tally: None,
            failed: None,
        };
        Self(Arc::new(Loop { engine, clock: Clock::start(), kind, blocks, state: Mutex::new(state) }))
    }

    /// Keeps so many outstanding, and waits for the last; adds latencies to those of this depth. `None` where it was
    /// stopped.
    /// Errors: an I/O that failed; storage that ends none for 10 s.
    pub fn step(
        &self,
        depth: u32,
        times: Times,
        latencies: &mut Histogram,
        stop: &Stop,
    ) -> Result<Option<Step>> {
        let begun = self.begin(depth);
        let settled = |state: &State, now| now >= begun + times.settle && state.ended >= u64::from(depth);
        let mut measured = None;
        if self.wait(stop, settled)? {
            let counted = self.count(std::mem::take(latencies));
            let in_full = self.wait(stop, |_, now| now >= counted + times.measure)?;
            measured = self.take(depth, latencies).filter(|_| in_full);
        }
        self.0.state().wanted = false;
        // Also where it was stopped: the engine would wait for them all the same.
        self.wait(&Stop::default(), |state, _| state.outstanding == 0)?;
        Ok(measured)
    }

    fn begin(&self, depth: u32) -> Nanos {
        let now = self.0.clock.now();
        let mut state = self.0.state();
        (state.wanted, state.outstanding, state.ended, state.last) = (true, depth, 0, now);
        drop(state);
        (0..depth).for_each(|_| self.0.ask(self.0.buffer()));
        now
    }

    fn count(&self, latencies: Histogram) -> Nanos {
        let begun = self.0.clock.now();
        self.0.state().tally = Some(Tally { begun, ios: 0, latency_sum_s: 0.0, latencies });
        begun
    }

    fn take(&self, depth: u32, latencies: &mut Histogram) -> Option<Step> {
        let mut state = self.0.state();
        let tally = state.tally.take()?;
        let seconds = (self.0.clock.now() - tally.begun).as_secs_f64();
        drop(state);
        *latencies = tally.latencies;
        let throughput = tally.ios as f64 / seconds.max(1e-9);
        let latency_s = tally.latency_sum_s / (tally.ios as f64).max(1.0);
        Some(Step { reads: tally.ios, point: Point { depth, throughput, latency_s } })
    }

    fn failed(&self, error: anyhow::Error) -> anyhow::Error {
        error.context(if self.0.kind.write { "writing to the storage" } else { "reading from the storage" })
    }

    /// Waits until it is so; false where somebody asked to stop.
    fn wait(&self, stop: &Stop, is_so: impl Fn(&State, Nanos) -> bool) -> Result<bool> {
        loop {
            let (state, now) = (self.0.state(), self.0.clock.now());
            if let Some(errno) = state.failed {
                return Err(anyhow!("{errno}"))
                    .hint("see what the kernel reports: dmesg")
                    .map_err(|e| self.failed(e));
            }
            if is_so(&state, now) {
                return Ok(true);
            }
            if now - state.last > SILENCE {
                let outstanding = state.outstanding;
                let word = if self.0.kind.write { "write" } else { "read" };
                let silent = anyhow!("no {word} has ended for 10 s with {outstanding} outstanding");
                return Err(silent).hint("check the storage: dmesg").map_err(|error| self.failed(error));
            }
            drop(state);
            if stop.is_set() {
                return Ok(false);
            }
            std::thread::sleep(NAP);
        }
    }
}

impl Loop {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is written is noise: storage that packs what it stores, or keeps it once, has nothing to save.
    fn buffer(&self) -> Buffer {
        let mut buffer = Buffer::zeroed(self.kind.bytes as usize);
        if self.kind.write {
            let mut state = self.state();
            let words = buffer.as_mut_slice().chunks_exact_mut(8);
            words.for_each(|word| word.copy_from_slice(&state.random.bits().to_le_bytes()));
        }
        buffer
    }

    /// One I/O, from or into this buffer.
    fn ask(self: &Arc<Self>, buffer: Buffer) {
        let offset = self.state().random.uniform(0, self.blocks - 1) * u64::from(self.kind.bytes);
        let (this, asked) = (Arc::clone(self), self.clock.now());
        let reply = Reply::Call(Box::new(move |answer| this.end(asked, answer)));
        let work = match self.kind.write {
            true => Work::Write { offset, buffer, durable: false },
            false => Work::Read { offset, buffer },
        };
        self.engine.submit(Request { disk: 0, work, reply });
    }

    /// In the engine's thread, or in ours where the engine has ended.
    fn end(self: Arc<Self>, asked: Nanos, answer: Answer) {
        let now = self.clock.now();
        let mut state = self.state();
        (state.ended, state.last) = (state.ended + 1, now);
        match answer {
            Ok(buffer) => {
                if let Some(tally) = &mut state.tally {
                    tally.ios += 1;
                    tally.latency_sum_s += (now - asked).as_secs_f64();
                    tally.latencies.record(now - asked);
                }
                if state.wanted {
                    drop(state);
                    return self.ask(buffer);
                }
            }
            Err(errno) => {
                state.wanted = false;
                state.failed.get_or_insert(errno);
            }
        }
        state.outstanding -= 1;
    }
}
