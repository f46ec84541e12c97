//! A server beside a neighbour that takes its CPU at random, whose true capacities are known; and a whole profile of it: the search for its
//! saturation, then runs where they tighten the bounds most.

use super::Served;
use super::cell::Seconds;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{Arrivals, Poisson, RATE_MAX, RateError};
use evenkeel_core::bounds::stretches::{self, Around};
use evenkeel_core::bounds::{Answer, Clear, Responses, RunAt, Sequence, Step, Wanted, settled};
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::rates::{ProbeOutcome, RateSearch, SearchStep};
use evenkeel_core::stability::Stability;

/// In nanoseconds, those of `stretches`.
const STRETCH: u64 = 100_000_000;

/// One CPU that serves requests in the order of their arrival, with a neighbour that goes first.
///
/// Service times are negative exponential. The neighbour works for a negative exponential time, then rests for one,
/// and the server stands still while it works. So the capacity is `1 / service` alone, and `(1 - share) / service`
/// beside the neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared {
    pub service: Nanos,
    /// Share of the CPU that the neighbour takes, below 1.
    pub share: f64,
    /// Mean length of what it takes at once.
    pub burst: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phases {
    pub warm_up: Nanos,
    /// Measured phase, in whole seconds.
    pub measure: Nanos,
}

impl Shared {
    /// One that works 4 ms on a request, beside a neighbour that takes this share, 100 ms at a time.
    pub fn beside(share: f64) -> Self {
        Self { service: Nanos::from_millis(4), share, burst: Nanos::from_millis(100) }
    }

    /// What the server carries, per second, beside its neighbour and by itself.
    pub fn capacities(&self) -> (f64, f64) {
        let alone = 1.0 / self.service.as_secs_f64();
        ((1.0 - self.share) * alone, alone)
    }

    /// One run of an open Poisson load, recorded as a real one is.
    pub fn run(&self, rate: f64, phases: Phases, seed: Seed) -> Result<RunAt, RateError> {
        let mut arrivals = Poisson::new(rate, seed.child("arrivals"))?;
        let mut random = Random::new(seed.child("service"));
        let mut neighbour = Neighbour::new(self, seed.child("neighbour"));
        let mut record = Record::new(phases);
        let mut free_at = Nanos::ZERO;
        while let Some(arrival) = arrivals.next_arrival().filter(|at| *at < record.end) {
            let done = neighbour.finish(free_at.max(arrival), random.exponential_nanos(self.service));
            free_at = done;
            record.count(Served { arrival, done });
        }
        neighbour.see_until(record.end);
        Ok(record.judged(rate, self.service, &neighbour.taken))
    }
}

/// The bursts, drawn as far as they are needed, and what they took of each stretch.
struct Neighbour {
    rest: Nanos,
    burst: Nanos,
    random: Random,
    /// The burst that is under way or comes next.
    from: Nanos,
    to: Nanos,
    /// Time taken of each stretch since the start of the warm-up.
    taken: Vec<u64>,
}

impl Neighbour {
    fn new(shared: &Shared, seed: Seed) -> Self {
        let rest = Nanos::from_secs_f64(shared.burst.as_secs_f64() * (1.0 - shared.share) / shared.share);
        let mut random = Random::new(seed);
        // In the steady state a burst is under way with the probability of its share.
        let from = if random.chance(shared.share) { Nanos::ZERO } else { random.exponential_nanos(rest) };
        let to = from + random.exponential_nanos(shared.burst);
        let mut new = Self { rest, burst: shared.burst, random, from, to, taken: Vec::new() };
        if shared.share <= 0.0 {
            (new.from, new.to) = (Nanos::MAX, Nanos::MAX);
        }
        new
    }

    fn finish(&mut self, at: Nanos, work: Nanos) -> Nanos {
        let (mut at, mut left) = (at, work);
        loop {
            while self.to <= at {
                self.next_burst();
            }
            if at >= self.from {
                at = self.to;
                continue;
            }
            let gap = self.from - at;
            if left <= gap {
                return at + left;
            }
            left = left - gap;
            at = self.to;
        }
    }

    fn next_burst(&mut self) {
        self.note();
        self.from = self.to + self.random.exponential_nanos(self.rest);
        self.to = self.from + self.random.exponential_nanos(self.burst);
    }

    fn see_until(&mut self, end: Nanos) {
        while self.to < end {
            self.next_burst();
        }
        self.note();
    }

    /// Spreads the burst over the stretches that it touches.
    fn note(&mut self) {
        if self.from == Nanos::MAX {
            return;
        }
        let mut at = self.from.0;
        while at < self.to.0 {
            let place = (at / STRETCH) as usize;
            let until = ((place as u64 + 1) * STRETCH).min(self.to.0);
            if self.taken.len() <= place {
                self.taken.resize(place + 1, 0);
            }
            self.taken[place] += until - at;
            at = until;
        }
    }
}

/// What the generator records.
struct Record {
    begin: Nanos,
    end: Nanos,
    seconds: Seconds,
    /// Completions by stretch of the measured phase.
    completed: Vec<u64>,
}

impl Record {
    fn new(phases: Phases) -> Self {
        Self {
            begin: phases.warm_up,
            end: phases.warm_up + phases.measure,
            seconds: Seconds::new(phases.warm_up, phases.measure),
            completed: vec![0; (phases.measure.0 / STRETCH) as usize],
        }
    }

    fn count(&mut self, served: Served) {
        self.seconds.count(served);
        if (self.begin..self.end).contains(&served.done) {
            self.completed[((served.done - self.begin).0 / STRETCH) as usize] += 1;
        }
    }

    fn judged(self, rate: f64, service: Nanos, taken: &[u64]) -> RunAt {
        let all = self.seconds.finish();
        let first = (self.begin.0 / STRETCH) as usize;
        let taken_of = |place: usize| taken.get(first + place).copied().unwrap_or(0) as f64 / STRETCH as f64;
        let around: Vec<Around> = (0..self.completed.len())
            .map(|place| Around { taken: Some(taken_of(place)), pause: Some(0.0) })
            .collect();
        let free = stretches::free(&around);
        let counted = || self.completed.iter().zip(&free).filter(|(_, free)| **free);
        let seconds = all.len() as f64;
        let completed: u64 = self.completed.iter().sum();
        RunAt {
            rate,
            seconds,
            arrivals: all.iter().map(|second| second.arrivals).sum(),
            completed,
            lost: 0.0,
            failed: 0.0,
            settled: settled(&Stability::of(&all, 0)),
            valid: true,
            cpu: Some(completed as f64 * service.as_secs_f64() / seconds),
            cpus: Some(1.0),
            taken: Some(around.iter().filter_map(|around| around.taken).sum::<f64>() / around.len() as f64),
            clear: Some(Clear {
                seconds: counted().count() as f64 * stretches::SECONDS,
                completed: counted().map(|(completed, _)| completed).sum(),
                taken: 0.0,
            }),
        }
    }
}

/// A probe of the search, and a run of the profile itself.
const PROBE: Phases = Phases::seconds(1, 4);
const RUN: Phases = Phases::seconds(2, 8);

/// A profile within a budget of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TryPlan {
    /// The simulated server, alone or beside a neighbour.
    pub shared: Shared,
    /// Runs at most, beside the probes.
    pub runs: usize,
    pub wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Try {
    pub answer: Answer,
    pub runs: usize,
    pub seconds: f64,
}

impl TryPlan {
    pub fn play(&self, seed: Seed) -> Result<Try, RateError> {
        let sequence =
            Sequence { wanted: self.wanted, rate_min: 0.0, rate_max: RATE_MAX, runs_left: usize::MAX };
        let saturation = self.saturation(seed.child("search"))?;
        let mut runs: Vec<RunAt> = Vec::new();
        let first = sequence.first(saturation, false);
        while runs.len() < self.runs {
            let made = |rate: f64| runs.iter().filter(|run| run.rate == rate).count();
            let opening = Sequence::opening(&first, made).map(Step::Run);
            match opening.or_else(|| sequence.next(&runs, &Responses::default())) {
                Some(Step::Run(rate)) => self.measure(rate, seed, &mut runs)?,
                Some(Step::Enough | Step::Exhausted | Step::TooFewArrivals) | None => break,
            }
        }
        let seconds = runs.iter().map(|run| run.seconds).sum();
        Ok(Try { answer: Answer::of(&runs), runs: runs.len(), seconds })
    }

    /// The same, and what the server completed beside its neighbour, per second, in a run of overload twice as long as all
    /// runs of the try: neighbours come and go, and a profile is about those that it met.
    pub fn play_beside_truth(&self, seed: Seed) -> Result<(Try, f64), RateError> {
        let tried = self.play(seed)?;
        let (long, rate) =
            (Phases::seconds(2, (2.0 * tried.seconds) as u64), 2.0 * self.shared.capacities().1);
        let beside = self.shared.run(rate, long, seed.child("truth"))?.throughput();
        Ok((tried, beside))
    }

    fn measure(&self, rate: f64, seed: Seed, runs: &mut Vec<RunAt>) -> Result<(), RateError> {
        let own = seed.child("run").numbered(runs.len() as u64);
        runs.push(self.shared.run(rate, RUN, own)?);
        Ok(())
    }

    fn saturation(&self, seed: Seed) -> Result<f64, RateError> {
        let closed = self.probe(4.0 * self.shared.capacities().1, seed.child("closed"))?;
        let mut search = RateSearch::roughly_from(closed.throughput);
        for number in 0.. {
            match search.next() {
                SearchStep::Probe(rate) => search.observe(&self.probe(rate, seed.numbered(number))?),
                SearchStep::Found(found) => return Ok(found.rate),
                SearchStep::Failed(_) => break,
            }
        }
        Ok(closed.throughput)
    }

    fn probe(&self, rate: f64, seed: Seed) -> Result<ProbeOutcome, RateError> {
        let run = self.shared.run(rate, PROBE, seed)?;
        Ok(ProbeOutcome {
            rate,
            offered: run.offered(),
            throughput: run.throughput(),
            utilisation: run.cpu.map(|cpu| 100.0 * cpu),
            settled: run.settled != Some(false),
            response: 0.0,
            lost: run.lost,
        })
    }
}

impl Phases {
    /// A warm-up and a measured phase, in seconds.
    pub const fn seconds(warm_up: u64, measure: u64) -> Self {
        Self { warm_up: Nanos::from_secs(warm_up), measure: Nanos::from_secs(measure) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHASES: Phases = Phases { warm_up: Nanos::from_secs(2), measure: Nanos::from_secs(60) };

    #[test]
    fn the_neighbour_takes_its_share_and_the_server_does_the_rest() {
        for share in [0.0, 0.15, 0.3] {
            let run = Shared::beside(share).run(1_000.0, PHASES, Seed(3)).unwrap();
            let (beside, _) = Shared::beside(share).capacities();
            assert!((run.taken.unwrap() - share).abs() < 0.06, "{share}: {:?}", run.taken);
            assert!((run.throughput() / beside - 1.0).abs() < 0.1, "{share}: {}", run.throughput());
            assert_eq!(run.settled, Some(false));
        }
    }
}
