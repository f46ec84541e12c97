//! What stands in `run.json` of a profile.

use super::estimates::{BatchRecord, EstimateRecord, PartsRecord};
use super::summary::{DomainRecord, NeighboursRecord, Verdict};
use evenkeel_core::caveat::Caveat;
use evenkeel_lab::load::Counts;
use evenkeel_site::elsewhere::SensedRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `run.json`: one attempt at one repeat of one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// Version of the file, [`FORMAT`](super::format::FORMAT).
    pub format: u32,
    pub cell: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Attempt at this repeat, from 1; above 1 where an earlier one was disturbed from outside.
    pub attempt: u32,
    /// Other attempts at this repeat, which were disturbed more. Not in the file: each stands in a folder of its
    /// own, and which of them stands for the repeat is found anew whenever they are read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<AttemptRecord>,
    /// Place in the order of all attempts at all runs, from 1.
    pub order: u32,
    /// Seconds since 1970 at the start.
    pub started_unix_s: u64,
    pub seed: u64,
    pub measured_s: f64,
    pub counts: Counts,
    /// Completions of the measured phase's arrivals per second.
    pub throughput_per_s: f64,
    /// Completion - arrival; the mean is tau.
    pub response: TimesRecord,
    /// Whether tau and the percentiles are lower bounds, because requests timed out or were never sent.
    pub lower_bound: bool,
    /// Done - send.
    pub service: TimesRecord,
    /// First byte - send.
    pub first_byte: TimesRecord,
    /// Send - arrival less what the request had to wait for a session: the generator's own error.
    pub lag: TimesRecord,
    /// Wait for a session, of the requests that had to wait; of those never sent the age that they reached.
    pub session_wait: TimesRecord,
    /// Standard error of tau from batch means inside the run; absent in too short a run.
    pub tau_batch_se_ms: Option<f64>,
    /// Lag-1 autocorrelation of the batches.
    pub batch_autocorrelation: Option<f64>,
    /// Whether the response came to rest.
    pub stability: Verdict,
    /// The same with responses counted from the instant of sending, without the generator's own lag; absent where that is no other.
    pub stability_sent: Option<Verdict>,
    /// Requests that had arrived and not ended at the end of the measured phase.
    pub backlog_at_end: u64,
    /// Most sessions open at once.
    pub sessions_max: u32,
    /// Connections opened again after a loss.
    pub reconnects: u64,
    /// CPU of the server's domain; absent where it cannot be seen.
    pub theta: Option<CpuRecord>,
    /// CPU of the generator: percent of one CPU.
    pub generator_cpu_percent: Option<f64>,
    /// CPU of others on the machine, percent of the whole machine.
    pub other_load_percent: Option<f64>,
    /// Context switches of the generator per completed request.
    pub generator_switches_per_request: Option<f64>,
    /// Further measures by name with unit suffix: `psi_cpu_some_percent`, `disk_reads_per_request`
    /// ...; absent where not available.
    pub sense: BTreeMap<String, f64>,
    /// Deltas of server status counters over `status_stretch`, about the measured phase, without those of the session that
    /// asks; gauges at its end.
    pub status: BTreeMap<String, f64>,
    /// Probe delay mu over the run's probes, ms: response time less execution time at the server. Absent where the server
    /// does not tell.
    pub mu_ms: Option<EstimateRecord>,
    /// Gauges of the server over the measured phase, by name.
    pub gauges: BTreeMap<String, GaugeRecord>,
    pub kinds: Vec<KindRecord>,
    /// The same by statement.
    pub statements: Vec<KindRecord>,
    /// By step of a request; empty where requests have no steps.
    pub steps: Vec<KindRecord>,
    /// Orders per minute; absent where requests are no orders.
    pub orders_per_minute: Option<PerMinuteRecord>,
    /// Requests that the workload itself rolled back; they are completed all the same.
    pub rolled_back: u64,
    /// Errors after which a client went on with its request.
    pub tried_again: u64,
    /// The measured phase in twenty stretches.
    pub batches: Vec<BatchRecord>,
    /// Relaxation times of the queue that the measured phase lasted, by its own mean backlog; absent where nothing was
    /// under way.
    pub relaxations: Option<f64>,
    /// What neighbours took of the server's CPUs; absent where that cannot be seen.
    pub neighbours: Option<NeighboursRecord>,
    pub error_texts: BTreeMap<u16, String>,
    /// Doubts about this run.
    #[serde(with = "super::caveats")]
    pub caveats: Vec<Caveat>,
    /// Where the CPU figures come from; absent in folders from before others than this machine could bring them.
    pub sensed: Option<SensedRecord>,
    /// What the deltas in `status` are of; absent where the server did not tell them.
    pub status_stretch: Option<StretchRecord>,
    /// The part of `mu_ms` in which the probe's own thread, and that of the server as far as it is known, could have run and
    /// waited for a CPU, ms; absent where the kernel does not tell.
    pub probe_wait_ms: Option<EstimateRecord>,
    /// What the response times of some requests are made of; absent where that was not asked for.
    pub parts: Option<PartsRecord>,
}

/// An attempt at a run that was set aside for one that was disturbed less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// Attempt, from 1.
    pub attempt: u32,
    /// CPU time of the server's domain that the hypervisor took, percent.
    pub steal_percent: Option<f64>,
    /// CPU of others on the machine, percent of the whole machine.
    pub other_load_percent: Option<f64>,
    /// Mean response time, where anything was answered; it has no part in which attempt stands.
    pub tau_ms: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindRecord {
    pub name: String,
    pub completed: u64,
    /// Failed, timed out or unsent.
    pub lost: u64,
    /// Response times of those that completed or were given up.
    pub times: TimesRecord,
}

/// Orders per minute of a run, with their spread over stretches of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerMinuteRecord {
    /// Over the whole measured phase.
    pub mean: f64,
    /// Standard error by batch means; absent of fewer than two stretches.
    pub se: Option<f64>,
    /// In the slowest stretch.
    pub lowest: f64,
    /// In the fastest one.
    pub highest: f64,
    /// Number of stretches.
    pub stretches: u32,
    /// Length of one, seconds.
    pub stretch_s: f64,
}

/// From one reading of the server's status to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StretchRecord {
    /// Its length. An overloaded server answers late, so that it is not that of the measured phase.
    pub seconds: f64,
    /// Requests that the server began in it, by its own count of statements, or those that were completed in it where that
    /// count does not tell; absent where nobody knows.
    pub requests: Option<f64>,
    /// How long a part of it the reading took: half the time between question and answer, of both ends. Counters that are not
    /// read at the same moment as the count of statements may be of a stretch so much longer or shorter.
    pub slack_s: f64,
}

impl StretchRecord {
    /// Beyond, the figures of one reading would be off by 5 %.
    const SLACK_MAX: f64 = 0.025;

    /// Whether counters that are read one after the other belong to about the same stretch.
    pub fn is_sharp(&self) -> bool {
        self.slack_s <= Self::SLACK_MAX * self.seconds
    }
}

/// CPU of a domain, percent of its capacity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuRecord {
    pub domain: DomainRecord,
    /// CPUs that make 100 %.
    pub cpus: f64,
    /// Utilisation theta: all but idle, iowait and steal.
    pub total_percent: f64,
    /// Time in user code, percent.
    pub user_percent: f64,
    /// Time in the kernel, percent.
    pub system_percent: f64,
    /// Waiting for disks; absent where the domain does not tell.
    pub iowait_percent: Option<f64>,
    /// Stolen by the hypervisor; absent where the domain does not tell.
    pub steal_percent: Option<f64>,
    /// Number of samples behind the means.
    pub samples: u32,
}

/// A gauge of the server, looked at again and again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GaugeRecord {
    pub samples: u32,
    /// Mean over these looks, in the gauge's own unit.
    pub mean: f64,
    /// Largest value seen.
    pub max: f64,
}

/// A distribution of times, in milliseconds. Without values its times say nothing, least of all zero: [`Self::measured`]
/// keeps that apart, and so do files, where they are null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "InFile", into = "InFile")]
pub struct TimesRecord {
    pub count: u64,
    /// Mean, in milliseconds.
    pub mean_ms: f64,
    /// Median, in milliseconds.
    pub p50_ms: f64,
    /// 90th percentile, in milliseconds.
    pub p90_ms: f64,
    /// 95th percentile, in milliseconds.
    pub p95_ms: f64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: f64,
    /// 99.9th percentile, in milliseconds.
    pub p999_ms: f64,
    /// Largest value, in milliseconds.
    pub max_ms: f64,
}

impl TimesRecord {
    /// Itself where it has a value.
    pub fn measured(&self) -> Option<&Self> {
        (self.count > 0).then_some(self)
    }

    /// Mean in ms over so many requests, of which those without a value took no such time; `None` of no requests.
    pub fn mean_over_ms(&self, requests: u64) -> Option<f64> {
        (requests > 0).then(|| self.mean_ms * self.count as f64 / requests as f64)
    }
}

/// The times as they stand in a file.
macro_rules! in_file {
    ($($time:ident),*) => {
        #[derive(Serialize, Deserialize)]
        struct InFile {
            count: u64,
            $($time: Option<f64>),*
        }

        impl From<TimesRecord> for InFile {
            fn from(times: TimesRecord) -> Self {
                let of = |time| (times.count > 0).then_some(time);
                Self { count: times.count, $($time: of(times.$time)),* }
            }
        }

        impl From<InFile> for TimesRecord {
            fn from(file: InFile) -> Self {
                Self { count: file.count, $($time: file.$time.unwrap_or_default()),* }
            }
        }
    };
}

in_file!(mean_ms, p50_ms, p90_ms, p95_ms, p99_ms, p999_ms, max_ms);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_nothing_are_null_in_a_file_and_come_back_as_nothing() {
        let text = serde_json::to_string(&TimesRecord::default()).unwrap();
        assert!(text.contains(r#""count":0,"mean_ms":null"#) && !text.contains("0.0"), "{text}");
        assert_eq!(serde_json::from_str::<TimesRecord>(&text).unwrap().measured(), None);
        let some = TimesRecord { count: 3, mean_ms: 1.5, ..TimesRecord::default() };
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(serde_json::from_str::<TimesRecord>(&text).unwrap(), some);
    }

    #[test]
    fn a_mean_over_all_requests_counts_those_without_a_value() {
        let waits = TimesRecord { count: 2, mean_ms: 30.0, ..TimesRecord::default() };
        assert_eq!((waits.mean_over_ms(4), waits.mean_over_ms(0)), (Some(15.0), None));
        assert_eq!(TimesRecord::default().mean_over_ms(4), Some(0.0));
    }
}
