//! What goes on, while it goes on.
//!
//! The caller turns what the lab reports into [`ProgressEvent`]s and hands each to [`View::show`], about
//! once a second while a run is measured. The view has no clock and no thread of its own, so it takes
//! nothing from the machine between events. All goes to stderr: stdout is for results.

mod line;
mod view;

use evenkeel_core::Nanos;
use evenkeel_lab::data::DataProgress;
use evenkeel_lab::load::{LoadPhase, LoadProgress};
use evenkeel_os::clock::Clock;
use evenkeel_study::profile::{RunPlace, StudyEvent, StudySpec};
use evenkeel_study::store::format::{RunFile, Severity, WrittenFile};
use serde::Serialize;
pub use view::{Mode, View};

/// Something worth showing. As JSON: one object a line, `event` names the variant in kebab-case; an
/// absent value is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum ProgressEvent {
    /// Something begins that has no measure: a server starts, plans are read.
    Step { text: String },
    /// Data is being written; rows are those of all tables.
    Populating { table: String, rows: u64, rows_total: u64, rows_per_s: f64, left_s: Option<f64> },
    /// All data is written.
    Populated { rows: u64, took_s: f64 },
    /// A short run of the search for the saturation ended.
    Probed {
        series: String,
        /// Absent for a closed probe.
        rate_per_s: Option<f64>,
        throughput_per_s: f64,
        theta_percent: Option<f64>,
        settled: bool,
    },
    /// All rates are known; the runs begin.
    Planned {
        folder: String,
        cells: usize,
        runs: u32,
        /// Runs finished before.
        done: u32,
        left_s: Option<f64>,
    },
    /// A run is measured now; shown again and again.
    Running {
        run: RunPlace,
        /// `warm-up`, `measure` or `drain`.
        phase: String,
        tau_ms: Option<f64>,
        theta_percent: Option<f64>,
        /// Time left for the whole study.
        left_s: Option<f64>,
    },
    /// A run ended.
    RunFinished {
        run: RunPlace,
        /// None where nothing was answered.
        tau_ms: Option<f64>,
        p95_ms: Option<f64>,
        /// Whether these are lower bounds.
        lower_bound: bool,
        throughput_per_s: f64,
        theta_percent: Option<f64>,
        /// `settled`, `unstable` or `too-short`.
        stability: String,
        /// Codes of the run's caveats that are doubts or worse.
        caveats: Vec<String>,
    },
    /// A run was disturbed from outside; it is measured once more.
    MeasuredAgain {
        /// With the attempt that begins.
        run: RunPlace,
        steal_percent: Option<f64>,
        other_load_percent: Option<f64>,
    },
    /// A sweep ended where the server carries no more.
    SweepEnded { series: String, reason: String, not_measured_per_s: Vec<f64> },
    /// Records are converted.
    Converting {
        step: String,
        /// Bytes that this step has read.
        bytes: u64,
        /// None of a pipe.
        bytes_total: Option<u64>,
        records: u64,
        rejects: u64,
        bytes_per_s: f64,
        left_s: Option<f64>,
    },
    /// A table is rebuilt.
    Rebuilding {
        table: String,
        /// Done of it, from 0 to 1; none where its new file is not seen.
        share: Option<f64>,
        elapsed_s: f64,
        built_bytes: Option<u64>,
        /// With the tables behind it.
        left_s: Option<f64>,
    },
    /// What is about to happen to a server that others use: statements, connections and rates, on one line.
    Announced { text: String },
    /// Something that the user should know now, as a sentence.
    Warning { text: String },
    /// All is done, or it was stopped.
    Finished {
        runs: u32,
        complete: bool,
        /// Why a study whose runs are chosen one by one has ended.
        ended: Option<String>,
        /// What was written to servers that others use.
        #[serde(skip_serializing_if = "Option::is_none")]
        written: Option<WrittenFile>,
    },
}

/// Translates events of the lab, and remembers what several of them need.
pub struct ProgressEvents {
    labels: Vec<String>,
    clock: Clock,
    data: Option<Fill>,
    run: RunPlace,
    ends_at: Nanos,
    run_lasts: Nanos,
}

struct Fill {
    since: Nanos,
    rows: u64,
    last: Nanos,
}

/// Data work reports after every batch; a view needs no more than this.
const DATA_EVERY: Nanos = Nanos::from_millis(250);

impl ProgressEvents {
    pub fn new(spec: &StudySpec) -> Self {
        let labels = spec.series.iter().map(|series| series.label.clone()).collect();
        Self { labels, ..Self::for_load(spec.warm_up + spec.duration) }
    }

    pub fn for_data() -> Self {
        Self::for_load(Nanos::ZERO)
    }

    pub fn for_load(run_lasts: Nanos) -> Self {
        let (labels, run) = (Vec::new(), RunPlace::default());
        Self { labels, clock: Clock::start(), data: None, run, ends_at: Nanos::ZERO, run_lasts }
    }

    /// The event to show for one of the lab, if there is one.
    pub fn of(&mut self, event: StudyEvent) -> Option<ProgressEvent> {
        Some(match event {
            StudyEvent::Preparing(text) => ProgressEvent::Step { text },
            StudyEvent::Announced(text) => ProgressEvent::Announced { text },
            StudyEvent::Warning(text) => ProgressEvent::Warning { text },
            StudyEvent::Data(progress) => return self.data(&progress),
            StudyEvent::Probed(probe) => ProgressEvent::Probed {
                series: self.labels.get(probe.series).cloned().unwrap_or_default(),
                rate_per_s: probe.rate_per_s,
                throughput_per_s: probe.throughput_per_s,
                theta_percent: probe.theta_percent,
                settled: probe.settled,
            },
            StudyEvent::Planned { folder, cells, runs, done, time_left } => ProgressEvent::Planned {
                folder: folder.display().to_string(),
                cells,
                runs,
                done,
                left_s: Some(time_left.as_secs_f64()),
            },
            StudyEvent::RunBegins { run, time_left } => {
                self.ends_at = self.clock.now() + time_left;
                self.run = run;
                return None;
            }
            StudyEvent::Load { load, theta_percent } => self.running(&load, theta_percent),
            StudyEvent::RunEnds(run) => self.finished(&run),
            StudyEvent::MeasuredAgain { run, because } => ProgressEvent::MeasuredAgain {
                run,
                steal_percent: because.steal,
                other_load_percent: because.other_load,
            },
            StudyEvent::SweepEnds { series, reason, not_measured } => {
                ProgressEvent::SweepEnded { series, reason, not_measured_per_s: not_measured }
            }
            StudyEvent::Ends(summary) => ProgressEvent::Finished {
                runs: summary.runs_done,
                complete: summary.complete,
                ended: summary.ended,
                written: summary.written,
            },
        })
    }

    /// The event to show for the progress of data work, not too often.
    pub fn data(&mut self, progress: &DataProgress) -> Option<ProgressEvent> {
        let now = self.clock.now();
        let fill = self.data.get_or_insert(Fill { since: now, rows: progress.rows_done, last: Nanos::ZERO });
        if now - fill.last < DATA_EVERY {
            return None;
        }
        fill.last = now;
        let elapsed = (now - fill.since).as_secs_f64();
        let moved = progress.rows_done.saturating_sub(fill.rows) as f64;
        let rate = if elapsed > 0.0 { moved / elapsed } else { 0.0 };
        let left = progress.rows_total.saturating_sub(progress.rows_done) as f64;
        Some(ProgressEvent::Populating {
            table: progress.table.to_owned(),
            rows: progress.rows_done,
            rows_total: progress.rows_total,
            rows_per_s: rate,
            left_s: (rate > 0.0).then(|| left / rate),
        })
    }

    fn running(&self, load: &LoadProgress, theta_percent: Option<f64>) -> ProgressEvent {
        let phase = match load.phase {
            LoadPhase::Opening => "opening",
            LoadPhase::WarmUp => "warm-up",
            LoadPhase::Measure => "measure",
            LoadPhase::Drain => "drain",
        };
        ProgressEvent::Running {
            run: self.run.clone(),
            phase: phase.to_owned(),
            tau_ms: load.response_mean.map(Nanos::as_millis_f64),
            theta_percent,
            left_s: (self.run_lasts > Nanos::ZERO).then(|| {
                (self.ends_at.max(self.clock.now() + self.run_lasts - load.elapsed) - self.clock.now())
                    .as_secs_f64()
            }),
        }
    }

    fn finished(&self, run: &RunFile) -> ProgressEvent {
        ProgressEvent::RunFinished {
            run: self.run.clone(),
            tau_ms: run.response.measured().map(|times| times.mean_ms),
            p95_ms: run.response.measured().map(|times| times.p95_ms),
            lower_bound: run.lower_bound,
            throughput_per_s: run.throughput_per_s,
            theta_percent: run.theta.as_ref().map(|theta| theta.total_percent),
            stability: run.stability.to_string(),
            caveats: run
                .caveats
                .iter()
                .filter(|caveat| caveat.severity != Severity::Note)
                .map(|caveat| caveat.code.to_string())
                .collect(),
        }
    }
}
