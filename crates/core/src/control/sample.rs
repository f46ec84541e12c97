use crate::time::Nanos;

/// What happened in one tick of 50 to 100 ms. Algorithms that average do so over several of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub start: Nanos,
    pub end: Nanos,
    /// The limit in force during the whole tick.
    pub limit: u32,
    pub in_flight_mean: f64,
    /// Most in flight at any instant. Above `limit` while a lowered limit drains.
    pub in_flight_max: u32,
    pub queued: f64,
    /// Transactions that ended well. What overload or the server's rollback ended is counted apart, so that
    /// failing fast is never taken for throughput.
    pub completions: u64,
    /// Completions weighted by the usual cost of their digest, in units of the mean transaction; equal to
    /// `completions` where no costs are known.
    pub work: f64,
    pub rejected: u64,
    /// Transactions that failed by overload: time-outs, out of resources.
    pub overload: u64,
    pub rolled_back: u64,
    pub response: Option<Response>,
    pub signals: Signals,
}

impl Sample {
    pub fn seconds(&self) -> f64 {
        (self.end - self.start).as_secs_f64()
    }

    pub fn work_per_s(&self) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 { self.work / seconds } else { 0.0 }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Response {
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

/// Readings of the server's sensors. A reading that is not available is `None`, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    pub cpu_per_commit: Option<f64>,
    pub cycles_per_commit: Option<f64>,
    /// Data TLB misses per commit.
    pub dtlb_misses: Option<f64>,
    /// Data-cache misses per commit.
    pub cache_misses: Option<f64>,
    /// Context switches per commit.
    pub switches_per_commit: Option<f64>,
    /// Share of the transactions' time in flight spent waiting for row locks, 0 to 1.
    pub lock_wait_share: Option<f64>,
    pub deadlocks_per_commit: Option<f64>,
    /// Share of time in which all tasks waited for memory, 0 to 1.
    pub memory_pressure: Option<f64>,
    pub memory_used: Option<f64>,
    /// Bytes of memory that it may still take from the machine and from its control groups.
    pub memory_free: Option<f64>,
    /// Share of the machine's CPU time spent by the server in user mode, 0 to 1.
    pub user_cpu_share: Option<f64>,
}
