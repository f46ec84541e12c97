//! What happens once before the rates are known: data, manifest, sizes of pools, preflight.

use super::run::Study;
use super::site::{Ready, Setting};
use super::spec::{SeriesSpec, ServerSpec};
use super::{StudyError, StudyEvent, manifest, plans, pool, preflight};
use crate::store::format::{FORMAT, ManifestFile};
use evenkeel_lab::explain;
use evenkeel_site::sandbox::{self, DiskLimit};
use evenkeel_site::server::{Control, Problem};
use std::collections::BTreeSet;

impl Study<'_> {
    /// Data, manifest, sizes of pools, preflight: once for each site.
    pub(super) fn prepare(&mut self) -> Result<(), StudyError> {
        self.prove_disks()?;
        let mut found = ManifestFile { format: FORMAT, ..ManifestFile::default() };
        for index in 0..self.sites.len() {
            self.prepare_site(index, &mut found)?;
        }
        self.caveats = manifest::caveats(&self.plan, &found);
        let before = self.folder.manifest()?;
        if !before.servers.is_empty() {
            return manifest::same(&before, &found);
        }
        self.folder.write("manifest.json", &found)?;
        Ok(self.folder.write("plan.json", &self.plan)?)
    }

    /// Tries each limit of a disk before any data is made for it.
    fn prove_disks(&mut self) -> Result<(), StudyError> {
        let mut proved: Vec<DiskLimit> = vec![DiskLimit::default()];
        for series in &self.spec.series {
            let ServerSpec::Sandbox { sandbox, .. } = &self.spec.sites[series.site].place else { continue };
            if proved.contains(&series.disk) {
                continue;
            }
            let found = sandbox::try_disk(&sandbox.home, series.disk)?;
            (self.tell)(StudyEvent::Preparing(format!("the disk limited to {}: {found}", series.disk)));
            proved.push(series.disk);
        }
        Ok(())
    }

    fn prepare_site(&mut self, index: usize, found: &mut ManifestFile) -> Result<(), StudyError> {
        let series: Vec<&SeriesSpec> =
            self.spec.series.iter().filter(|series| series.site == index).collect();
        let writes = series.iter().any(|series| series.writes());
        self.sites[index].prepare(&self.plan.identity(), writes, self.stop, self.tell)?;
        let ready = self.sites[index].up(Setting::default(), self.stop, self.tell)?;
        let statements = series.iter().flat_map(|series| series.workload.statements());
        let tables: BTreeSet<String> =
            statements.flat_map(|statement| statement.tables.iter().cloned()).collect();
        let server = manifest::server(&ready, &tables.into_iter().collect::<Vec<_>>(), self.stop)?;
        for series in &series {
            self.look_at(series, &ready, found)?;
        }
        // What was explained by then is not all, and a manifest is written once.
        if self.stop.is_set() {
            return Err(StudyError::Stopped);
        }
        if found.machine.is_empty() {
            found.machine = manifest::machine(&ready);
        }
        if let Some(elsewhere) = &ready.elsewhere {
            found.sensed.insert(self.spec.sites[index].target_label.clone(), elsewhere.words());
            if let Some(doubt) = elsewhere.doubt() {
                (self.tell)(StudyEvent::Warning(doubt));
            }
        }
        self.sites[index].down(self.tell)?;
        self.size_pools(index, server.tables_bytes)?;
        // One record for each target, in their order, though a target has a site for each layout.
        if series.first().is_some_and(|series| series.target == found.servers.len()) {
            found.servers.push(server);
        }
        Ok(())
    }

    /// Preflight and plans of one series.
    fn look_at(
        &mut self,
        series: &SeriesSpec,
        ready: &Ready,
        found: &mut ManifestFile,
    ) -> Result<(), StudyError> {
        let workload = series.workload.as_ref();
        let (problems, announced) = preflight::check(self.spec, workload, ready, self.stop)?;
        if ready.of_others {
            (self.tell)(StudyEvent::Announced(announced));
        }
        for problem in problems {
            let Problem { subject, text, hint, .. } = problem;
            (self.tell)(StudyEvent::Warning(format!("{subject}: {text}; {hint}")));
        }
        let statements: Vec<&str> =
            workload.statements().iter().map(|statement| statement.name.as_str()).collect();
        if found.plans.iter().any(|plan| statements.contains(&plan.statement.as_str())) {
            return Ok(());
        }
        (self.tell)(StudyEvent::Preparing(format!("explaining {}", workload.name())));
        let mut control = Control::connect_until(&ready.target, self.stop)?;
        let effort = explain::Effort { seed: self.spec.seed.child("explain"), ..explain::Effort::default() };
        let explained = plans::all(&mut control, workload, &effort, self.stop)?;
        found.plans.extend(explained.iter().map(plans::plan_record));
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
}
