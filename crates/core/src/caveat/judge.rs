//! From a measurement to a caveat, or to none.

use super::{
    BACKLOG_ALWAYS_TOLERATED, BACKLOG_SHARE_MAX, CLOCK_MIN, FIRST_REPEAT_SHARE, GENERATOR_CPU_MAX,
    HELD_BACK_MAX, INDEPENDENT_BATCHES_MIN, LAG_ALWAYS_TOLERATED, LAG_SHARE_MAX, LAG_TAIL_ALWAYS_TOLERATED,
    LAG_TAIL_SHARE_MAX, OTHER_LOAD_MAX, RUNS_MIN, SESSION_WAIT_ALWAYS_TOLERATED, SESSION_WAIT_SHARE_MAX,
    STEAL_MAX,
};
use super::{Caveat, FailedBy, share};
use crate::disturbance::Disturbance;
use crate::stability::Stability;
use crate::statistics::{BatchMeans, Sample, student_quantile};
use crate::time::Nanos;

/// Each states its doubt where the measurement is beyond the threshold.
impl Caveat {
    /// [`Caveat::LagTooLarge`], from the means of the dispatch lag and of the response time of the run.
    pub fn lag(lag_mean: Nanos, tau: Nanos) -> Option<Self> {
        let tolerated = Nanos((tau.0 as f64 * LAG_SHARE_MAX) as u64).max(LAG_ALWAYS_TOLERATED);
        (lag_mean > tolerated).then_some(Self::LagTooLarge { lag_mean, tolerated })
    }

    /// [`Caveat::LagTail`], from the p99 of the dispatch lag and of the response time of the run.
    pub fn lag_tail(lag_p99: Nanos, response_p99: Nanos) -> Option<Self> {
        let tolerated =
            Nanos((response_p99.0 as f64 * LAG_TAIL_SHARE_MAX) as u64).max(LAG_TAIL_ALWAYS_TOLERATED);
        (lag_p99 > tolerated).then_some(Self::LagTail { lag_p99, response_p99 })
    }

    /// [`Caveat::SessionWait`], from the mean wait for a session over all requests, the mean response time, and the most
    /// sessions that were open at once.
    pub fn session_wait(wait: Nanos, tau: Nanos, sessions: u32) -> Option<Self> {
        let tolerated =
            Nanos((tau.0 as f64 * SESSION_WAIT_SHARE_MAX) as u64).max(SESSION_WAIT_ALWAYS_TOLERATED);
        (wait > tolerated).then_some(Self::SessionWait { wait, tau, sessions })
    }

    /// [`Caveat::FewerSessions`], where fewer are borne than were asked for; `limit` says by what.
    pub fn fewer_sessions(sessions: u32, asked: u32, limit: &str) -> Option<Self> {
        (sessions < asked).then(|| Self::FewerSessions { sessions, asked, limit: limit.to_owned() })
    }

    /// [`Caveat::GeneratorSaturated`], from the CPU use of the busiest thread of the generator in percent.
    pub fn generator(utilisation: f64) -> Option<Self> {
        (utilisation > GENERATOR_CPU_MAX).then_some(Self::GeneratorSaturated { utilisation })
    }

    /// [`Caveat::QueueUnstable`] or [`Caveat::StabilityUnknown`], from the verdict on a run.
    pub fn stability(verdict: &Stability) -> Option<Self> {
        match *verdict {
            Stability::Settled => None,
            Stability::Unstable(found) => Some(Self::QueueUnstable(found)),
            Stability::TooShort { seconds, arrivals } => Some(Self::StabilityUnknown { seconds, arrivals }),
        }
    }

    /// [`Caveat::TooFewRuns`], from the number of runs of a cell.
    pub fn runs(runs: u64) -> Option<Self> {
        (runs < RUNS_MIN).then_some(Self::TooFewRuns { runs })
    }

    /// [`Caveat::Steal`], from the share of CPU time in percent.
    pub fn steal(percent: f64) -> Option<Self> {
        (percent > STEAL_MAX).then_some(Self::Steal { percent })
    }

    /// [`Caveat::Throttled`], from the share of its CPUs' time in percent for which a quota held the server back, that quota in
    /// CPUs, how often heat slowed a CPU down, and the clock in percent of the fastest.
    pub fn throttled(
        held: Option<f64>,
        quota: Option<f64>,
        heat: Option<u64>,
        clock: Option<f64>,
    ) -> Option<Self> {
        let quota = held.zip(quota).filter(|(held, _)| *held > HELD_BACK_MAX);
        let clock = clock.filter(|clock| *clock < CLOCK_MIN);
        let heat = heat.unwrap_or(0);
        (quota.is_some() || heat > 0 || clock.is_some()).then_some(Self::Throttled { quota, heat, clock })
    }

    /// [`Caveat::OtherLoad`], from the share of the CPU time of the machine in percent that neither server nor
    /// generator used.
    pub fn other_load(percent: f64) -> Option<Self> {
        (percent > OTHER_LOAD_MAX).then_some(Self::OtherLoad { percent })
    }

    /// [`Caveat::BacklogAtEnd`], from the requests under way at the end and the arrivals of the run.
    pub fn backlog(requests: u64, arrivals: u64) -> Option<Self> {
        let many = requests > BACKLOG_ALWAYS_TOLERATED && share(requests, arrivals) > BACKLOG_SHARE_MAX;
        many.then_some(Self::BacklogAtEnd { requests, arrivals })
    }

    /// [`Caveat::LowerBound`], where any request of the run timed out or was never sent.
    pub fn lower_bound(timed_out: u64, unsent: u64, arrivals: u64) -> Option<Self> {
        (timed_out + unsent > 0).then_some(Self::LowerBound { timed_out, unsent, arrivals })
    }

    /// [`Caveat::Failures`], where any request of the run failed, by these errors.
    pub fn failures(errors: Vec<FailedBy>, arrivals: u64) -> Option<Self> {
        let failed = errors.iter().map(|error| error.count).sum();
        (failed > 0).then_some(Self::Failures { failed, arrivals, errors })
    }

    /// [`Caveat::SharedCpus`], from the number of CPUs that server and generator have in common.
    pub fn shared_cpus(cpus: usize) -> Option<Self> {
        (cpus > 0).then_some(Self::SharedCpus { cpus })
    }

    /// [`Caveat::FewIndependentBatches`], from the batch means of a run.
    pub fn batches(means: &BatchMeans) -> Option<Self> {
        let few = means.independent < INDEPENDENT_BATCHES_MIN;
        few.then_some(Self::FewIndependentBatches {
            independent: means.independent,
            lag1: means.lag1.unwrap_or(0.0),
        })
    }

    /// [`Caveat::ConnectionsLost`], from the connections opened again in a run.
    pub fn reconnects(reconnects: u64) -> Option<Self> {
        (reconnects > 0).then_some(Self::ConnectionsLost { reconnects })
    }

    /// [`Caveat::MeasuredAgain`], from what reached the attempts that were set aside.
    pub fn measured_again(set_aside: &[Disturbance]) -> Option<Self> {
        let worst = *set_aside.iter().max_by(|one, other| one.weight().total_cmp(&other.weight()))?;
        Some(Self::MeasuredAgain { set_aside: set_aside.len() as u64, worst })
    }

    /// [`Caveat::Incomplete`], where fewer runs are finished than planned or not all cells are known.
    pub fn incomplete(done: u32, planned: u32, rates_known: bool, study: &str) -> Option<Self> {
        let is_incomplete = !rates_known || done < planned;
        is_incomplete.then(|| Self::Incomplete { done, planned, study: study.to_owned() })
    }

    /// [`Caveat::StoppedEarly`], where less was measured than planned.
    pub fn stopped(measured: Nanos, planned: Nanos) -> Option<Self> {
        (measured < planned).then_some(Self::StoppedEarly { measured, planned })
    }

    /// [`Caveat::FirstRepeatDiffers`], from the mean response times in seconds of the repeats of a cell, in the
    /// order they were run.
    ///
    /// With `m` and `s` the mean and standard deviation of the `n` later ones, the first differs where
    /// `|x - m| > t s sqrt(1 + 1/n)`, `t` the 99.5 % point of Student's t with `n - 1` degrees of freedom
    /// (prediction interval of one more value: one false alarm in a hundred cells), and by more than
    /// [`FIRST_REPEAT_SHARE`] of `m`. At least three later ones are needed.
    pub fn first_repeat(taus: &[f64]) -> Option<Self> {
        let (&first, later) = taus.split_first()?;
        if later.len() < 3 {
            return None;
        }
        let sample: Sample = later.iter().copied().collect();
        let (mean, deviation) = (sample.mean()?, sample.standard_deviation()?);
        let n = later.len() as f64;
        let half = student_quantile(0.995, n - 1.0) * deviation * (1.0 + 1.0 / n).sqrt();
        let differs = (first - mean).abs() > half.max(FIRST_REPEAT_SHARE * mean);
        let (first, later) = (Nanos::from_secs_f64(first), Nanos::from_secs_f64(mean));
        differs.then_some(Self::FirstRepeatDiffers { first, later })
    }
}
