use crate::random::{Random, Seed};

/// One I/O as an array sees it: its offset does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    pub bytes: u32,
    pub write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Cost of each byte above 16 KB.
    pub per_byte: f64,
    /// Factor of a write: 4 where each costs two reads and two writes for parity, 1 where a cache takes them.
    pub write: f64,
}

/// Bytes of the I/O that costs 1.
const UNIT_BYTES: f64 = 16_384.0;

impl Default for Cost {
    /// 256 KB cost 1.4 times what 16 KB cost, reads and writes the same.
    fn default() -> Self {
        Self { per_byte: 0.4 / (240.0 * 1_024.0), write: 1.0 }
    }
}

impl Cost {
    pub fn of(&self, io: Io) -> f64 {
        let size = 1.0 + self.per_byte * (f64::from(io.bytes) - UNIT_BYTES);
        size.max(0.1) * if io.write { self.write } else { 1.0 }
    }
}

/// Distribution of the time that a spindle takes for cost 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Service {
    /// Uniform within this share around the mean: 0.6 for 0.4 to 1.6 of it.
    Uniform(f64),
    /// Negative exponential, with mean 1.
    Exponential,
}

/// A write cache: it answers at once and writes later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cache {
    pub answer_s: f64,
    /// Seconds of work that a spindle may be behind; a write beyond that waits for its spindle.
    pub behind_s: f64,
    /// Seconds that a flush takes beyond waiting for all that is behind.
    pub flush_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrayPlan {
    pub spindles: usize,
    /// Mean seconds that a spindle takes for cost 1.
    pub mean_s: f64,
    pub service: Service,
    pub cost: Cost,
    pub cache: Option<Cache>,
}

/// Until when each spindle has work: of one process, or in memory that several share.
pub trait Calendar {
    /// Adds work of so many seconds after all that a spindle has; when it begins and when it is done.
    fn add(&mut self, spindle: usize, now_s: f64, service_s: f64) -> (f64, f64);

    fn owe(&mut self, until_s: f64);

    /// The instant at which nothing is owed any more.
    fn owed_until_s(&self) -> f64;
}

#[derive(Clone, Debug, PartialEq)]
pub struct Own {
    free_at_s: Vec<f64>,
    owed_s: f64,
}

impl Own {
    pub fn new(spindles: usize) -> Self {
        Self { free_at_s: vec![0.0; spindles.max(1)], owed_s: 0.0 }
    }
}

impl Calendar for Own {
    fn add(&mut self, spindle: usize, now_s: f64, service_s: f64) -> (f64, f64) {
        let free_at_s = &mut self.free_at_s[spindle];
        let begun_s = free_at_s.max(now_s);
        *free_at_s = begun_s + service_s;
        (begun_s, *free_at_s)
    }

    fn owe(&mut self, until_s: f64) {
        self.owed_s = self.owed_s.max(until_s);
    }

    fn owed_until_s(&self) -> f64 {
        self.owed_s
    }
}

/// Spindles, each first come, first served; an I/O goes to any of them with the same probability.
#[derive(Clone, Debug)]
pub struct Array<C = Own> {
    plan: ArrayPlan,
    calendar: C,
    random: Random,
    device_s: f64,
}

impl Array {
    pub fn new(plan: ArrayPlan, seed: Seed) -> Self {
        Self::with(plan, Own::new(plan.spindles), seed)
    }
}

impl<C: Calendar> Array<C> {
    /// An array with this calendar, which has `plan.spindles` spindles.
    pub fn with(plan: ArrayPlan, calendar: C, seed: Seed) -> Self {
        Self { plan, calendar, random: Random::new(seed.child("array")), device_s: 0.0 }
    }

    /// The instant at which an I/O sent now completes.
    ///
    /// It follows from when its spindle is free, not from when a timer fires: a late wake-up takes no capacity away.
    pub fn send(&mut self, io: Io, now_s: f64) -> f64 {
        let place = self.random.uniform(0, self.plan.spindles.max(1) as u64 - 1) as usize;
        let factor = match self.plan.service {
            Service::Uniform(half) => 1.0 + half * (2.0 * self.random.unit() - 1.0),
            Service::Exponential => self.random.exponential(1.0),
        };
        let service_s = self.plan.mean_s * factor * self.plan.cost.of(io);
        self.device_s += service_s;
        let (begun_s, done_s) = self.calendar.add(place, now_s, service_s);
        let Some(cache) = self.plan.cache.filter(|_| io.write) else { return done_s };
        self.calendar.owe(done_s);
        // A full cache answers when its spindle has caught up.
        (now_s + cache.answer_s).max(begun_s - cache.behind_s)
    }

    /// Device time of all I/Os that were sent this way so far, in seconds of one spindle. Others that use the same calendar
    /// have accounts of their own.
    pub fn device_s(&self) -> f64 {
        self.device_s
    }

    pub fn flush(&mut self, now_s: f64) -> f64 {
        match self.plan.cache {
            Some(cache) => self.calendar.owed_until_s().max(now_s) + cache.flush_s,
            None => now_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(service: Service, cache: Option<Cache>) -> ArrayPlan {
        ArrayPlan { spindles: 10, mean_s: 0.0029, service, cost: Cost::default(), cache }
    }

    /// I/Os per second of a closed network.
    fn throughput(service: Service, outstanding: usize) -> f64 {
        let mut array = Array::new(plan(service, None), Seed(1));
        let io = Io { bytes: 16_384, write: false };
        let mut due: Vec<f64> = (0..outstanding).map(|_| array.send(io, 0.0)).collect();
        let (mut count, mut now) = (0, 0.0);
        while now < 100.0 {
            let next = (0..outstanding).min_by(|&a, &b| due[a].total_cmp(&due[b])).expect("some");
            now = due[next];
            due[next] = array.send(io, now);
            count += 1;
        }
        f64::from(count) / now
    }

    #[test]
    fn a_closed_network_of_exponential_spindles_has_the_throughput_of_theory() {
        // X(W) = (S / s) W / (W + S - 1), product form.
        for outstanding in [1, 8, 32, 128] {
            let expected = 10.0 / 0.0029 * outstanding as f64 / (outstanding as f64 + 9.0);
            let seen = throughput(Service::Exponential, outstanding);
            assert!((seen / expected - 1.0).abs() < 0.02, "{seen} of {expected} with {outstanding}");
        }
    }

    #[test]
    fn a_cache_answers_writes_at_once_until_it_is_full_and_a_flush_waits_for_all() {
        let cache = Cache { answer_s: 0.0002, behind_s: 0.1, flush_s: 0.001 };
        let mut array = Array::new(plan(Service::Uniform(0.0), Some(cache)), Seed(1));
        let write = Io { bytes: 16_384, write: true };
        assert_eq!(array.flush(0.0), 0.001, "nothing is owed");
        assert_eq!(array.send(write, 0.0), 0.0002);
        let one = array.flush(0.0);
        assert!((one - 0.0039).abs() < 1e-9, "{one}");
        // 10 spindles, each 0.1 s behind, take 345 writes; a thousand more wait.
        let last = (0..1_345).map(|_| array.send(write, 0.0)).fold(0.0, f64::max);
        assert!((0.25..0.45).contains(&last), "{last}");
        assert!(array.flush(0.0) > last + 0.09);
    }
}
