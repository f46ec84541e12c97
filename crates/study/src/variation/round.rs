//! A run: a load on one server, or the same load on several of them at the same instants.

use super::bed::{Bed, Key, Standing};
use super::figures::{
    AT_ONCE, CARRIED, CPU, CPU_WAIT, DATA_SYNC, DATA_SYNCING, HELD, KEPT_UP, LOCK, LOST, NEIGHBOURS, NETWORK,
    ONE_BY_ONE, RATE, READ, READS, REFUSED, ROWS, STOLEN, SYNC, TAU, THETA, THROUGHPUT, UNDER_WAY,
};
use super::record::Setting;
use crate::harness::{Run, Series};
use crate::profile::{
    Asked, COMMIT_MS, CPU_WAIT_MS, DATA_SYNC_MS, DATA_SYNC_PERCENT, READ_MS, REFUSALS, StudyError,
    TABLE_LOCK_MS, server_measures,
};
use crate::published::{PublishedError, Result, While};
use crate::store::format::{RunFile, Verdict};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_lab::load::{ArrivalPlan, PartsPlan, Together};
use evenkeel_os::Stop;
use std::sync::Arc;
use std::thread;

/// Clients of the first look, which says what a server carries about.
const CLIENTS: u32 = 16;
const LOOK: (Nanos, Nanos) = (Nanos::from_secs(3), Nanos::from_secs(1));

pub(super) struct Round<'a, 'b> {
    pub bed: &'a Bed<'b>,
    pub setting: &'a Setting,
    /// Servers that get the load at once, with the places of their targets.
    pub keys: Vec<Key>,
    pub name: String,
    /// Whether each request opens a session, until the server refuses them.
    pub is_refused: bool,
    pub stop: &'a Stop,
}

impl Round<'_, '_> {
    /// What each of the servers carries about: completions per second of the slowest one. The clients never think, whatever the
    /// workload says.
    pub fn carried(&self) -> Result<Option<f64>> {
        let arrivals = ArrivalPlan::Closed { clients: CLIENTS, think: Some(Nanos::ZERO) };
        let Some(runs) = self.made(&arrivals, LOOK)? else { return Ok(None) };
        Ok(runs.iter().map(|run| run.throughput_per_s).reduce(f64::min))
    }

    /// Load that nobody measures, for a server that has just started.
    pub fn warm_up(&self, rate: f64) -> Result<bool> {
        let time = Nanos::from_secs_f64(self.setting.warm_up_s.max(1.0));
        Ok(self.made(&ArrivalPlan::Poisson(rate), (time, Nanos::ZERO))?.is_some())
    }

    /// The run at a rate; `None` where somebody asked to stop.
    pub fn run(&self, rate: f64, carried: Option<f64>) -> Result<Option<Run>> {
        let times =
            (Nanos::from_secs_f64(self.setting.duration_s), Nanos::from_secs_f64(self.setting.warm_up_s));
        let Some(files) = self.made(&ArrivalPlan::Poisson(rate), times)? else { return Ok(None) };
        let mut run = Run::default();
        run.set(RATE, rate);
        run.set(CARRIED, carried);
        for (at, (key, file)) in self.keys.iter().zip(&files).enumerate() {
            let of_target = self.setting.of_target(key.target);
            figures(&mut run, file, &of_target);
            run.caveats.extend(doubts(file, self.setting, key));
            run.set(&format!("{NEIGHBOURS}{of_target}"), neighbours(&files, at, self.setting));
            let standing = self.bed.standing(key)?;
            standing.note(&mut run, &of_target);
            // By Little's law.
            let under_way = file.throughput_per_s * file.response.mean_ms / 1e3;
            run.set(&format!("{UNDER_WAY}{of_target}"), under_way);
            if let Some(predicted) = standing.predicted() {
                run.set(&format!("{AT_ONCE}{of_target}"), predicted.at_once);
                run.set(&format!("{ONE_BY_ONE}{of_target}"), predicted.one_by_one);
            }
        }
        run.series = series(&files, &self.keys, self.setting);
        Ok(Some(run))
    }

    fn made(
        &self,
        arrivals: &ArrivalPlan,
        (measure, warm_up): (Nanos, Nanos),
    ) -> Result<Option<Vec<RunFile>>> {
        let standing: Result<Vec<&Standing>> = self.keys.iter().map(|key| self.bed.standing(key)).collect();
        let standing = standing?;
        let together = (standing.len() > 1).then(|| Together::of(standing.len()));
        let asked = |standing: &Standing| Asked {
            workload: Arc::clone(&standing.workload),
            arrivals: arrivals.clone(),
            warm_up,
            measure,
            timeout: Nanos::from_secs_f64(self.setting.timeout_s),
            seed: self.bed.seed(&self.name),
            generator_cpus: self.setting.generator_cpus.clone(),
            parts: self.setting.mu_percent.map(|mu| PartsPlan { share: mu / 100.0, server_pid: None }),
            is_refused: self.is_refused && matches!(arrivals, ArrivalPlan::Poisson(_)),
            together: together.clone(),
        };
        let stop = self.stop;
        let all: Vec<Result<Option<RunFile>, StudyError>> = thread::scope(|scope| {
            let begun: Vec<_> = standing
                .iter()
                .map(|standing| {
                    let asked = asked(standing);
                    scope.spawn(move || {
                        let outcome = standing.server.run(&asked, stop);
                        // Whoever cannot begin must not be waited for.
                        if let (Some(together), false) = (&asked.together, matches!(outcome, Ok(Some(_)))) {
                            together.call_off();
                        }
                        outcome
                    })
                })
                .collect();
            begun
                .into_iter()
                .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        self.all_of(all)
    }

    /// The runs of all servers. Of several errors that of who failed first is told, with the name of the server: the others
    /// only waited for it.
    fn all_of(&self, all: Vec<Result<Option<RunFile>, StudyError>>) -> Result<Option<Vec<RunFile>>> {
        let (mut files, mut failed) = (Vec::new(), Vec::new());
        for (key, outcome) in self.keys.iter().zip(all) {
            match outcome {
                Ok(Some(file)) => files.push(file),
                Ok(None) => {}
                Err(error) => failed.push((key, error)),
            }
        }
        let is_cause = |(_, error): &(&Key, StudyError)| !error.is_called_off() && !error.is_stop();
        // A run that is given up because its server died sets the switch too, and is no wish to stop.
        let is_failure = failed.iter().any(|(_, error)| !error.is_called_off() && !error.is_stop());
        if self.stop.is_set() && !is_failure {
            return Ok(None);
        }
        let cause = failed.iter().position(is_cause).or(if failed.is_empty() { None } else { Some(0) });
        if let Some(at) = cause {
            let (key, error) = failed.swap_remove(at);
            let words = self.setting.targets.get(key.target).map(super::record::TargetRecord::words);
            return Err(error).doing(|| format!("measuring {}", words.unwrap_or_default()));
        }
        match files.len() == self.keys.len() {
            true => Ok(Some(files)),
            false => Err(PublishedError::wrong("a load was left out")),
        }
    }
}

/// What speaks against a run, with the name of its server where there are several at once.
fn doubts(file: &RunFile, setting: &Setting, key: &Key) -> Vec<Caveat> {
    let name = setting.targets.get(key.target).filter(|_| setting.duet);
    let which = name.map_or_else(String::new, |target| format!("{}: ", target.name));
    let grave = file.caveats.iter().filter(|caveat| caveat.severity >= Severity::Doubt);
    grave.map(|caveat| caveat.clone().of(&which)).collect()
}

fn figures(run: &mut Run, file: &RunFile, of_target: &str) {
    let measures = server_measures(file);
    let answered = file.response.count > 0;
    let lost = file.counts.arrivals.saturating_sub(file.counts.completed) as f64;
    let arrivals = file.counts.arrivals.max(1) as f64;
    let refused: u64 = REFUSALS.iter().filter_map(|code| file.counts.failed.get(code)).sum();
    let row_locks = measures.get("row_lock_wait_ms_per_request").copied();
    let table_locks = file.sense.get(TABLE_LOCK_MS).copied();
    let held = file.neighbours.as_ref().and_then(|neighbours| neighbours.held_by_quota_percent);
    let figures: [(&str, Option<f64>); 20] = [
        (TAU, answered.then_some(file.response.mean_ms)),
        ("p95_ms", answered.then_some(file.response.p95_ms)),
        (THROUGHPUT, Some(file.throughput_per_s)),
        (THETA, file.theta.as_ref().map(|theta| theta.total_percent)),
        (NETWORK, network_ms(file)),
        (READS, measures.get("pool_reads_per_request").copied()),
        (READ, file.sense.get(READ_MS).copied()),
        (ROWS, measures.get("handler_reads_per_request").copied()),
        (CPU, file.sense.get("server_cpu_us_per_request").copied()),
        (SYNC, file.sense.get(COMMIT_MS).copied()),
        (DATA_SYNC, file.sense.get(DATA_SYNC_MS).copied()),
        (DATA_SYNCING, file.sense.get(DATA_SYNC_PERCENT).copied()),
        (LOCK, row_locks.zip(table_locks).map(|(rows, tables)| rows + tables)),
        (CPU_WAIT, file.sense.get(CPU_WAIT_MS).copied()),
        (HELD, held),
        (STOLEN, file.steal_percent()),
        ("probe_delay_ms", file.mu_ms.as_ref().map(|mu| mu.mean)),
        (LOST, Some(100.0 * lost / arrivals)),
        (REFUSED, Some(100.0 * refused as f64 / arrivals)),
        (KEPT_UP, Some(f64::from(u8::from(file.stability != Verdict::Unstable && !file.lower_bound)))),
    ];
    for (name, value) in figures {
        run.set(&format!("{name}{of_target}"), value);
    }
}

/// What the requests of a run spend between client and server: what the server's own account of them leaves, where it was asked; else that
/// of its probes, without what their threads waited for a CPU, for each statement of a request.
fn network_ms(file: &RunFile) -> Option<f64> {
    if let Some(parts) = &file.parts {
        return parts.means.map(|means| means.network_ms);
    }
    let mu = file.mu_ms.as_ref().filter(|mu| mu.n > 0)?;
    let waited = file.probe_wait_ms.as_ref().map_or(0.0, |waited| waited.mean);
    let statements: u64 = file.statements.iter().map(|statement| statement.completed).sum();
    let each = if file.counts.completed > 0 { statements as f64 / file.counts.completed as f64 } else { 1.0 };
    Some((mu.mean - waited).max(0.0) * each.max(1.0))
}

/// What neighbours took of a server's CPUs. Of several that are asked at once each is a neighbour of the others, and no cause from
/// outside: what they used is taken off, where all of them may use the same CPUs.
fn neighbours(files: &[RunFile], at: usize, setting: &Setting) -> Option<f64> {
    let own = files.get(at)?.neighbours.as_ref()?;
    let share_cpus = |file: &RunFile| {
        file.neighbours.as_ref().is_some_and(|other| other.cpus == own.cpus && own.cpus > 1.0)
            || !setting.server_cpus.is_empty()
    };
    let others = files.iter().enumerate().filter(|(place, file)| *place != at && share_cpus(file));
    let used: f64 = others.filter_map(|(_, file)| Some(file.theta.as_ref()?.total_percent)).sum();
    Some((own.taken_percent - used).max(0.0))
}

/// Requests and sums of response times, batch by batch: what requests of a run vary by.
fn series(files: &[RunFile], keys: &[Key], setting: &Setting) -> Series {
    let names = keys.iter().flat_map(|key| {
        let of_target = setting.of_target(key.target);
        [format!("batch_requests{of_target}"), format!("batch_response_ms{of_target}")]
    });
    let columns: Vec<String> = names.collect();
    let length = files.iter().map(|file| file.batches.len()).min().unwrap_or(0);
    let row = |at: usize| {
        let values = files.iter().flat_map(|file| {
            let batch = &file.batches[at];
            [Some(batch.responses.count() as f64), Some(batch.response_sum_ms)]
        });
        (setting.duration_s * (at as f64 + 0.5) / length.max(1) as f64, values.collect())
    };
    Series { columns, rows: (0..length).map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::format::{CpuRecord, NeighboursRecord};

    fn file(cpus: f64, taken_percent: f64, theta: f64) -> RunFile {
        RunFile {
            neighbours: Some(NeighboursRecord { cpus, taken_percent, ..NeighboursRecord::default() }),
            theta: Some(CpuRecord { total_percent: theta, cpus, ..CpuRecord::default() }),
            ..RunFile::default()
        }
    }

    #[test]
    fn servers_that_are_asked_at_once_are_no_neighbours_from_outside() {
        let both = [file(2.0, 35.0, 40.0), file(2.0, 43.0, 30.0)];
        let setting = Setting::default();
        assert_eq!(neighbours(&both, 0, &setting), Some(5.0));
        assert_eq!(neighbours(&both, 1, &setting), Some(3.0));
        // On one CPU each they do not meet.
        let apart = [file(1.0, 35.0, 40.0), file(1.0, 2.0, 30.0)];
        assert_eq!(neighbours(&apart, 0, &setting), Some(35.0));
        assert_eq!(neighbours(&[RunFile::default()], 0, &setting), None);
    }
}
