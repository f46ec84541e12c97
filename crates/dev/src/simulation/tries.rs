//! A whole profile of a simulated server: the search for its saturation, then runs where they tighten the bounds most.

use super::{Phases, Shared};
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{RATE_MAX, RateError};
use evenkeel_core::bounds::{Answer, Responses, RunAt, Sequence, Step, Wanted};
use evenkeel_core::random::Seed;
use evenkeel_core::rates::{ProbeOutcome, RateSearch, SearchStep};

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
        let sequence = Sequence { wanted: self.wanted, rate_min: 0.0, rate_max: RATE_MAX };
        let saturation = self.saturation(seed.child("search"))?;
        let mut runs: Vec<RunAt> = Vec::new();
        let first = sequence.first(saturation);
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
