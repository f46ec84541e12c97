//! The measurement: a client for each kind of I/O, by turns.

use crate::config::costs::{CostTables, text};
use crate::share::knee::client::{Client, Kind, Step, Times};
use anyhow::{Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::histogram::Histogram;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::share::UNIT_BYTES;
use evenkeel_core::share::knee::RISE_MOST;
use evenkeel_core::share::knee::costs::{Estimate, cost, mean};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_share::Handle;

const DEPTH_LEAST: u32 = 4;
/// I/Os of a step: kinds that are slow are measured for longer, so that all are known equally well.
const STEP_IOS: f64 = 64.0;
/// A step is so many times longer than the least at most.
const STEP_MOST: f64 = 10.0;
/// A cache is full where a stretch of writes brought at least so much of the throughput of the one before.
const LEVEL: f64 = 0.85;
/// Stretches of which that is asked.
const STRETCHES: usize = 3;

/// One measurement: a client for each kind, on one engine.
struct Course<'a> {
    engine: Handle,
    bytes: u64,
    plan: &'a CostsPlan,
    stop: &'a Stop,
    clock: Clock,
    depth: u32,
}

struct Runner {
    client: Client,
    measured: Measured,
    step: Nanos,
}

/// Measures the first disk of an engine, which has so many bytes; reports what it does. `None` where it was stopped.
/// Errors: I/Os that fail, or of which none ends in a step.
pub fn measure(
    (engine, bytes): (Handle, u64),
    plan: &CostsPlan,
    stop: &Stop,
    tell: &mut dyn FnMut(String),
) -> Result<Option<Found>> {
    let mut course = Course { engine, bytes, plan, stop, clock: Clock::start(), depth: DEPTH_LEAST };
    tell("looking for the depth at which the storage is full".to_owned());
    let Some(rise) = course.find_depth()? else { return Ok(None) };
    let mut reads: Vec<Kind> =
        plan.reads.iter().map(|&bytes| Kind { bytes, write: false }).filter(|kind| *kind != UNIT).collect();
    reads.push(UNIT);
    reads.sort_by_key(|kind| kind.bytes);
    let Some(mut kinds) = course.rounds(&reads, tell)? else { return Ok(None) };
    let mut filling = false;
    if !plan.writes.is_empty() {
        tell("filling the cache in front of the storage with writes".to_owned());
        let Some(level) = course.fill()? else { return Ok(None) };
        filling = !level;
        let mut writes: Vec<Kind> = plan.writes.iter().map(|&bytes| Kind { bytes, write: true }).collect();
        writes.sort_by_key(|kind| kind.bytes);
        let Some(written) = course.rounds(&writes, tell)? else { return Ok(None) };
        kinds.extend(written);
    }
    Ok(Some(Found { depth: course.depth, kinds, rise, filling }))
}

impl Course<'_> {
    fn client(&self, kind: Kind) -> Client {
        let way = if kind.write { "writes" } else { "reads" };
        let seed = self.plan.seed.child(way).numbered(kind.bytes.into());
        Client::new(self.engine.clone(), kind, self.bytes, Random::new(seed))
    }

    fn step(&self, client: &Client, measure: Nanos) -> Result<Option<Step>> {
        let times = Times { settle: Nanos(self.plan.step.0 / 4), measure };
        client.step(self.depth, times, &mut Histogram::default(), self.stop)
    }

    /// Twice the least doubled depth whose last doubling brought no more than a tenth, up to the most: there is enough behind
    /// what is being done for a late answer to leave nothing idle. What the last doubling brought.
    fn find_depth(&mut self) -> Result<Option<f64>> {
        let client = self.client(UNIT);
        let mut before = None;
        loop {
            let Some(step) = self.step(&client, self.plan.step)? else { return Ok(None) };
            let rise = before.map_or(f64::INFINITY, |before| step.point.throughput / before - 1.0);
            before = Some(step.point.throughput);
            let is_full = rise <= RISE_MOST || 2 * self.depth > self.plan.depth_most;
            self.depth = (2 * self.depth).min(self.plan.depth_most);
            if is_full {
                return Ok(Some(rise));
            }
        }
    }

    /// Writes until throughput stays, for the time that was asked for at least; whether it did.
    fn fill(&self) -> Result<Option<bool>> {
        let client = self.client(Kind { bytes: UNIT_BYTES, write: true });
        let begun = self.clock.now();
        let mut stretches: Vec<f64> = Vec::new();
        loop {
            let Some(step) = self.step(&client, self.plan.step)? else { return Ok(None) };
            stretches.push(step.point.throughput);
            let last = &stretches[stretches.len().saturating_sub(STRETCHES)..];
            let is_level = last.len() == STRETCHES && last.windows(2).all(|pair| pair[1] >= LEVEL * pair[0]);
            let spent = self.clock.now() - begun;
            if spent >= self.plan.fill && (is_level || spent >= self.plan.fill + self.plan.limit) {
                return Ok(Some(is_level));
            }
        }
    }

    /// All kinds by turns until each is known well enough, or the time is over.
    fn rounds(&self, kinds: &[Kind], tell: &mut dyn FnMut(String)) -> Result<Option<Vec<Measured>>> {
        let begun = self.clock.now();
        let mut runners = Vec::new();
        for &kind in kinds {
            match self.runner(kind)? {
                Some(runner) => runners.push(runner),
                None => return Ok(None),
            }
        }
        for round in 1.. {
            for runner in &mut runners {
                if round > self.plan.rounds && runner.is_known(self.plan.error) {
                    continue;
                }
                tell(format!("round {round}: {}", name(runner.measured.kind)));
                let Some(step) = self.step(&runner.client, runner.step)? else { return Ok(None) };
                runner.measured.throughputs.push(step.point.throughput);
                runner.measured.latency_s = step.point.latency_s;
                runner.measured.ios += step.reads;
            }
            let all_known = runners.iter().all(|runner| runner.is_known(self.plan.error));
            if round >= self.plan.rounds && (all_known || self.clock.now() - begun >= self.plan.limit) {
                break;
            }
        }
        Ok(Some(runners.into_iter().map(|runner| runner.measured).collect()))
    }

    /// A first step, which is not counted, says how long steps of a kind have to be.
    fn runner(&self, kind: Kind) -> Result<Option<Runner>> {
        let client = self.client(kind);
        let Some(step) = self.step(&client, self.plan.step)? else { return Ok(None) };
        let least = self.plan.step.as_secs_f64();
        let seconds = (STEP_IOS / step.point.throughput.max(1e-3)).clamp(least, STEP_MOST * least);
        let measured = Measured { kind, throughputs: Vec::new(), latency_s: 0.0, ios: 0 };
        Ok(Some(Runner { client, measured, step: Nanos::from_secs_f64(seconds) }))
    }
}

impl Runner {
    fn is_known(&self, error: f64) -> bool {
        mean(&self.measured.throughputs).is_some_and(|mean| mean.error <= error)
    }
}

/// The read that costs 1.
pub const UNIT: Kind = Kind { bytes: UNIT_BYTES, write: false };

#[derive(Clone, Debug, PartialEq)]
pub struct CostsPlan {
    /// Sizes of reads; 16 KB is measured in any case.
    pub reads: Vec<u32>,
    /// Sizes of writes; they destroy what is there.
    pub writes: Vec<u32>,
    pub depth_most: u32,
    pub step: Nanos,
    pub rounds: u32,
    /// Standard error over the mean that is good enough.
    pub error: f64,
    /// Longest time for reads, and for writes.
    pub limit: Nanos,
    /// Least time for which is written before writes are measured.
    pub fill: Nanos,
    pub seed: Seed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub kind: Kind,
    pub throughputs: Vec<f64>,
    /// Mean latency of the last round in seconds.
    pub latency_s: f64,
    /// I/Os that ended in the time that counts.
    pub ios: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// I/Os that were outstanding at a time.
    pub depth: u32,
    /// Reads and writes in rising sizes, the unit among them.
    pub kinds: Vec<Measured>,
    /// Throughput of reads still rose by this part at the depth taken.
    pub rise: f64,
    /// Writes did not come to rest while the cache was filled.
    pub filling: bool,
}

impl Found {
    /// Cost of a kind; `None` where nothing of it ended.
    pub fn cost(&self, place: usize) -> Option<Estimate> {
        let unit = self.kinds.iter().find(|measured| measured.kind == UNIT)?;
        match &self.kinds[place] {
            measured if measured.kind == UNIT => Some(Estimate { value: 1.0, error: 0.0 }),
            measured => cost(&unit.throughputs, &measured.throughputs),
        }
    }

    /// Tables of reads and of writes as flags and files take them, and the largest standard error among them.
    pub fn tables(&self) -> Result<(CostTables, f64)> {
        let mut tables = CostTables { reads: Vec::new(), writes: Vec::new() };
        let mut error = 0.0_f64;
        for (place, measured) in self.kinds.iter().enumerate() {
            let name = || name(measured.kind);
            let cost = self.cost(place).ok_or_else(|| anyhow!("no {} ended in a step", name()))?;
            error = error.max(cost.error);
            let table = if measured.kind.write { &mut tables.writes } else { &mut tables.reads };
            table.push((measured.kind.bytes, rounded(cost.value)));
        }
        Ok((tables, error))
    }
}

/// `read of 16k`.
pub fn name(kind: Kind) -> String {
    let way = if kind.write { "write" } else { "read" };
    format!("{way} of {}", size(kind.bytes))
}

fn size(bytes: u32) -> String {
    let text = text(&[(bytes, 1.0)]);
    text.split('=').next().unwrap_or_default().to_owned()
}

fn rounded(value: f64) -> f64 {
    let digits = 2 - value.abs().max(1e-9).log10().floor() as i32;
    let factor = 10.0_f64.powi(digits);
    (value * factor).round() / factor
}
