//! From the first server to the last run.

use super::measure::{Measured, RunOrder, SENSE_COLUMNS, arrivals, measure};
use super::plans::statement_plans;
use super::search::Search;
use super::site::Site;
use super::spec::{SeriesSpec, StudySpec};
use super::{StudyError, StudyEvent, manifest, order, pool, preflight, summary};
use crate::explain;
use crate::stop::Stop;
use crate::store::format::{
    CellRecord, FORMAT, ManifestFile, PlanFile, ProbeRecord, RunFile, SeriesRecord, SummaryFile,
};
use crate::store::{RunTables, StudyFolder};
use crate::target::{Control, Problem};
use evenkeel_core::Nanos;
use evenkeel_core::rates::{CellOutcome, RatePlan, Sweep};
use evenkeel_core::stability::GIVEN_UP_MAX;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a run costs besides its load: server up and down, on a small machine. Only for the time that is told.
const OVERHEAD: Nanos = Nanos::from_secs(3);

/// Measures what is missing in the folder and returns what follows from all of it. On Ctrl-C the run in progress
/// is given up and the summary is that of the finished ones, marked incomplete.
pub fn run(
    spec: &StudySpec,
    folder: &StudyFolder,
    stop: &Stop,
    tell: &mut dyn FnMut(StudyEvent),
) -> Result<SummaryFile, StudyError> {
    let mut study = Study {
        sites: spec.sites.iter().map(Site::new).collect(),
        plan: folder.plan()?,
        runs: folder.runs()?,
        spec,
        folder,
        stop,
    };
    let outcome = study.all(tell);
    let down = study.all_down(tell);
    match outcome {
        Ok(()) | Err(StudyError::Stopped) => down?,
        Err(error) => return Err(error),
    }
    let summary = summary::summarise(&study.plan, &study.runs);
    folder.write_summary(&summary)?;
    tell(StudyEvent::Ends(Box::new(summary.clone())));
    Ok(summary)
}

struct Study<'a> {
    spec: &'a StudySpec,
    folder: &'a StudyFolder,
    stop: &'a Stop,
    sites: Vec<Site<'a>>,
    plan: PlanFile,
    runs: Vec<RunFile>,
}

type Tell<'a> = &'a mut dyn FnMut(StudyEvent);

impl Study<'_> {
    fn all(&mut self, tell: Tell<'_>) -> Result<(), StudyError> {
        self.prepare(tell)?;
        if !self.plan.rates_known {
            self.find_rates(tell)?;
        }
        self.tell_plan(tell);
        for block in 1..=self.spec.repeats {
            for cell in order::block(&self.plan.cells.clone(), self.spec.seed, block) {
                self.cell(&cell, block, tell)?;
            }
        }
        Ok(())
    }

    /// Data, manifest, sizes of pools, preflight: once for each site.
    fn prepare(&mut self, tell: Tell<'_>) -> Result<(), StudyError> {
        let mut found = ManifestFile { format: FORMAT, ..ManifestFile::default() };
        let mut explained = BTreeSet::new();
        for index in 0..self.sites.len() {
            let series: Vec<&SeriesSpec> =
                self.spec.series.iter().filter(|series| series.site == index).collect();
            let writes = series.iter().any(|series| preflight::writes(series.workload.as_ref()));
            self.sites[index].prepare(writes, self.stop, tell)?;
            let ready = self.sites[index].up(None, self.stop, tell)?;
            let tables: BTreeSet<String> = series
                .iter()
                .flat_map(|series| series.workload.statements())
                .flat_map(|statement| statement.tables.iter().cloned())
                .collect();
            let server = manifest::server(&ready, &tables.into_iter().collect::<Vec<_>>())?;
            for series in series {
                for problem in preflight::check(self.spec, series.workload.as_ref(), &ready.target)? {
                    let Problem { subject, text, hint, .. } = problem;
                    tell(StudyEvent::Warning(format!("{subject}: {text}; {hint}")));
                }
                if explained.insert(series.workload.name().to_owned()) {
                    tell(StudyEvent::Preparing(format!("explaining {}", series.workload.name())));
                    let mut control = Control::connect(&ready.target)?;
                    let effort = explain::Effort {
                        seed: self.spec.seed.child("explain"),
                        ..explain::Effort::default()
                    };
                    found.plans.extend(statement_plans(
                        &mut control,
                        series.workload.as_ref(),
                        &effort,
                        self.stop,
                    )?);
                }
            }
            if found.machine.is_empty() {
                found.machine = manifest::machine(ready.data_dir.as_deref());
            }
            self.sites[index].down(tell)?;
            self.size_pools(index, server.tables_bytes)?;
            found.servers.push(server);
        }
        self.folder.write_manifest(&found)?;
        Ok(self.folder.write_plan(&self.plan)?)
    }

    fn size_pools(&mut self, site: usize, tables_bytes: Option<u64>) -> Result<(), StudyError> {
        for (spec, record) in self.spec.series.iter().zip(&mut self.plan.series) {
            if let (true, Some(size), None) = (spec.site == site, spec.pool, record.pool_bytes) {
                record.pool_bytes = Some(pool::bytes(size, tables_bytes, spec.workload.name())?);
            }
        }
        Ok(())
    }

    /// The rates of every series, series by series. Found rates stand in the plan before the first run of the
    /// next series, so that a kill loses one search at most.
    fn find_rates(&mut self, tell: Tell<'_>) -> Result<(), StudyError> {
        for series in 0..self.spec.series.len() {
            if self.plan.cells.iter().any(|cell| cell.series == series)
                && !matches!(self.spec.rates, RatePlan::Steps { .. })
            {
                continue;
            }
            let saturation =
                if self.spec.rates.needs_saturation() { Some(self.search(series, tell)?) } else { None };
            let sweep = self.spec.rates.sweep(saturation, self.spec.theta_ceiling_percent)?;
            match self.spec.rates {
                RatePlan::Steps { .. } => self.climb(series, sweep, tell)?,
                RatePlan::Auto(_) | RatePlan::List(_) => self.take_all(series, sweep),
            }
            self.folder.write_plan(&self.plan)?;
        }
        self.plan.rates_known = true;
        Ok(self.folder.write_plan(&self.plan)?)
    }

    /// Every rate of a sweep whose rates are known beforehand.
    fn take_all(&mut self, series: usize, mut sweep: Sweep) {
        while let Some(rate) = sweep.rate() {
            order::cell_of(&mut self.plan, series, rate);
            sweep.observe(&CellOutcome { utilisation: None, settled: true, refused: false });
        }
    }

    /// Steps upwards until the sweep ends; each step is the first repeat of its cell.
    fn climb(&mut self, series: usize, mut sweep: Sweep, tell: Tell<'_>) -> Result<(), StudyError> {
        while let Some(rate) = sweep.rate() {
            let cell = order::cell_of(&mut self.plan, series, rate);
            self.folder.write_plan(&self.plan)?;
            self.cell(&cell, 1, tell)?;
            let Some(run) = self.runs.iter().find(|run| run.cell == cell.id && run.repeat == 1) else {
                return Err(StudyError::Stopped);
            };
            sweep.observe(&CellOutcome {
                utilisation: run.theta.as_ref().map(|theta| theta.total_percent),
                settled: settled(run),
                refused: refused(run),
            });
        }
        if let Some(end) = sweep.end() {
            let series = self.plan.series[series].label.clone();
            tell(StudyEvent::SweepEnds { series, reason: end.to_string() });
        }
        Ok(())
    }

    fn search(&mut self, series: usize, tell: Tell<'_>) -> Result<f64, StudyError> {
        let spec = &self.spec.series[series];
        let label = self.plan.series[series].label.clone();
        tell(StudyEvent::Preparing(format!("searching the saturation of {label}")));
        let site = &mut self.sites[spec.site];
        site.reset(&self.spec.reset, preflight::writes(spec.workload.as_ref()), self.stop, tell)?;
        let ready = site.up(self.plan.series[series].pool_bytes, self.stop, tell)?;
        let mut search = Search {
            spec: self.spec,
            series,
            label: &label,
            workload: Arc::clone(&spec.workload),
            ready: &ready,
            stop: self.stop,
            tell,
            probes: Vec::new(),
        };
        let found = search.saturation();
        let probes: Vec<ProbeRecord> = std::mem::take(&mut search.probes);
        self.plan.probes.extend(probes);
        let down = self.sites[spec.site].down(tell);
        let saturation = found?;
        down?;
        Ok(saturation)
    }

    /// One run, unless it is finished already.
    fn cell(&mut self, cell: &CellRecord, repeat: u32, tell: Tell<'_>) -> Result<(), StudyError> {
        if order::finished(&self.runs).contains(&(cell.id, repeat)) {
            return Ok(());
        }
        if self.stop.is_set() {
            return Err(StudyError::Stopped);
        }
        let series = &self.spec.series[cell.series];
        let order = u32::try_from(self.runs.len() + 1).unwrap_or(u32::MAX);
        tell(StudyEvent::RunBegins {
            cell: cell.clone(),
            series: self.plan.series[cell.series].label.clone(),
            repeat,
            order,
            runs: self.runs_planned(),
            time_left: self.time_left(),
        });
        let writes = preflight::writes(series.workload.as_ref());
        self.sites[series.site].reset(&self.spec.reset, writes, self.stop, tell)?;
        let ready = self.sites[series.site].up(self.plan.series[cell.series].pool_bytes, self.stop, tell)?;
        let part = self.folder.begin_run(cell.id, repeat)?;
        let order = RunOrder {
            cell,
            repeat,
            order,
            workload: Arc::clone(&series.workload),
            arrivals: arrivals(self.spec.process, cell.rate_per_s),
            warm_up: self.spec.warm_up,
            measure: self.spec.duration,
            request_log: self.spec.request_log.then(|| part.join("requests.csv.zst")),
        };
        let measured = measure(self.spec, &order, &ready, self.stop, tell);
        // A server that died explains whatever else went wrong.
        self.sites[series.site].check()?;
        let down = self.sites[series.site].down(tell);
        let measured = measured?.ok_or(StudyError::Stopped)?;
        down?;
        self.keep(measured, tell)
    }

    fn keep(&mut self, measured: Measured, tell: Tell<'_>) -> Result<(), StudyError> {
        let Measured { run, load, rows } = measured;
        let tables = RunTables { load: &load, sense_columns: SENSE_COLUMNS.to_vec(), sense: rows };
        self.folder.finish_run(&run, &tables)?;
        self.runs.push(run.clone());
        self.folder.write_summary(&summary::summarise(&self.plan, &self.runs))?;
        tell(StudyEvent::RunEnds(Box::new(run)));
        Ok(())
    }

    fn all_down(&mut self, tell: Tell<'_>) -> Result<(), StudyError> {
        self.sites.iter_mut().map(|site| site.down(tell)).fold(Ok(()), Result::and)
    }

    fn runs_planned(&self) -> u32 {
        u32::try_from(self.plan.cells.len()).unwrap_or(u32::MAX).saturating_mul(self.spec.repeats)
    }

    fn time_left(&self) -> Nanos {
        let left = u64::from(self.runs_planned()).saturating_sub(self.runs.len() as u64);
        Nanos((self.spec.warm_up + self.spec.duration + OVERHEAD).0.saturating_mul(left))
    }

    fn tell_plan(&self, tell: Tell<'_>) {
        tell(StudyEvent::Planned {
            folder: self.folder.path().to_owned(),
            cells: self.plan.cells.len(),
            runs: self.runs_planned(),
            done: u32::try_from(self.runs.len()).unwrap_or(u32::MAX),
            time_left: self.time_left(),
        });
    }
}

/// Whether the server kept up. A run too short for a verdict did not if more was given up than chance explains.
fn settled(run: &RunFile) -> bool {
    let given_up = (run.counts.timed_out + run.counts.unsent) as f64;
    run.stability != "unstable" && given_up <= GIVEN_UP_MAX * run.counts.arrivals as f64
}

/// Whether the server let nobody more in: too many connections (1040, 1203), or none taken at all (2002, 2003).
fn refused(run: &RunFile) -> bool {
    [1040, 1203, 2002, 2003].iter().any(|code| run.counts.failed.get(code).is_some_and(|count| *count > 0))
}

/// The plan of a new study, before any rate is known.
pub fn new_plan(
    spec: &StudySpec,
    id: String,
    created_unix_s: u64,
    settings: crate::store::format::SettingsRecord,
    targets: Vec<crate::store::format::TargetRecord>,
) -> PlanFile {
    PlanFile {
        format: FORMAT,
        id,
        kind: spec.kind.clone(),
        created_unix_s,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        command: spec.command.clone(),
        seed: spec.seed.0,
        settings,
        targets,
        series: spec.series.iter().map(series_record).collect(),
        rate: spec.rate_text.clone(),
        cells: Vec::new(),
        rates_known: false,
        probes: Vec::new(),
    }
}

fn series_record(series: &SeriesSpec) -> SeriesRecord {
    use super::spec::PoolSize;
    SeriesRecord {
        label: series.label.clone(),
        target: series.target,
        workload: series.workload.name().to_owned(),
        pool_bytes: match series.pool {
            Some(PoolSize::Bytes(bytes)) => Some(bytes),
            _ => None,
        },
        pool_percent: match series.pool {
            Some(PoolSize::Percent(percent)) => Some(percent),
            _ => None,
        },
        layout: series.layout.clone(),
    }
}
