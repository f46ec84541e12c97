//! One server, first come first served.

use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{Arrivals, Poisson, RateError};
use evenkeel_core::random::{Random, Seed};

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
