//! A server with several CPUs, a disk and a delay, measured as a study measures one.

use super::Served;
use super::cell::Recorder;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{Arrivals, Poisson, RateError};
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::stability::Second;
use evenkeel_core::statistics::pooled::Run;

/// Requests wait for one of the CPUs, then for the disk, in the order of their arrival, and for a time that no load changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualServer {
    pub cpus: u32,
    /// Mean time that a request takes of a CPU.
    pub service: Nanos,
    /// Standard deviation of that as a part of the mean: 1 as of a negative exponential time, 0 where all take the same.
    pub unevenness: f64,
    /// Mean time that it takes of the disk, negative exponential; zero where it needs none.
    pub disk: Nanos,
    /// Time beside these that no load changes.
    pub delay: Nanos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct VirtualRun {
    pub run: Run,
    /// Second by second, by which it is judged whether the queue settled.
    pub seconds: Vec<Second>,
    /// Share of the time that the CPUs worked, from 0 to 1.
    pub busy: f64,
}

impl VirtualServer {
    /// What it carries, per second, where it works on everything `slow` times as long.
    pub fn capacity(&self, slow: f64) -> f64 {
        let cpus = f64::from(self.cpus.max(1)) / self.service.as_secs_f64();
        let disk = if self.disk > Nanos::ZERO { 1.0 / self.disk.as_secs_f64() } else { f64::INFINITY };
        cpus.min(disk) / slow
    }

    /// A run at a rate after a warm-up of so many seconds, which finds the server idle; all work takes `slow` times as long.
    pub fn run(
        &self,
        rate: f64,
        slow: f64,
        (warm_up, seconds): (f64, f64),
        seed: Seed,
    ) -> Result<VirtualRun, RateError> {
        let mut arrivals = Poisson::new(rate, seed.child("arrivals"))?;
        let mut random = Random::new(seed.child("service"));
        let start = Nanos::from_secs_f64(warm_up);
        let mut recorder = Recorder::new(start, Nanos::from_secs_f64(seconds));
        let end = recorder.end();
        let mut free_at = vec![Nanos::ZERO; self.cpus.max(1) as usize];
        let (mut disk_free, mut worked) = (Nanos::ZERO, Nanos::ZERO);
        while let Some(arrival) = arrivals.next_arrival().filter(|at| *at < end) {
            let Some(cpu) = free_at.iter_mut().min() else { break };
            let begins = (*cpu).max(arrival);
            *cpu = begins + self.work(slow, &mut random);
            let within = |at: Nanos| at.clamp(start, end);
            worked += within(*cpu) - within(begins);
            let mut done = *cpu;
            if self.disk > Nanos::ZERO {
                disk_free = disk_free.max(done) + random.exponential_nanos(scaled(self.disk, slow));
                done = disk_free;
            }
            recorder.count(Served { arrival, done: done + self.delay });
        }
        let seen = recorder.seconds();
        let busy = worked.as_secs_f64() / seconds / f64::from(self.cpus.max(1));
        Ok(VirtualRun { run: recorder.finish(seconds), seconds: seen, busy })
    }

    /// A log-normal time, or a negative exponential one where that has the same unevenness.
    fn work(&self, slow: f64, random: &mut Random) -> Nanos {
        let mean = scaled(self.service, slow);
        if self.unevenness == 1.0 {
            return random.exponential_nanos(mean);
        }
        let square = (1.0 + self.unevenness * self.unevenness).ln();
        scaled(mean, (square.sqrt() * random.normal() - square / 2.0).exp())
    }
}

fn scaled(time: Nanos, by: f64) -> Nanos {
    Nanos::from_secs_f64(time.as_secs_f64() * by)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: VirtualServer = VirtualServer {
        cpus: 1,
        service: Nanos::from_millis(4),
        unevenness: 1.0,
        disk: Nanos::ZERO,
        delay: Nanos::ZERO,
    };

    fn tau_ms(server: VirtualServer, rate: f64) -> f64 {
        let found = server.run(rate, 1.0, (4.0, 2_000.0), Seed(3)).unwrap();
        let (sum, count) = found.run.batches.iter().fold((0.0, 0.0), |(sum, count), batch| {
            (sum + batch.response_sum.as_millis_f64(), count + batch.completed as f64)
        });
        assert!((found.busy - rate * 0.004 / f64::from(server.cpus)).abs() < 0.02, "{}", found.busy);
        sum / count
    }

    #[test]
    fn queues_are_those_of_the_theory() {
        // M/M/1 and M/D/1 at 0.5, M/M/4 at 0.5 with C = 0.1739, and two stations one after the other.
        assert!((tau_ms(SERVER, 125.0) - 8.0).abs() < 0.3);
        assert!((tau_ms(VirtualServer { unevenness: 0.0, ..SERVER }, 125.0) - 6.0).abs() < 0.2);
        assert!((tau_ms(VirtualServer { cpus: 4, ..SERVER }, 500.0) - 4.348).abs() < 0.1);
        let with_disk = VirtualServer { disk: Nanos::from_millis(2), delay: Nanos::from_millis(1), ..SERVER };
        assert!((tau_ms(with_disk, 125.0) - 8.0 - 2.0 / 0.75 - 1.0).abs() < 0.4);
    }
}
