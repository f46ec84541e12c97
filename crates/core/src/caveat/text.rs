//! What a caveat says.

use super::{Caveat, FailedBy, INDEPENDENT_BATCHES_MIN, share};
use crate::disturbance::Disturbance;
use crate::stability::{GIVEN_UP_MAX, Instability};
use crate::time::Nanos;
use std::fmt;

/// One or two full sentences: what was seen, what it means, what to do.
impl fmt::Display for Caveat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LagTooLarge { lag_mean, tolerated } => lag_too_large(*lag_mean, *tolerated, out),
            Self::LagTail { lag_p99, response_p99 } => lag_tail(*lag_p99, *response_p99, out),
            Self::SessionWait { wait, tau, sessions } => session_wait(*wait, *tau, *sessions, out),
            Self::FewerSessions { sessions, asked, limit } => write!(
                out,
                "Of {asked} sessions that were asked for {sessions} can be opened at once: {limit}. Raise that, or ask \
                 for fewer by --max-sessions."
            ),
            Self::GeneratorSaturated { utilisation } => write!(
                out,
                "A thread of the generator used {utilisation:.0} % of its CPU, so that the generator was the limit \
                 and not the server. Name more CPUs by --generator-cpus (a thread for each), or take a lower rate."
            ),
            Self::QueueUnstable(found) => unstable(found, out),
            Self::StabilityUnknown { seconds, arrivals } => write!(
                out,
                "A run of {seconds} s with {arrivals} arrivals is too short to tell whether the queue settles. \
                 Measure for longer."
            ),
            Self::TooFewRuns { runs } => too_few_runs(*runs, out),
            Self::Steal { percent } => steal(*percent, out),
            Self::OtherLoad { percent } => other_load(*percent, out),
            Self::Throttled { quota, heat, clock } => throttled(*quota, *heat, *clock, out),
            Self::BacklogAtEnd { requests, arrivals } => backlog_at_end(*requests, *arrivals, out),
            Self::LowerBound { timed_out, unsent, arrivals } => {
                lower_bound([*timed_out, *unsent, *arrivals], out)
            }
            Self::Failures { failed, arrivals, errors } => failures(*failed, *arrivals, errors, out),
            Self::PageCache { flush_method } => page_cache(flush_method, out),
            Self::SharedCpus { cpus } => shared_cpus(*cpus as u64, out),
            Self::FewIndependentBatches { independent, lag1 } => few_batches(*independent, *lag1, out),
            Self::ConnectionsLost { reconnects } => connections_lost(*reconnects, out),
            Self::FirstRepeatDiffers { first, later } => first_repeat_differs(*first, *later, out),
            Self::NotAvailable { what } => {
                write!(out, "Not available: {what}. The figures that need it are missing.")
            }
            Self::RunsLeftOut { runs, of } => {
                let names = runs.join(", ");
                write!(out, "Left out of {of} runs, since the generator failed in them: {names}.")
            }
            Self::MeasuredAgain { set_aside, worst } => measured_again(*set_aside, worst, out),
            Self::RatesNotMeasured { series, rates, reason } => not_measured(series, rates, reason, out),
            Self::FirstBlockRises => out.write_str(FIRST_BLOCK_RISES),
            Self::NotReset => out.write_str(NOT_RESET),
            Self::Incomplete { done, planned, study } => incomplete(*done, *planned, study, out),
            Self::StoppedEarly { measured, planned } => write!(
                out,
                "The run was stopped after {:.0} of {:.0} s. Its figures are those of the time measured.",
                measured.as_secs_f64(),
                planned.as_secs_f64()
            ),
        }
    }
}

const FIRST_BLOCK_RISES: &str = "The first block went through the rates upwards, to find where they end, and later ones in random order; in the \
     first one a drift over time looks like an effect of the rate. A list of rates is measured in random order from \
     the start by --whole-sweep.";

const NOT_RESET: &str = "The server was not restarted between runs, so that a run inherits the buffer pool of the one \
                         before. Have it restarted by --reset-command.";

fn measured_again(set_aside: u64, worst: &Disturbance, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let attempts = if set_aside == 1 { "attempt was" } else { "attempts were" };
    write!(
        out,
        "{set_aside} {attempts} set aside after measuring again ({worst} in the worst); of the attempts at a run the \
         one that was disturbed least stands, whatever its response time. The others are kept beside it."
    )
}

fn incomplete(done: u32, planned: u32, study: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "Of {} {done} {} finished. Go on with `evenkeel profile --resume {study}`.",
        plural(u64::from(planned), "run", "runs"),
        if done == 1 { "is" } else { "are" }
    )
}

fn lag_too_large(lag_mean: Nanos, tolerated: Nanos, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "The generator sent its requests {:.3} ms late in the mean, where {:.3} ms are tolerated; the response \
         times are partly its own. Give it CPUs of its own by --generator-cpus (a thread for each), or a lower rate.",
        lag_mean.as_millis_f64(),
        tolerated.as_millis_f64()
    )
}

fn session_wait(wait: Nanos, tau: Nanos, sessions: u32, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "Requests waited {:.3} ms for a session in the mean, {:.0} % of their {:.3} ms: all of {} were at work, and \
         that part is the pool's and not the server's. Allow more by --max-sessions, or take a lower rate.",
        wait.as_millis_f64(),
        100.0 * wait.0 as f64 / tau.0.max(1) as f64,
        tau.as_millis_f64(),
        plural(sessions.into(), "session", "sessions")
    )
}

fn lag_tail(lag_p99: Nanos, response_p99: Nanos, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "The generator sent one request in a hundred {:.3} ms late or more, beside a p99 of {:.3} ms; the \
         highest percentiles are partly its own, the mean is not. Measure on a quieter machine.",
        lag_p99.as_millis_f64(),
        response_p99.as_millis_f64()
    )
}

fn too_few_runs(runs: u64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "With {} the figures have {}. Repeat the cell more often.",
        plural(runs, "run", "runs"),
        if runs < 2 { "no interval" } else { "an interval too wide to be of use" }
    )
}

fn steal(percent: f64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "The hypervisor took {percent:.1} % of the CPU time away; the figures depend on the neighbours of \
         this machine. Measure on a quieter host or repeat at another time."
    )
}

fn other_load(percent: f64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "Something else than the server and the generator used {percent:.1} % of the machine's CPU. Stop it \
         and repeat."
    )
}

fn backlog_at_end(requests: u64, arrivals: u64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "{} ({:.1} % of {arrivals} arrivals) were still under way when measuring ended, so that the \
         throughput may be too low by as much. Measure for longer or at a lower rate.",
        plural(requests, "request", "requests"),
        100.0 * share(requests, arrivals)
    )
}

fn lower_bound([timed_out, unsent, arrivals]: [u64; 3], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "{timed_out} requests timed out and {unsent} were never sent, of {arrivals} arrivals; they count at \
         the age they had reached, and the mean response time is a lower bound. Raise the timeout or the \
         number of sessions, or lower the rate."
    )
}

fn failures(failed: u64, arrivals: u64, errors: &[FailedBy], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "{failed} of {arrivals} arrivals ({:.2} %) failed, {}; errors are often faster than answers. Mend what the \
         server names, and repeat.",
        100.0 * share(failed, arrivals),
        FailedBy::words(errors)
    )
}

fn page_cache(flush_method: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "The server reads its files through the page cache (innodb_flush_method is {flush_method}), which \
         may hide the disk. Set innodb_flush_method to O_DIRECT."
    )
}

fn shared_cpus(cpus: u64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "Server and generator shared {}, so that the generator took CPU time from the server. Give each \
         CPUs of its own.",
        plural(cpus, "CPU", "CPUs")
    )
}

fn few_batches(independent: f64, lag1: f64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    // Neither "-0.00" nor "NaN".
    let lag1 = if lag1.abs() >= LAG1_SHOWN { lag1 } else { 0.0 };
    let resemble = lag1 > 0.0;
    // The inverse of how batches are counted as independent ones.
    let batches = if resemble { independent * (1.0 + lag1) / (1.0 - lag1) } else { independent };
    if resemble && batches >= INDEPENDENT_BATCHES_MIN {
        return write!(
            out,
            "The response times of the run depend on one another for so long (correlation {lag1:.2} from batch to \
             batch) that it is worth {independent:.1} independent batches only. Measure for longer."
        );
    }
    write!(
        out,
        "The run is worth {independent:.1} independent batches only: it has few of them, {} (correlation {lag1:.2} \
         from one to the next). Measure for longer.",
        if resemble { "and they depend on one another" } else { "though they do not depend on one another" }
    )
}

/// The least correlation that two decimals show as one.
const LAG1_SHOWN: f64 = 0.005;

fn connections_lost(reconnects: u64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "{} had to be opened again in the run: the server was restarted or dropped them. Look at the log \
         of the server and repeat.",
        plural(reconnects, "connection", "connections")
    )
}

fn first_repeat_differs(first: Nanos, later: Nanos, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        out,
        "The first repeat took {:.3} ms in the mean and the later ones {:.3} ms; they may not have started \
         from the same state. Lengthen the warm-up, or look at what the first one left behind.",
        first.as_millis_f64(),
        later.as_millis_f64()
    )
}

fn unstable(found: &Instability, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    if found.given_up > GIVEN_UP_MAX {
        return write!(
            out,
            "The server could not keep up: {:.1} % of the arrivals were given up. No mean response time exists at \
             this rate; measure at a lower one.",
            100.0 * found.given_up
        );
    }
    write!(
        out,
        "The server could not keep up: the backlog grew from {:.0} to {:.0} requests, {:.1} times what chance brings \
         where {:.1} times are tolerated. The mean response time grows with the length of the run; measure at a \
         lower rate.",
        found.backlog_low, found.backlog_end, found.growth, found.tolerated
    )
}

fn not_measured(series: &str, rates: &[f64], reason: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let named = rates.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let of = if series.is_empty() { String::new() } else { format!(" of {series}") };
    write!(
        out,
        "{}{of} above the end of the sweep {} not measured ({named} per second): {reason}. Measure every rate by \
         --whole-sweep.",
        plural(rates.len() as u64, "rate", "rates"),
        if rates.len() == 1 { "was" } else { "were" }
    )
}

fn throttled(
    quota: Option<(f64, f64)>,
    heat: u64,
    clock: Option<f64>,
    out: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let quota = quota.map(|(held, cpus)| {
        format!("for {held:.0} % of the time of its CPUs a quota of {cpus:.2} CPUs of its control group held it back")
    });
    let heat = (heat > 0).then(|| format!("heat slowed its CPUs down {}", plural(heat, "time", "times")));
    let clock = clock.map(|clock| format!("its CPUs ran at {clock:.0} % of their fastest clock"));
    let all: Vec<String> = [quota, heat, clock].into_iter().flatten().collect();
    write!(
        out,
        "The server was throttled: {}. The figures are those of a server that is held back so.",
        all.join(", and ")
    )
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
