use super::Severity::{Doubt, Invalid, Note};
use super::{
    CLOCK_MIN, Caveat, GENERATOR_CPU_MAX, HELD_BACK_MAX, LAG_ALWAYS_TOLERATED, LAG_SHARE_DECIDES,
    LAG_SHARE_MAX, LAG_TAIL_ALWAYS_TOLERATED, LAG_TAIL_SHARE_MAX, OTHER_LOAD_MAX,
    SESSION_WAIT_ALWAYS_TOLERATED, SESSION_WAIT_SHARE_MAX, STEAL_MAX, plural,
};
use crate::digits::nearest;
use crate::time::Nanos;

impl Caveat {
    /// The generator sent its requests late: from the mean dispatch lag of the run, which is the error of its mean response
    /// time, and the mean response time at this rate. The run is not valid where the lag `decides`: where responses that count from
    /// the instant of sending make another verdict.
    pub fn lag(lag_mean: Nanos, tau: Nanos, decides: bool) -> Option<Self> {
        let decides = decides && lag_mean.0 as f64 > LAG_SHARE_DECIDES * tau.0 as f64;
        let tolerated = tolerated(tau, LAG_SHARE_MAX, LAG_ALWAYS_TOLERATED);
        let (severity, meaning) = match decides {
            true => (Invalid, "without this delay the verdict on the run would be another"),
            false => (Doubt, "response times are too long by that much"),
        };
        let text = format!(
            "The generator sent its requests {:.3} ms late on average, {:.0} % of the {:.3} ms that they take at this rate; \
             {meaning}. Give it CPUs of its own by --generator-cpus (a thread for each), or a lower rate.",
            lag_mean.as_millis_f64(),
            100.0 * lag_mean.0 as f64 / tau.0.max(1) as f64,
            tau.as_millis_f64(),
        );
        (decides || lag_mean > tolerated).then(|| {
            Self::new("lag-too-large", severity, text)
                .with("lag_mean_s", lag_mean.as_secs_f64())
                .with("tolerated_s", tolerated.as_secs_f64())
                .with("tau_s", tau.as_secs_f64())
        })
    }

    /// A few requests were sent so late that it shows in the highest percentiles: from the p99 of the dispatch lag and of the
    /// response time of the run.
    pub fn lag_tail(lag_p99: Nanos, response_p99: Nanos) -> Option<Self> {
        let tolerated = tolerated(response_p99, LAG_TAIL_SHARE_MAX, LAG_TAIL_ALWAYS_TOLERATED);
        let text = format!(
            "The generator sent one request in a hundred {:.3} ms late or more, at a p99 of {:.3} ms. The \
             highest percentiles are partly the generator's own, the mean is not. Measure on a quieter machine.",
            lag_p99.as_millis_f64(),
            response_p99.as_millis_f64()
        );
        (lag_p99 > tolerated).then(|| {
            Self::new("lag-tail", Doubt, text)
                .with("lag_p99_s", lag_p99.as_secs_f64())
                .with("tolerated_s", tolerated.as_secs_f64())
                .with("response_p99_s", response_p99.as_secs_f64())
        })
    }

    /// Requests waited for a session for a notable part of their response time: from the mean wait over all requests, the mean
    /// response time, and the most sessions that were open at once.
    pub fn session_wait(wait: Nanos, tau: Nanos, sessions: u32) -> Option<Self> {
        let why = "busy while the server kept answering. If the server can take more at once, this wait comes from the \
                   session limit: raise --max-sessions or lower the rate.";
        waited_for_session("session-wait", wait, tau, sessions, why)
    }

    /// The same where they mostly waited while the server held all sessions up, for so long at most.
    pub fn held_up(wait: Nanos, tau: Nanos, sessions: u32, longest: Nanos) -> Option<Self> {
        let why = format!(
            "waiting for the server, which answered none of them for up to {} ms. That part is the server's, and more sessions do \
             not help: see what its statements waited for (a lock, the disk, a CPU).",
            nearest(longest.as_millis_f64())
        );
        let found = waited_for_session("server-held-up", wait, tau, sessions, &why)?;
        Some(found.with("longest_s", longest.as_secs_f64()))
    }

    /// All connections were at work while the server may have had room: `limit` says why there are no more, as a part of a sentence.
    pub fn few_connections(sessions: u32, limit: &str, is_profile: bool) -> Self {
        let text = format!(
            "All {} were busy ({limit}): the limit may be this number of connections, not the server. {} {} \
             allows more.",
            plural(sessions.into(), "connection", "connections"),
            if is_profile { "--max-sessions" } else { "`evenkeel profile` with --max-sessions" },
            2 * u64::from(sessions)
        );
        Self::new("few-connections", Doubt, text).with("sessions", f64::from(sessions))
    }

    /// Fewer sessions can be opened than were asked for; `limit` says by what they are limited, as a part of a sentence.
    pub fn fewer_sessions(sessions: u32, asked: u32, limit: &str) -> Option<Self> {
        let text = format!(
            "Of {asked} sessions that were requested, {sessions} can be open at once: {limit}. Raise that \
             limit, or request fewer by --max-sessions."
        );
        (sessions < asked).then(|| {
            Self::new("fewer-sessions", Doubt, text)
                .with("sessions", f64::from(sessions))
                .with("asked", f64::from(asked))
        })
    }

    pub fn generator(utilisation: f64) -> Option<Self> {
        let text = format!(
            "A thread of the generator used {utilisation:.0} % of its CPU, so the generator was the limit \
             and not the server. Name more CPUs by --generator-cpus (a thread for each), or take a lower rate."
        );
        (utilisation > GENERATOR_CPU_MAX).then(|| {
            Self::new("generator-saturated", Invalid, text)
                .with("busiest_thread_percent", utilisation)
                .with("tolerated_percent", GENERATOR_CPU_MAX)
        })
    }

    pub fn shared_cpus(cpus: usize) -> Option<Self> {
        let text = format!(
            "Server and generator shared {}, so the generator took CPU time from the server. Give each \
             CPUs of its own.",
            plural(cpus as u64, "CPU", "CPUs")
        );
        (cpus > 0).then(|| Self::new("shared-cpus", Note, text).with("cpus", cpus as f64))
    }
}

fn waited_for_session(
    code: &'static str,
    wait: Nanos,
    tau: Nanos,
    sessions: u32,
    why: &str,
) -> Option<Caveat> {
    let tolerated = tolerated(tau, SESSION_WAIT_SHARE_MAX, SESSION_WAIT_ALWAYS_TOLERATED);
    let text = format!(
        "Requests waited {} ms for a session on average, {:.0} % of their {} ms: {} {why}",
        nearest(wait.as_millis_f64()),
        100.0 * wait.0 as f64 / tau.0.max(1) as f64,
        nearest(tau.as_millis_f64()),
        if sessions == 1 { "the only one was".to_owned() } else { format!("all {sessions} sessions were") }
    );
    (wait > tolerated).then(|| {
        Caveat::new(code, Doubt, text)
            .with("wait_mean_s", wait.as_secs_f64())
            .with("tolerated_s", tolerated.as_secs_f64())
            .with("tau_s", tau.as_secs_f64())
            .with("sessions", f64::from(sessions))
    })
}

/// A share of a time, and at least what is always tolerated.
fn tolerated(of: Nanos, share: f64, always: Nanos) -> Nanos {
    Nanos((of.0 as f64 * share) as u64).max(always)
}

impl Caveat {
    pub fn steal(percent: f64) -> Option<Self> {
        let text = format!(
            "The hypervisor took {percent:.1} % of the CPU time away; the figures depend on the neighbours of \
             this machine. Measure on a quieter host or repeat at another time."
        );
        (percent > STEAL_MAX).then(|| {
            Self::new("steal", Doubt, text)
                .with("steal_percent", percent)
                .with("tolerated_percent", STEAL_MAX)
        })
    }

    pub fn other_load(percent: f64) -> Option<Self> {
        let text = format!(
            "Programs other than the server and the generator used {percent:.1} % of the machine's CPU. \
             Stop them and repeat."
        );
        (percent > OTHER_LOAD_MAX).then(|| {
            Self::new("other-load", Doubt, text)
                .with("other_load_percent", percent)
                .with("tolerated_percent", OTHER_LOAD_MAX)
        })
    }

    /// The server was held back by what its machine or its control group allows it: from the share of its CPUs' time in percent
    /// for which a quota held it back, that quota in CPUs, how often heat slowed a CPU down, and the clock in percent of the
    /// fastest.
    pub fn throttled(
        held: Option<f64>,
        quota: Option<f64>,
        heat: Option<u64>,
        clock: Option<f64>,
    ) -> Option<Self> {
        let quota = held.zip(quota).filter(|(held, _)| *held > HELD_BACK_MAX);
        let clock = clock.filter(|clock| *clock < CLOCK_MIN);
        let heat = heat.filter(|heat| *heat > 0);
        let all: Vec<String> = [
            quota.map(|(held, cpus)| {
                format!(
                    "its control group has a quota of {cpus:.2} CPUs, which limited it for {held:.0} % of the time"
                )
            }),
            heat.map(|heat| format!("heat slowed its CPUs down {}", plural(heat, "time", "times"))),
            clock.map(|clock| format!("its CPUs ran at {clock:.0} % of their fastest clock")),
        ]
        .into_iter()
        .flatten()
        .collect();
        let text = format!(
            "The server was throttled: {}. The figures are those of a server with these limits.",
            all.join(", and ")
        );
        (!all.is_empty()).then(|| {
            Self::new("throttled", Doubt, text)
                .with("held_by_quota_percent", quota.map(|(held, _)| held))
                .with("quota_cpus", quota.map(|(_, cpus)| cpus))
                .with("slowed_by_heat", heat.map(|heat| heat as f64))
                .with("clock_percent", clock)
        })
    }

    /// The server reads its files through the page cache, which may hide the disk; `flush_method` is how it opens its files, as
    /// it says itself.
    pub fn page_cache(flush_method: &str) -> Self {
        let text = format!(
            "The server reads its files through the page cache (innodb_flush_method is {flush_method}), which \
             may hide the disk. Set innodb_flush_method to O_DIRECT."
        );
        Self::new("page-cache", Note, text)
    }
}
