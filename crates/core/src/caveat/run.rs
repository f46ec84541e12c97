use super::Severity::{Doubt, Note};
use super::{
    BACKLOG_ALWAYS_TOLERATED, BACKLOG_SHARE_MAX, Caveat, FAILURES_NOTED, FailedBy, GIVEN_UP_MAX,
    INDEPENDENT_BATCHES_MIN, UNUSED_THETA_MAX, plural, share,
};
use crate::stability::{Instability, Stability};
use crate::statistics::BatchMeans;
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
        let text = format!(
            "{failed} of {arrivals} arrivals ({:.2} %) failed, {}; errors are often faster than answers. \
             Fix what the server names, and repeat.",
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
            "{} had to be opened again during the run: the server was restarted or closed them. Look at the \
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
            "The server could not keep up: the backlog grew from {:.0} to {:.0} requests, {:.1} times what \
             chance explains ({:.1} times are tolerated). The mean response time grows with the length of \
             the run; measure at a \
             lower rate.",
            found.backlog_low, found.backlog_end, found.growth, found.tolerated
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
