//! One server, first come first served, and a cell of a study on it, measured as a study measures one.

use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{Arrivals, Poisson, RateError};
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::stability::Second;
use evenkeel_core::statistics::pooled::{Batch, Run};
use evenkeel_core::statistics::{BATCHES, SpectrumCounter};

const SECOND: u64 = 1_000_000_000;

/// A cell on an M/M/1 queue, whose figures are known: a response time is exponential with the mean `s / (1 - r)` (Kleinrock,
/// Queueing Systems, vol. 1, 1975, section 5.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualCell {
    /// Utilisation `r`, above 0 and below 1.
    pub load: f64,
    /// Mean service time `s`.
    pub service: Nanos,
    /// Length of the run in overload that finds the saturation.
    pub base: Nanos,
}

impl VirtualCell {
    /// Arrivals, and in the long run completions, per second.
    pub fn rate(&self) -> f64 {
        self.load / self.service.as_secs_f64()
    }

    pub fn tau(&self) -> f64 {
        self.service.0 as f64 / (1.0 - self.load)
    }

    /// True response time in ns that this share does not exceed.
    pub fn percentile(&self, quantile: f64) -> f64 {
        -(1.0 - quantile).ln() * self.tau()
    }

    /// Completions per second in a run of the base length that keeps the server busy throughout.
    pub fn saturation(&self, seed: Seed) -> Result<f64, RateError> {
        // Service times are exponential, so that the completions of a busy server are a Poisson process.
        let mut completions = Poisson::new(1.0 / self.service.as_secs_f64(), seed)?;
        let count =
            std::iter::from_fn(|| completions.next_arrival()).take_while(|at| *at < self.base).count();
        Ok(count as f64 / self.base.as_secs_f64())
    }

    /// One run with its warm-up and length in seconds; the server is free at the start of the warm-up.
    pub fn run(&self, warm_up: f64, seconds: f64, seed: Seed) -> Result<Run, RateError> {
        let queue = mm1(self.rate(), self.service, seed.child("arrivals"), seed.child("service"))?;
        let start = Nanos::from_secs_f64(warm_up);
        let mut recorder = Recorder::new(start, Nanos::from_secs_f64(seconds));
        let end = recorder.end;
        queue.take_while(|served| served.arrival < end).for_each(|served| recorder.count(served));
        Ok(recorder.finish(seconds))
    }
}

/// Batches by scheduled arrival, as the lab records them; arrivals come in order.
pub(super) struct Recorder {
    start: Nanos,
    end: Nanos,
    /// End of the batch that is being filled.
    batch_end: Nanos,
    batch: Batch,
    counter: SpectrumCounter,
    batches: Vec<Batch>,
    completions: u64,
    seconds: Seconds,
}

/// What happened in each whole second of the measured phase.
#[derive(Clone)]
pub(super) struct Seconds {
    start: Nanos,
    all: Vec<Second>,
    /// Requests under way when the phase begins.
    before: u64,
}

impl Seconds {
    pub fn new(start: Nanos, length: Nanos) -> Self {
        Self { start, all: vec![Second::default(); (length.0 / SECOND) as usize], before: 0 }
    }

    fn at(&mut self, instant: Nanos) -> Option<&mut Second> {
        let since = instant.0.checked_sub(self.start.0)?;
        self.all.get_mut((since / SECOND) as usize)
    }

    pub fn count(&mut self, served: Served) {
        match self.at(served.arrival) {
            Some(second) => {
                second.arrivals += 1;
            }
            None => self.before += u64::from(served.arrival < self.start && served.done >= self.start),
        }
        if let Some(second) = self.at(served.done) {
            second.completed += 1;
        }
    }

    pub fn finish(mut self) -> Vec<Second> {
        let mut under_way = self.before;
        for second in &mut self.all {
            under_way = (under_way + second.arrivals).saturating_sub(second.completed);
            second.in_flight = under_way;
        }
        self.all
    }
}

impl Recorder {
    pub fn new(start: Nanos, length: Nanos) -> Self {
        let mut recorder = Self {
            start,
            end: start + length,
            batch_end: start,
            batch: Batch::default(),
            counter: SpectrumCounter::new(),
            batches: Vec::with_capacity(BATCHES),
            completions: 0,
            seconds: Seconds::new(start, length),
        };
        recorder.batch_end = recorder.end_of(0);
        recorder
    }

    pub fn end(&self) -> Nanos {
        self.end
    }

    pub fn seconds(&self) -> Vec<Second> {
        self.seconds.clone().finish()
    }

    fn end_of(&self, batch: usize) -> Nanos {
        let length = u128::from((self.end - self.start).0) * (batch as u128 + 1) / BATCHES as u128;
        self.start + Nanos(length as u64)
    }

    pub fn count(&mut self, served: Served) {
        self.seconds.count(served);
        self.completions += u64::from((self.start..self.end).contains(&served.done));
        if served.arrival < self.start {
            return;
        }
        while served.arrival >= self.batch_end {
            self.close();
        }
        let response = served.response();
        self.batch.arrivals += 1;
        self.batch.completed += 1;
        self.batch.response_sum += response;
        self.counter.record(response.0);
    }

    fn close(&mut self) {
        self.batch.spectrum = self.counter.take();
        self.batches.push(std::mem::take(&mut self.batch));
        self.batch_end = self.end_of(self.batches.len());
    }

    pub fn finish(mut self, seconds: f64) -> Run {
        while self.batches.len() < BATCHES {
            self.close();
        }
        Run { batches: self.batches, seconds, completions: self.completions }
    }
}

/// A request that the simulated server has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    pub arrival: Nanos,
    pub done: Nanos,
}

impl Served {
    pub fn response(&self) -> Nanos {
        self.done - self.arrival
    }
}

/// Requests of an M/M/1 queue in the order of their arrival: Poisson arrivals of this rate per second, exponential service
/// times of this mean, a server that is free at the start. The mean response in the steady state is `s / (1 - r)` at
/// utilisation `r` (Kleinrock, Queueing Systems, vol. 1, 1975).
///
/// Lindley's recursion, written with instants: request `k` is done at `d_k = max(a_k, d_(k-1)) + s_k`, where
/// `a` are arrivals and `s` service times (Lindley, Proc. Camb. Phil. Soc. 48 (1952) 277).
pub fn mm1(
    rate: f64,
    service: Nanos,
    arrivals: Seed,
    work: Seed,
) -> Result<impl Iterator<Item = Served>, RateError> {
    let mut arrivals = Poisson::new(rate, arrivals)?;
    let mut random = Random::new(work);
    let mut free_at = Nanos::ZERO;
    Ok(std::iter::from_fn(move || {
        let arrival = arrivals.next_arrival()?;
        free_at = free_at.max(arrival) + random.exponential_nanos(service);
        Some(Served { arrival, done: free_at })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: VirtualCell =
        VirtualCell { load: 0.5, service: Nanos::from_millis(4), base: Nanos::from_secs(8) };

    #[test]
    fn seconds_have_every_arrival_and_what_is_under_way_at_their_end() {
        let mut recorder = Recorder::new(Nanos::from_secs(2), Nanos::from_secs(8));
        let served =
            |arrival, done| Served { arrival: Nanos::from_millis(arrival), done: Nanos::from_millis(done) };
        for one in [served(500, 900), served(1_500, 2_500), served(2_100, 3_100), served(9_900, 10_500)] {
            recorder.count(one);
        }
        let seconds = recorder.seconds();
        let of = |at: usize| (seconds[at].arrivals, seconds[at].completed, seconds[at].in_flight);
        assert_eq!((seconds.len(), of(0), of(1), of(7)), (8, (1, 1, 1), (0, 1, 0), (1, 0, 1)));
    }

    #[test]
    fn a_long_run_has_the_figures_of_the_theory() {
        let run = CELL.run(2.0, 2_000.0, Seed(4)).unwrap();
        assert!((run.backlog() - 1.0).abs() < 0.05, "{}", run.backlog());
        assert!((run.completions as f64 / 2_000.0 - 125.0).abs() < 1.5, "{}", run.completions);
        let pooled = [run];
        let pooled = evenkeel_core::statistics::pooled::Pooled::of(&pooled, None).unwrap();
        assert!((pooled.tau().unwrap().value / CELL.tau() - 1.0).abs() < 0.03);
        assert!((pooled.percentile(0.95).unwrap().value / CELL.percentile(0.95) - 1.0).abs() < 0.03);
    }
}
