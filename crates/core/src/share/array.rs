//! A disk array with known answers: spindles with queues of their own.

use crate::random::{Random, Seed};

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Bytes moved.
    pub bytes: u32,
    /// Whether it writes.
    pub write: bool,
}

/// What an I/O costs, in units of a 16 KB read: a fixed part and one by size, more for a write.
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
    /// Of one I/O.
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
    /// Negative exponential.
    Exponential,
}

/// Spindles, each first come, first served; an I/O goes to any of them with the same probability.
#[derive(Clone, Debug)]
pub struct Array {
    free_at_s: Vec<f64>,
    mean_s: f64,
    service: Service,
    cost: Cost,
    random: Random,
}

impl Array {
    /// With this many spindles (at least one), each of which takes `mean_s` seconds for cost 1.
    pub fn new(spindles: usize, mean_s: f64, service: Service, cost: Cost, seed: Seed) -> Self {
        let random = Random::new(seed.child("array"));
        Self { free_at_s: vec![0.0; spindles.max(1)], mean_s, service, cost, random }
    }

    /// The instant at which an I/O sent now completes.
    ///
    /// It follows from when its spindle is free, not from when a timer fires: a late wake-up takes no capacity away.
    pub fn send(&mut self, io: Io, now_s: f64) -> f64 {
        let place = self.random.uniform(0, self.free_at_s.len() as u64 - 1) as usize;
        let factor = match self.service {
            Service::Uniform(half) => 1.0 + half * (2.0 * self.random.unit() - 1.0),
            Service::Exponential => self.random.exponential(1.0),
        };
        let service = self.mean_s * factor * self.cost.of(io);
        let done = self.free_at_s[place].max(now_s) + service;
        self.free_at_s[place] = done;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I/Os per second of a closed network.
    fn throughput(service: Service, outstanding: usize) -> f64 {
        let mut array = Array::new(10, 0.0029, service, Cost::default(), Seed(1));
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
    fn less_variable_spindles_carry_more() {
        let (uniform, exponential) =
            (throughput(Service::Uniform(0.6), 32), throughput(Service::Exponential, 32));
        assert!(uniform > 1.05 * exponential, "{uniform} against {exponential}");
    }

    #[test]
    fn larger_ones_and_writes_cost_more() {
        let cost = Cost { write: 4.0, ..Cost::default() };
        let of = |bytes, write| cost.of(Io { bytes, write });
        assert!((of(16_384, false) - 1.0).abs() < 1e-9);
        assert!((of(262_144, false) - 1.4).abs() < 1e-9);
        assert!((of(16_384, true) - 4.0).abs() < 1e-9);
    }
}
