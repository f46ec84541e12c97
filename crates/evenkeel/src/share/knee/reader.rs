//! A closed loop: reads at random places, each followed by another one when it has ended.

use super::Step;
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_core::share::knee::Point;
use evenkeel_gate::clock::Clock;
use evenkeel_gate::histogram::Histogram;
use evenkeel_gate::share::{Answer, Buffer, Errno, Handle, Reply, Request, Work};
use evenkeel_lab::stop::Stop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often it is looked at whether a step is over; how long it was is measured.
const NAP: Duration = Duration::from_millis(5);
/// Storage that ends no read for as long has a fault: a disk that tries a bad sector again needs up to 7 s.
const SILENCE: Nanos = Nanos::from_secs(10);

/// How long a step is.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Reads before it is counted; more, until as many have ended as are outstanding, because the first ones meet no queue.
    pub settle: Nanos,
    /// What is counted.
    pub measure: Nanos,
}

/// Reads of an engine's first disk.
///
/// The next read is asked for in the engine's own thread as soon as one has ended, so that as many are outstanding as were
/// asked for, and a thread that is woken late costs nothing.
pub struct Reader(Arc<Loop>);

struct Loop {
    engine: Handle,
    clock: Clock,
    block: usize,
    blocks: u64,
    state: Mutex<State>,
}

struct State {
    random: Random,
    /// Another read follows one that has ended.
    wanted: bool,
    outstanding: u32,
    /// Reads that have ended in this step, and when the last one did.
    ended: u64,
    last: Nanos,
    tally: Option<Tally>,
    failed: Option<Errno>,
}

/// What is counted of a step.
struct Tally {
    begun: Nanos,
    reads: u64,
    latency_sum_s: f64,
    latencies: Histogram,
}

impl Reader {
    /// Over a disk of so many blocks, at least one, of so many bytes.
    pub fn new(engine: Handle, block: usize, blocks: u64, random: Random) -> Self {
        let state = State {
            random,
            wanted: false,
            outstanding: 0,
            ended: 0,
            last: Nanos::ZERO,
            tally: None,
            failed: None,
        };
        Self(Arc::new(Loop { engine, clock: Clock::start(), block, blocks, state: Mutex::new(state) }))
    }

    /// Reads with so many outstanding, and waits for the last; adds latencies to those of this depth. `None` where it was
    /// stopped.
    ///
    /// # Errors
    /// A read that failed; storage that ends none for 10 s.
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
        (0..depth).for_each(|_| self.0.ask(Buffer::zeroed(self.0.block)));
        now
    }

    /// Counts from now on.
    fn count(&self, latencies: Histogram) -> Nanos {
        let begun = self.0.clock.now();
        self.0.state().tally = Some(Tally { begun, reads: 0, latency_sum_s: 0.0, latencies });
        begun
    }

    /// What was counted until now.
    fn take(&self, depth: u32, latencies: &mut Histogram) -> Option<Step> {
        let mut state = self.0.state();
        let tally = state.tally.take()?;
        let seconds = (self.0.clock.now() - tally.begun).as_secs_f64();
        drop(state);
        *latencies = tally.latencies;
        let throughput = tally.reads as f64 / seconds.max(1e-9);
        let latency_s = tally.latency_sum_s / (tally.reads as f64).max(1.0);
        Some(Step { reads: tally.reads, point: Point { depth, throughput, latency_s } })
    }

    /// Waits until it is so; false where somebody asked to stop.
    fn wait(&self, stop: &Stop, is_so: impl Fn(&State, Nanos) -> bool) -> Result<bool> {
        loop {
            let (state, now) = (self.0.state(), self.0.clock.now());
            if let Some(errno) = state.failed {
                return Err(anyhow!("{errno}")).hint("what the kernel says of it: dmesg").map_err(reading);
            }
            if is_so(&state, now) {
                return Ok(true);
            }
            if now - state.last > SILENCE {
                let outstanding = state.outstanding;
                let silent = anyhow!("no read has ended for 10 s with {outstanding} outstanding");
                return Err(silent).hint("look whether the storage is there: dmesg").map_err(reading);
            }
            drop(state);
            if stop.is_set() {
                return Ok(false);
            }
            std::thread::sleep(NAP);
        }
    }
}

fn reading(error: anyhow::Error) -> anyhow::Error {
    error.context("reading from the storage")
}

impl Loop {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One read, into this buffer.
    fn ask(self: &Arc<Self>, buffer: Buffer) {
        let offset = self.state().random.uniform(0, self.blocks - 1) * self.block as u64;
        let (this, asked) = (Arc::clone(self), self.clock.now());
        let reply = Reply::Call(Box::new(move |answer| this.end(asked, answer)));
        self.engine.submit(Request { disk: 0, work: Work::Read { offset, buffer }, reply });
    }

    /// In the engine's thread, or in ours where the engine has ended.
    fn end(self: Arc<Self>, asked: Nanos, answer: Answer) {
        let now = self.clock.now();
        let mut state = self.state();
        (state.ended, state.last) = (state.ended + 1, now);
        match answer {
            Ok(buffer) => {
                if let Some(tally) = &mut state.tally {
                    tally.reads += 1;
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
