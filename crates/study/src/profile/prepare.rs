//! What happens once before the rates are known: data, manifest, sizes of pools, preflight.

use super::run::Study;
use super::site::{Ready, Setting};
use super::spec::{PoolSize, SeriesSpec, ServerSpec};
use super::{StudyError, StudyEvent, manifest, preflight};
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
        let explained = manifest::statement_plans(&mut control, workload, &effort, self.stop)?;
        found.plans.extend(explained.iter().map(manifest::plan_record));
        Ok(())
    }

    fn size_pools(&mut self, site: usize, tables_bytes: Option<u64>) -> Result<(), StudyError> {
        for (spec, record) in self.spec.series.iter().zip(&mut self.plan.series) {
            if let (true, Some(size), None) = (spec.site == site, spec.pool, record.pool_bytes) {
                record.pool_bytes = Some(bytes(size, tables_bytes, spec.workload.name())?);
            }
        }
        Ok(())
    }
}

/// What a MariaDB or MySQL server starts with at least: below 5 MiB it refuses, and MariaDB 10.11 with pages of
/// 16 KiB needs 6 MiB in practice.
pub const POOL_BYTES_MIN: u64 = 6 << 20;

/// The server counts its pool in pieces of 1 MiB and rounds up by itself; rounding here makes the plan say what
/// the server does.
const PIECE: u64 = 1 << 20;

/// A pool in bytes, from the bytes of the workload's tables and indexes.
fn bytes(pool: PoolSize, tables_bytes: Option<u64>, workload: &str) -> Result<u64, StudyError> {
    match pool {
        PoolSize::Bytes(bytes) => Ok(bytes),
        PoolSize::Percent(percent) => {
            let tables_bytes =
                tables_bytes.ok_or_else(|| StudyError::UnknownSize { workload: workload.to_owned() })?;
            let exact = tables_bytes as f64 * percent / 100.0;
            let pool_bytes = (exact as u64).div_ceil(PIECE) * PIECE;
            if pool_bytes < POOL_BYTES_MIN {
                return Err(StudyError::SmallPool {
                    percent,
                    tables_bytes,
                    pool_bytes,
                    minimum_bytes: POOL_BYTES_MIN,
                });
            }
            Ok(pool_bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_counts_from_the_tables_and_rounds_up_to_whole_mebibytes() {
        assert_eq!(bytes(PoolSize::Percent(20.0), Some(60 << 20), "w").unwrap(), 12 << 20);
        assert_eq!(bytes(PoolSize::Percent(33.0), Some(60 << 20), "w").unwrap(), 20 << 20);
        assert_eq!(bytes(PoolSize::Bytes(7), None, "w").unwrap(), 7);
    }

    #[test]
    fn a_pool_below_the_minimum_is_refused() {
        let refused = bytes(PoolSize::Percent(20.0), Some(10 << 20), "w").unwrap_err();
        assert!(refused.to_string().contains("below the server's minimum"), "{refused}");
        assert!(matches!(bytes(PoolSize::Percent(20.0), None, "w"), Err(StudyError::UnknownSize { .. })));
    }
}
