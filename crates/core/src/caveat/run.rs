use super::Severity::{Doubt, Note};
use super::{
    BACKLOG_ALWAYS_TOLERATED, BACKLOG_SHARE_MAX, CPU_VARIES_MAX, Caveat, FAILURES_NOTED, FIRST_REPEAT_SHARE,
    FailedBy, GIVEN_UP_MAX, INDEPENDENT_BATCHES_MIN, RUNS_MIN, UNUSED_THETA_MAX, plural, share,
};
use crate::disturbance::Disturbance;
use crate::stability::{Instability, Stability};
use crate::statistics::{BatchMeans, Sample, student_quantile};
use crate::time::Nanos;

impl Caveat {
    /// The backlog grew as long as the run went on, or the run is too short to tell: from the verdict on it.
    pub fn stability(verdict: &Stability) -> Option<Self> {
        match *verdict {
            Stability::Settled => None,
            Stability::Unstable(found) => Some(unstable(&found)),
            Stability::TooShort { seconds, arrivals } => Some(too_short(seconds, arrivals)),
        }
    }

    pub fn no_arrivals(arrivals: u64, measured: Nanos) -> Option<Self> {
        let text = format!(
            "No request arrived in the {:.3} s that were measured, so there are no figures. Measure for \
             longer (--duration), or at a higher rate.",
            measured.as_secs_f64()
        );
        (arrivals == 0)
            .then(|| Self::new("no-arrivals", Doubt, text).with("measured_s", measured.as_secs_f64()))
    }

    pub fn backlog(requests: u64, arrivals: u64) -> Option<Self> {
        let many = requests > BACKLOG_ALWAYS_TOLERATED && share(requests, arrivals) > BACKLOG_SHARE_MAX;
        let text = format!(
            "{} ({:.1} % of {arrivals} arrivals) were still running when measuring ended, so the throughput \
             may be too low by that much. Measure for longer or at a lower rate.",
            plural(requests, "request", "requests"),
            100.0 * share(requests, arrivals)
        );
        many.then(|| {
            Self::new("backlog-at-end", Doubt, text)
                .with("requests", requests as f64)
                .with("arrivals", arrivals as f64)
                .with("tolerated_percent", 100.0 * BACKLOG_SHARE_MAX)
        })
    }

    /// So many requests of the warm-up more than usual were still under way when measuring began.
    pub fn warm_up_backlog(requests: u64, arrivals: u64) -> Option<Self> {
        let many = requests > BACKLOG_ALWAYS_TOLERATED && share(requests, arrivals) > BACKLOG_SHARE_MAX;
        let text = format!(
            "When measuring began, {requests} more requests than usual were left over from the warm-up ({:.1} % of the {arrivals} arrivals \
             measured): the first response times include the time to work these off. Use a longer --warm-up.",
            100.0 * share(requests, arrivals)
        );
        many.then(|| {
            Self::new("warm-up-backlog", Doubt, text)
                .with("requests", requests as f64)
                .with("arrivals", arrivals as f64)
                .with("tolerated_percent", 100.0 * BACKLOG_SHARE_MAX)
        })
    }

    /// Response times are lower bounds, where any request of the run timed out or was never sent.
    pub fn lower_bound(timed_out: u64, unsent: u64, arrivals: u64) -> Option<Self> {
        let text = format!(
            "{timed_out} requests timed out and {unsent} were never sent, of {arrivals} arrivals; they \
             count with the age they reached, and the mean response time is a lower bound. Raise the \
             timeout or the \
             number of sessions, or lower the rate."
        );
        (timed_out + unsent > 0).then(|| {
            Self::new("lower-bound", Doubt, text)
                .with("timed_out", timed_out as f64)
                .with("unsent", unsent as f64)
                .with("arrivals", arrivals as f64)
        })
    }

    /// No request of the run was answered while the server had nothing to do: from what was completed, the arrivals, and the
    /// utilisation in percent where it was seen.
    pub fn unanswered(completed: u64, arrivals: u64, theta: Option<f64>) -> Option<Self> {
        let theta = theta.filter(|theta| *theta < UNUSED_THETA_MAX)?;
        let text = format!(
            "None of {} was answered in time while the server used {theta:.1} % of its CPUs; it is not \
             overloaded, but its requests take longer. Raise --timeout above the time that a request takes, \
             or see what requests wait for.",
            plural(arrivals, "request", "requests")
        );
        (completed == 0 && arrivals > 0).then(|| {
            Self::new("nothing-answered", Doubt, text)
                .with("arrivals", arrivals as f64)
                .with("theta_percent", theta)
                .with("unused_percent", UNUSED_THETA_MAX)
        })
    }

    /// Requests of the run were answered by these errors. The evidence counts each by its number: `error_1146`.
    pub fn failures(errors: &[FailedBy], arrivals: u64) -> Option<Self> {
        let failed = errors.iter().map(|error| error.count).sum();
        let severity = if share(failed, arrivals) <= FAILURES_NOTED { Note } else { Doubt };
        // ER_NO_DB_ERROR.
        let remedy = match errors.iter().any(|error| error.code == 1046) {
            true => "Name the database: URL/shop",
            false => "Fix what the server names",
        };
        let text = format!(
            "{failed} of {arrivals} arrivals ({:.2} %) failed, {}; errors are often faster than answers. \
             {remedy}, and repeat.",
            100.0 * share(failed, arrivals),
            FailedBy::words(errors)
        );
        let found = || {
            Self::new("failures", severity, text)
                .with("failed", failed as f64)
                .with("arrivals", arrivals as f64)
        };
        let with_error =
            |found: Self, error: &FailedBy| found.with(&format!("error_{}", error.code), error.count as f64);
        (failed > 0).then(|| errors.iter().fold(found(), with_error))
    }

    pub fn reconnects(reconnects: u64) -> Option<Self> {
        let text = format!(
            "{} had to be opened again during the run, after timeouts or since the server closed them. Look at the \
             server's log and repeat.",
            plural(reconnects, "connection", "connections")
        );
        (reconnects > 0)
            .then(|| Self::new("connections-lost", Doubt, text).with("reconnects", reconnects as f64))
    }

    pub fn batches(means: &BatchMeans) -> Option<Self> {
        let (independent, lag1) = (means.independent, means.lag1.unwrap_or(0.0));
        (independent < INDEPENDENT_BATCHES_MIN).then(|| {
            Self::new("few-independent-batches", Doubt, few_batches(independent, lag1))
                .with("independent_batches", independent)
                .with("least_batches", INDEPENDENT_BATCHES_MIN)
                .with("lag1_correlation", lag1)
        })
    }

    /// A clock or counter could not be read; `what` names it.
    pub fn not_available(what: &str) -> Self {
        let text = format!("Not available: {what}. The figures that need it are missing.");
        Self::new("not-available", Note, text)
    }

    pub fn stopped(measured: Nanos, planned: Nanos) -> Option<Self> {
        let (measured_s, planned_s) = (measured.as_secs_f64(), planned.as_secs_f64());
        let text = format!(
            "The run was stopped after {measured_s:.0} of {planned_s:.0} s. Its figures are those of the time measured."
        );
        (measured < planned).then(|| {
            Self::new("stopped-early", Note, text).with("measured_s", measured_s).with("planned_s", planned_s)
        })
    }
}

fn unstable(found: &Instability) -> Caveat {
    let text = if found.given_up > GIVEN_UP_MAX {
        format!(
            "The server could not keep up: {:.1} % of the arrivals were given up. No mean response time exists at \
             this rate; measure at a lower one.",
            100.0 * found.given_up
        )
    } else {
        format!(
            "The server could not keep up: the backlog grew from {:.0} to {:.0} requests, more than random arrivals explain. \
             The mean response time grows with the length of the run; measure at a lower rate.",
            found.backlog_low, found.backlog_end
        )
    };
    Caveat::new("queue-unstable", Doubt, text)
        .with("given_up_percent", 100.0 * found.given_up)
        .with("tolerated_given_up_percent", 100.0 * GIVEN_UP_MAX)
        .with("backlog_low", found.backlog_low)
        .with("backlog_end", found.backlog_end)
        .with("growth", found.growth)
        .with("tolerated_growth", found.tolerated)
}

fn too_short(seconds: usize, arrivals: u64) -> Caveat {
    let text = format!(
        "A run of {seconds} s with {arrivals} arrivals is too short to tell whether the queue settles. \
         Measure for longer."
    );
    Caveat::new("stability-unknown", Note, text)
        .with("measured_s", seconds as f64)
        .with("arrivals", arrivals as f64)
}

/// The least correlation that two decimals show as one.
const LAG1_SHOWN: f64 = 0.005;

fn few_batches(independent: f64, lag1: f64) -> String {
    // Neither "-0.00" nor "NaN".
    let lag1 = if lag1.abs() >= LAG1_SHOWN { lag1 } else { 0.0 };
    let resemble = lag1 > 0.0;
    // The inverse of how batches are counted as independent ones.
    let batches = if resemble { independent * (1.0 + lag1) / (1.0 - lag1) } else { independent };
    if resemble && batches >= INDEPENDENT_BATCHES_MIN {
        return format!(
            "The response times of the run are correlated ({lag1:.2} from batch to batch), so it counts as \
             {independent:.1} independent batches only. Measure for longer."
        );
    }
    format!(
        "The run counts as {independent:.1} independent batches only: it has few of them, {} (correlation \
         {lag1:.2} from one to the next). Measure for longer.",
        if resemble { "and they are correlated" } else { "though they are not correlated" }
    )
}

impl Caveat {
    pub fn runs(runs: u64) -> Option<Self> {
        let text = format!(
            "With {} the figures have {}. Repeat the cell more often.",
            plural(runs, "run", "runs"),
            if runs < 2 { "no interval" } else { "an interval too wide to be of use" }
        );
        (runs < RUNS_MIN).then(|| {
            Self::new("too-few-runs", Doubt, text)
                .with("runs", runs as f64)
                .with("least_runs", RUNS_MIN as f64)
        })
    }

    /// The first repeat differs from the later ones: from the mean response times in seconds of the repeats of a cell, in the
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
        let tolerated = half.max(FIRST_REPEAT_SHARE * mean);
        ((first - mean).abs() > tolerated).then(|| first_repeat_differs(first, mean, tolerated))
    }

    /// Runs whose generator failed take no part in the figures of their cell: from their names in the study's folder and the
    /// number of all runs of the cell.
    pub fn runs_left_out(runs: &[String], of: usize) -> Option<Self> {
        let text = format!("Left out of {of} runs, since the generator failed: {}.", runs.join(", "));
        (!runs.is_empty()).then(|| {
            Self::new("runs-left-out", Doubt, text)
                .with("left_out", runs.len() as f64)
                .with("runs", of as f64)
        })
    }

    pub fn measured_again(set_aside: &[Disturbance]) -> Option<Self> {
        let worst = set_aside.iter().max_by(|one, other| one.weight().total_cmp(&other.weight()))?;
        let attempts = if set_aside.len() == 1 { "attempt was" } else { "attempts were" };
        let text = format!(
            "{} {attempts} set aside after measuring again ({worst} in the worst run). Of the attempts at a \
             run the least disturbed one counts, whatever its response time. The others are kept beside it.",
            set_aside.len()
        );
        Some(
            Self::new("measured-again", Note, text)
                .with("set_aside", set_aside.len() as f64)
                .with("worst_steal_percent", worst.steal)
                .with("worst_other_load_percent", worst.other_load),
        )
    }

    /// Rates above the end of a sweep were not measured: from the series (empty where there is one kind only), these rates per
    /// second, and why the sweep ended below them.
    pub fn rates_not_measured(series: &str, rates: &[f64], reason: &str) -> Option<Self> {
        let named = rates.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
        let of = if series.is_empty() { String::new() } else { format!(" of {series}") };
        let text = format!(
            "{}{of} above the end of the sweep {} not measured ({named} per second): {reason}. Measure every rate by \
             --whole-sweep.",
            plural(rates.len() as u64, "rate", "rates"),
            if rates.len() == 1 { "was" } else { "were" }
        );
        let lowest = rates.iter().copied().reduce(f64::min)?;
        Some(
            Self::new("rates-not-measured", Note, text)
                .with("rates", rates.len() as f64)
                .with("lowest_rate_per_s", lowest)
                .with("highest_rate_per_s", rates.iter().copied().reduce(f64::max)),
        )
    }

    pub fn first_block_rises() -> Self {
        Self::new(
            "first-block-rises",
            Note,
            "The first block of runs took the rates in rising order, to find where they end, and later \
             blocks in random order. In the first block a drift over time looks like an effect of the rate. \
             With --whole-sweep a list of rates is measured in random order from the start.",
        )
    }

    pub fn cpu_varies(percent: f64) -> Option<Self> {
        let text = format!(
            "The CPU time of a request differed by {percent:.0} % (standard deviation) between runs of the same rate, limit {CPU_VARIES_MAX:.0} %."
        );
        (percent > CPU_VARIES_MAX).then(|| Self::new("cpu-varies", Doubt, text).with("percent", percent))
    }

    pub fn not_reset() -> Self {
        Self::new(
            "no-reset",
            Note,
            "The server is not restarted between runs, so a run may inherit the buffer pool of the previous \
             one. Restart it by --reset-command; for a private server omit --no-reset.",
        )
    }

    /// Runs of a study are still to be measured: fewer are finished than planned, or not all cells are known. It goes on with this
    /// command.
    pub fn incomplete(done: u32, planned: u32, rates_known: bool, command: &str) -> Option<Self> {
        let text = format!(
            "Of {} {done} {} finished. Continue with `{command}`.",
            plural(u64::from(planned), "run", "runs"),
            if done == 1 { "is" } else { "are" }
        );
        (!rates_known || done < planned).then(|| {
            Self::new("incomplete", Note, text)
                .with("runs_done", f64::from(done))
                .with("runs_planned", f64::from(planned))
        })
    }
}

/// All three in seconds.
fn first_repeat_differs(first: f64, later: f64, tolerated: f64) -> Caveat {
    let ms = |seconds: f64| Nanos::from_secs_f64(seconds).as_millis_f64();
    let text = format!(
        "The first repeat took {:.3} ms in the mean and the later ones {:.3} ms; they may not have started \
         from the same state. Lengthen the warm-up, or see what the first one left behind.",
        ms(first),
        ms(later)
    );
    Caveat::new("first-repeat-differs", Doubt, text)
        .with("first_s", first)
        .with("later_s", later)
        .with("tolerated_difference_s", tolerated)
}
