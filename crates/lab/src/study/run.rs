//! From the first server to the last run.

use super::measure::{Measured, RunOrder, SENSE_COLUMNS, arrivals, measure};
use super::plans::statement_plans;
use super::search::Search;
use super::site::{self, Ready, Site};
use super::spec::{Reset, SeriesSpec, StudySpec};
use super::{StudyError, StudyEvent, judge, manifest, order, pool, preflight, summary};
use crate::explain;
use crate::stop::Stop;
use crate::store::format::{
    CaveatRecord, CellRecord, FORMAT, ManifestFile, PlanFile, ProbeRecord, RunFile, SummaryFile,
};
use crate::store::{RunTables, StudyFolder};
use crate::target::{Control, Problem};
use evenkeel_core::Nanos;
use evenkeel_core::rates::{CellOutcome, RatePlan, Sweep};
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
        caveats: Vec::new(),
        spec,
        folder,
        stop,
    };
    let outcome = study.all(tell);
    let down = study.all_down(tell);
    match outcome {
        Ok(()) => down?,
        Err(error) if error.is_stop() => down?,
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
    /// Doubts that hold for every run.
    caveats: Vec<CaveatRecord>,
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
        for index in 0..self.sites.len() {
            self.prepare_site(index, &mut found, tell)?;
        }
        self.caveats = manifest::caveats(&self.plan, &found);
        let before = self.folder.manifest()?;
        if !before.servers.is_empty() {
            return manifest::same(&before, &found);
        }
        self.folder.write_manifest(&found)?;
        Ok(self.folder.write_plan(&self.plan)?)
    }

    fn prepare_site(
        &mut self,
        index: usize,
        found: &mut ManifestFile,
        tell: Tell<'_>,
    ) -> Result<(), StudyError> {
        let series: Vec<&SeriesSpec> =
            self.spec.series.iter().filter(|series| series.site == index).collect();
        let writes = series.iter().any(|series| preflight::writes(series.workload.as_ref()));
        self.sites[index].prepare(writes, self.stop, tell)?;
        let ready = self.sites[index].up(None, self.stop, tell)?;
        let statements = series.iter().flat_map(|series| series.workload.statements());
        let tables: BTreeSet<String> =
            statements.flat_map(|statement| statement.tables.iter().cloned()).collect();
        let server = manifest::server(&ready, &tables.into_iter().collect::<Vec<_>>())?;
        for series in &series {
            self.look_at(series, &ready, found, tell)?;
        }
        if found.machine.is_empty() {
            found.machine = manifest::machine(&ready);
        }
        self.sites[index].down(tell)?;
        self.size_pools(index, server.tables_bytes)?;
        // One record for each target, in their order, though a target has a site for each layout.
        if series.first().is_some_and(|series| series.target == found.servers.len()) {
            found.servers.push(server);
        }
        Ok(())
    }

    /// Preflight and plans of one series.
    fn look_at(
        &self,
        series: &SeriesSpec,
        ready: &Ready,
        found: &mut ManifestFile,
        tell: Tell<'_>,
    ) -> Result<(), StudyError> {
        let workload = series.workload.as_ref();
        for problem in preflight::check(self.spec, workload, &ready.target)? {
            let Problem { subject, text, hint, .. } = problem;
            tell(StudyEvent::Warning(format!("{subject}: {text}; {hint}")));
        }
        let statements: Vec<&str> =
            workload.statements().iter().map(|statement| statement.name.as_str()).collect();
        if found.plans.iter().any(|plan| statements.contains(&plan.statement.as_str())) {
            return Ok(());
        }
        tell(StudyEvent::Preparing(format!("explaining {}", workload.name())));
        let mut control = Control::connect(&ready.target)?;
        let effort = explain::Effort { seed: self.spec.seed.child("explain"), ..explain::Effort::default() };
        found.plans.extend(statement_plans(&mut control, workload, &effort, self.stop)?);
        Ok(())
    }

    fn size_pools(&mut self, site: usize, tables_bytes: Option<u64>) -> Result<(), StudyError> {
        for (spec, record) in self.spec.series.iter().zip(&mut self.plan.series) {
            if let (true, Some(size), None) = (spec.site == site, spec.pool, record.pool_bytes) {
                record.pool_bytes = Some(pool::bytes(size, tables_bytes, spec.workload.name())?);
            }
        }
        Ok(())
    }

    /// The rates of every series. Found rates stand in the plan before those of the next series are searched, so
    /// that a kill loses one search at most.
    fn find_rates(&mut self, tell: Tell<'_>) -> Result<(), StudyError> {
        for series in 0..self.spec.series.len() {
            let is_open_ended = matches!(self.spec.rates, RatePlan::Steps { .. });
            if self.plan.cells.iter().any(|cell| cell.series == series) && !is_open_ended {
                continue;
            }
            let targets = self.same_but_target(series);
            let saturation = match self.spec.rates.needs_saturation() {
                true => Some(self.lowest_saturation(&targets, tell)?),
                false => None,
            };
            let sweep = self.spec.rates.sweep(saturation, self.spec.theta_ceiling_percent)?;
            match self.spec.rates {
                RatePlan::Steps { .. } => self.climb(series, sweep, tell)?,
                RatePlan::Auto(_) | RatePlan::List(_) => {
                    targets.into_iter().for_each(|series| self.take_all(series, sweep.clone()));
                }
            }
            self.folder.write_plan(&self.plan)?;
        }
        self.plan.rates_known = true;
        Ok(self.folder.write_plan(&self.plan)?)
    }

    /// This series and those that differ from it in the target alone.
    fn same_but_target(&self, series: usize) -> Vec<usize> {
        let all = &self.plan.series;
        (0..all.len()).filter(|other| all[*other].same_but_target(&all[series])).collect()
    }

    /// Targets are compared rate by rate, so they share their rates: those around the lowest saturation.
    fn lowest_saturation(&mut self, series: &[usize], tell: Tell<'_>) -> Result<f64, StudyError> {
        let mut lowest = f64::INFINITY;
        for one in series {
            lowest = lowest.min(self.search(*one, tell)?);
        }
        Ok(lowest)
    }

    /// Every rate of a sweep whose rates are known beforehand.
    fn take_all(&mut self, series: usize, mut sweep: Sweep) {
        while let Some(rate) = sweep.rate() {
            order::cell_of(&mut self.plan, series, rate);
            sweep.observe(&CellOutcome { utilisation: None, settled: true, refused: false });
        }
    }

    /// Steps upwards until the sweep ends; each step is the first repeat of its cell. One run may be called
    /// unstable by chance, so a second one has to agree.
    fn climb(&mut self, series: usize, mut sweep: Sweep, tell: Tell<'_>) -> Result<(), StudyError> {
        while let Some(rate) = sweep.rate() {
            let cell = order::cell_of(&mut self.plan, series, rate);
            self.folder.write_plan(&self.plan)?;
            let mut run = self.cell(&cell, 1, tell)?;
            if !judge::settled(&run) && self.spec.repeats > 1 {
                run = self.cell(&cell, 2, tell)?;
            }
            sweep.observe(&CellOutcome {
                utilisation: run.theta.as_ref().map(|theta| theta.total_percent),
                settled: judge::settled(&run),
                refused: judge::refused(&run),
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
        if preflight::writes(spec.workload.as_ref()) {
            site::mark_written(&ready.target)?;
        }
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

    /// One run; one that is finished already is not made again.
    fn cell(&mut self, cell: &CellRecord, repeat: u32, tell: Tell<'_>) -> Result<RunFile, StudyError> {
        if let Some(run) = self.runs.iter().find(|run| (run.cell, run.repeat) == (cell.id, repeat)) {
            return Ok(run.clone());
        }
        if self.stop.is_set() {
            return Err(StudyError::Stopped);
        }
        let order = u32::try_from(self.runs.len() + 1).unwrap_or(u32::MAX);
        tell(StudyEvent::RunBegins {
            cell: cell.clone(),
            series: self.plan.series[cell.series].label.clone(),
            repeat,
            order,
            runs: self.runs_planned(),
            time_left: self.time_left(),
        });
        let site = self.spec.series[cell.series].site;
        let ready = self.cold_server(cell, tell)?;
        let part = self.folder.begin_run(cell.id, repeat)?;
        let order = RunOrder {
            cell,
            repeat,
            order,
            workload: Arc::clone(&self.spec.series[cell.series].workload),
            arrivals: arrivals(self.spec.process, cell.rate_per_s),
            warm_up: self.spec.warm_up,
            measure: self.spec.duration,
            request_log: self.spec.request_log.then(|| part.join("requests.csv.zst")),
        };
        let measured = measure(self.spec, &order, &ready, self.stop, tell);
        // A server that died explains whatever else went wrong.
        self.sites[site].check()?;
        let down = match self.spec.reset {
            Reset::Nothing => Ok(()),
            Reset::Full | Reset::Command(_) => self.sites[site].down(tell),
        };
        let measured = measured?.ok_or(StudyError::Stopped)?;
        down?;
        self.keep(measured, tell)
    }

    /// The server of a cell, reset as the study asks for, and no other private server beside it.
    fn cold_server(&mut self, cell: &CellRecord, tell: Tell<'_>) -> Result<Ready, StudyError> {
        let series = &self.spec.series[cell.series];
        for (index, site) in self.sites.iter_mut().enumerate() {
            if index != series.site {
                site.down(tell)?;
            }
        }
        let writes = preflight::writes(series.workload.as_ref());
        let site = &mut self.sites[series.site];
        site.reset(&self.spec.reset, writes, self.stop, tell)?;
        let ready = site.up(self.plan.series[cell.series].pool_bytes, self.stop, tell)?;
        if writes {
            site::mark_written(&ready.target)?;
        }
        Ok(ready)
    }

    fn keep(&mut self, measured: Measured, tell: Tell<'_>) -> Result<RunFile, StudyError> {
        let Measured { mut run, load, rows } = measured;
        run.caveats.extend_from_slice(&self.caveats);
        let tables = RunTables { load: &load, sense_columns: SENSE_COLUMNS.to_vec(), sense: rows };
        self.folder.finish_run(&run, &tables)?;
        self.runs.push(run.clone());
        self.folder.write_summary(&summary::summarise(&self.plan, &self.runs))?;
        tell(StudyEvent::RunEnds(Box::new(run.clone())));
        Ok(run)
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
