//! A profile of a virtual server, as it would stand in a folder: what follows from it is found by the code that judges real ones, and
//! the truth is known.

use crate::simulation::{VirtualRun, VirtualServer};
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::stability::Stability;
use evenkeel_core::statistics::Spectrum;
use evenkeel_core::statistics::pooled::length;
use evenkeel_study::profile::NAME;
use evenkeel_study::store::format::{
    BatchRecord, CellRecord, CountsRecord, CpuRecord, FORMAT, PlanFile, RunFile, SeriesRecord,
    SettingsRecord, TargetRecord, TimesRecord, Verdict,
};

#[derive(Clone, Debug, PartialEq)]
pub struct VirtualProfile {
    pub server: VirtualServer,
    /// How much slower each target is than that, as a factor.
    pub targets: Vec<f64>,
    /// How much runs differ in speed: standard deviation of the logarithm.
    pub drift: f64,
    /// Arrival rates as parts of what the first target carries.
    pub loads: Vec<f64>,
    pub repeats: u32,
    /// Length of a run in seconds, and what it grows to near the saturation at most.
    pub seconds: (f64, f64),
}

impl VirtualProfile {
    /// Of a server of one CPU that takes 4 ms for each request, an M/M/1, in five runs of 8 s for each of these parts of what it carries.
    pub fn of_one_cpu(loads: &[f64]) -> Self {
        let (service, none) = (Nanos::from_millis(4), Nanos::ZERO);
        Self {
            server: VirtualServer { cpus: 1, service, unevenness: 1.0, disk: none, delay: none },
            targets: vec![1.0],
            drift: 0.0,
            loads: loads.to_vec(),
            repeats: 5,
            seconds: (8.0, 64.0),
        }
    }

    pub fn rates(&self) -> Vec<f64> {
        let carried = self.server.capacity(self.targets.first().copied().unwrap_or(1.0));
        self.loads.iter().map(|load| load * carried).collect()
    }

    /// Plan and runs of one profile.
    pub fn play(&self, seed: Seed) -> Result<(PlanFile, Vec<RunFile>), RateError> {
        let plan = self.plan(seed);
        let mut runs = Vec::new();
        for cell in &plan.cells {
            for repeat in 1..=self.repeats {
                let own = seed.child("run").numbered(u64::from(cell.id)).numbered(u64::from(repeat));
                runs.push(self.run(cell, repeat, own)?);
            }
        }
        Ok((plan, runs))
    }

    /// A rate, and the response times of a run of a minute at it, which differs in speed as the others do.
    pub fn minute(&self, load: f64, seed: Seed) -> Result<(f64, TimesRecord), RateError> {
        let rate = load * self.server.capacity(self.targets.first().copied().unwrap_or(1.0));
        let slow = (self.drift * Random::new(seed.child("drift")).normal()).exp();
        let found = self.server.run(rate, slow, (15.0, 60.0), seed)?;
        Ok((rate, stored(0, &found, self.server.cpus).response))
    }

    fn plan(&self, seed: Seed) -> PlanFile {
        let count = self.targets.len();
        let label = |at: usize| format!("target {}", at + 1);
        let name = || "virtual".to_owned();
        let target = |at| TargetRecord { label: label(at), url: name(), ..TargetRecord::default() };
        let series =
            |at| SeriesRecord { label: label(at), target: at, workload: name(), ..SeriesRecord::default() };
        let rates = self.rates();
        let cells = (0..count).flat_map(|series| rates.iter().map(move |rate| (series, *rate)));
        PlanFile {
            format: FORMAT,
            id: "virtual".to_owned(),
            kind: NAME.to_owned(),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            seed: seed.0,
            settings: self.settings(),
            targets: (0..count).map(target).collect(),
            series: (0..count).map(series).collect(),
            cells: (1..)
                .zip(cells)
                .map(|(id, (series, rate_per_s))| CellRecord { id, series, rate_per_s })
                .collect(),
            rates_known: true,
            ..PlanFile::default()
        }
    }

    fn settings(&self) -> SettingsRecord {
        SettingsRecord {
            repeats: self.repeats,
            duration_s: self.seconds.0,
            warm_up_s: self.seconds.0 / 4.0,
            timeout_s: 3_600.0,
            sessions: "pooled:1".to_owned(),
            whole_sweep: true,
            longest_s: Some(self.seconds.1),
            ..SettingsRecord::default()
        }
    }

    fn run(&self, cell: &CellRecord, repeat: u32, seed: Seed) -> Result<RunFile, RateError> {
        let drift = (self.drift * Random::new(seed.child("drift")).normal()).exp();
        let slow = self.targets[cell.series] * drift;
        let carried = self.server.capacity(self.targets[cell.series]);
        let long = length(carried, cell.rate_per_s, self.seconds.0);
        let seconds = long.seconds.min(self.seconds.1).max(self.seconds.0).ceil();
        let found = self.server.run(cell.rate_per_s, slow, (seconds / 4.0, seconds), seed)?;
        Ok(RunFile { repeat, ..stored(cell.id, &found, self.server.cpus) })
    }
}

fn verdict(stability: &Stability) -> Verdict {
    match stability {
        Stability::Settled => Verdict::Settled,
        Stability::Unstable(_) => Verdict::Unstable,
        Stability::TooShort { .. } => Verdict::TooShort,
    }
}

fn stored(cell: u32, found: &VirtualRun, cpus: u32) -> RunFile {
    let run = &found.run;
    let batches: Vec<BatchRecord> = run.batches.iter().map(Into::into).collect();
    let count: u64 = batches.iter().map(|batch| batch.completed).sum();
    let sum_ms: f64 = batches.iter().map(|batch| batch.response_sum_ms).sum();
    let all = Spectrum::merged(run.batches.iter().map(|batch| &batch.spectrum));
    let quantile = |quantile: f64| all.quantile(quantile).map_or(0.0, |nanos| nanos / 1e6);
    RunFile {
        format: FORMAT,
        cell,
        attempt: 1,
        measured_s: run.seconds,
        throughput_per_s: run.completions as f64 / run.seconds,
        counts: CountsRecord { arrivals: count, completed: count, ..CountsRecord::default() },
        stability: verdict(&Stability::of(&found.seconds, 0)),
        response: TimesRecord {
            count,
            mean_ms: sum_ms / count.max(1) as f64,
            p50_ms: quantile(0.5),
            p90_ms: quantile(0.9),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            p999_ms: quantile(0.999),
            max_ms: quantile(1.0),
        },
        theta: Some(CpuRecord {
            cpus: f64::from(cpus),
            total_percent: 100.0 * found.busy,
            user_percent: 100.0 * found.busy,
            ..CpuRecord::default()
        }),
        batches,
        ..RunFile::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::size::SizeError;
    use evenkeel_study::profile::trust_limits;
    use evenkeel_study::size::{Sized, sized};

    #[test]
    fn a_steady_server_is_trusted_until_its_queue_grows_and_one_that_varies_for_less() {
        let limit = |drift: f64| {
            let of_one_cpu = VirtualProfile::of_one_cpu(&[0.2, 0.5, 0.7, 1.2]);
            let profile = VirtualProfile { drift, repeats: 8, seconds: (8.0, 24.0), ..of_one_cpu };
            let (plan, runs) = profile.play(Seed(1)).unwrap();
            assert_eq!((plan.cells.len(), runs.len()), (4, 32));
            trust_limits(&plan, &runs).remove(0).1.rate
        };
        assert_eq!(limit(0.0), Some(175.0));
        assert!(limit(0.2).unwrap_or(0.0) < 175.0);
    }

    fn one(loads: &[f64]) -> Sized {
        let (plan, runs) = VirtualProfile::of_one_cpu(loads).play(Seed(1)).unwrap();
        sized(&plan, &runs).remove(0)
    }

    #[test]
    fn a_rate_beyond_the_trust_limit_has_an_interval_and_overload_alone_has_none() {
        let profile = VirtualProfile { repeats: 3, ..VirtualProfile::of_one_cpu(&[0.4, 0.8, 1.3, 1.8]) };
        let (plan, runs) = profile.play(Seed(2)).unwrap();
        let found = sized(&plan, &runs).remove(0);
        assert!(found.limit.rate.is_none_or(|limit| limit < 150.0), "{:?}", found.limit);
        let mean = found.server.unwrap().at(150.0).unwrap().mean;
        assert!(mean.low < 0.01 && 0.01 < mean.high, "{mean:?}");
        let beyond = one(&[1.2, 1.3, 1.4, 1.5]);
        assert_eq!(beyond.server.unwrap_err(), SizeError::NothingSettled);
    }
}
