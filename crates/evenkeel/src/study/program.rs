//! What published studies have done by this program: guards and hosts of shared storage as child processes, and workload files read.

use crate::config::workload;
use crate::failure;
use crate::guard::child::{Child, Spec};
use crate::guard::journal::{Follower, Recorded};
use crate::share::host;
use evenkeel_lab::workload::user::Definition;
use evenkeel_study::published::{Guard, GuardPlan, Host, HostStatus, Program, PublishedError, Result, Tick};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The program that runs now, started again as a child.
pub struct ThisProgram;

impl Program for ThisProgram {
    fn guard(&self, plan: &GuardPlan) -> Result<Box<dyn Guard>> {
        let child = Child::start(&spec(plan)).map_err(outside)?;
        Ok(Box::new(ChildGuard { child, journal: plan.journal.clone(), follower: None }))
    }

    fn host(&self, config: &Path) -> Result<Box<dyn Host>> {
        Ok(Box::new(ChildHost(host::Host::start(config).map_err(outside)?)))
    }

    fn mount(&self, config: &Path, at: &Path) -> Result<Box<dyn Host>> {
        Ok(Box::new(ChildHost(host::Host::mount(config, at).map_err(outside)?)))
    }

    fn workload(&self, file: &str, text: &str) -> Result<Definition> {
        workload::parse(file, text).map_err(outside)
    }
}

/// An error of ours, with what it says of the way out.
fn outside(error: anyhow::Error) -> PublishedError {
    let hint = failure::hint(&error);
    PublishedError::Outside { source: error.into(), hint }
}

fn spec(plan: &GuardPlan) -> Spec {
    // Strings of JSON are strings of TOML.
    let journal = json!(plan.journal.display().to_string());
    let mut settings = format!(
        "[control]\ncontroller = '{}'\ncounters = {}\njournal = {journal}\n",
        plan.controller, plan.counters
    );
    if let Some(limit) = plan.limit {
        settings += &format!("initial_limit = {limit}\nmax_limit = {limit}\n");
    }
    if let Some(span_s) = plan.span_s {
        settings += &format!("reflection_span = '{:.0}ms'\n", 1e3 * span_s);
    }
    Spec { backend: plan.backend.clone(), file: plan.journal.with_extension("toml"), settings }
}

/// A guard as a child, whose ticks are read from its journal.
struct ChildGuard {
    child: Child,
    journal: PathBuf,
    /// Once somebody has asked for ticks.
    follower: Option<Follower>,
}

impl ChildGuard {
    fn new_ticks(&mut self) -> anyhow::Result<Vec<Recorded>> {
        let follower = match self.follower.take() {
            Some(follower) => follower,
            None => Follower::open(&self.journal)?,
        };
        self.follower.insert(follower).ticks()
    }

    fn all_ticks(self) -> anyhow::Result<Vec<Recorded>> {
        self.child.child.stop()?;
        Follower::open(&self.journal)?.ticks()
    }
}

impl Guard for ChildGuard {
    fn address(&self) -> &str {
        &self.child.address
    }

    fn process(&self) -> u32 {
        self.child.child.id().pid.unsigned_abs()
    }

    fn ticks(&mut self) -> Result<Vec<Tick>> {
        self.new_ticks().map(ticks).map_err(outside)
    }

    fn end(self: Box<Self>) -> Result<Vec<Tick>> {
        self.all_ticks().map(ticks).map_err(outside)
    }
}

fn ticks(recorded: Vec<Recorded>) -> Vec<Tick> {
    recorded.into_iter().map(|Recorded { sample, decided, .. }| Tick { sample, decided }).collect()
}

/// A host as a child.
struct ChildHost(host::Host);

impl Host for ChildHost {
    fn nbd(&self) -> &str {
        self.0.nbd()
    }

    fn check(&self) -> Result<()> {
        self.0.check().map_err(outside)
    }

    fn status(&self) -> Result<Option<HostStatus>> {
        self.0.status().map_err(outside)
    }

    fn stop(self: Box<Self>) -> Result<()> {
        self.0.stop().map_err(outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::guard::GuardConfig;
    use crate::config::share::ShareConfig;
    use crate::share::fixture::snapshot;
    use crate::share::metrics::status;
    use evenkeel_lab::workload::user::{NoColumns, UserWorkload};
    use evenkeel_study::published::{DiskFile, HostFile, WindowFile};
    use evenkeel_study::throttling::REREAD_TOML;

    #[test]
    fn what_a_study_writes_is_what_a_host_reads_whatever_the_paths() {
        let folder = Path::new("/a \"b\"\\c");
        let window = WindowFile { law: "parda", threshold_s: 0.025, period_s: 0.5, initial: 8.0, most: 64.0 };
        let disk = DiskFile {
            name: "data".into(),
            backing: folder.join("data.img"),
            size: Some("1M"),
            share: 2.5,
            array: folder.join("array.sim"),
        };
        let file = HostFile {
            name: "host0".into(),
            nbd: Some("127.0.0.1:0"),
            window,
            slots: Some(folder.join("slots")),
            disks: vec![disk.clone(), DiskFile { name: "more".into(), size: None, ..disk }],
        };
        let read = ShareConfig::parse(&file.to_string()).unwrap();
        let window = &read.window;
        assert_eq!((window.law.as_str(), window.initial_window, window.max_window), ("parda", 8.0, 64.0));
        assert_eq!((window.latency.as_secs_f64(), window.period.as_secs_f64()), (0.025, 0.5));
        assert_eq!(read.bus.address.as_deref(), Some("slot:/a \"b\"\\c/slots"));
        assert_eq!((read.disks.len(), read.disks[0].share, read.disks[1].name.as_str()), (2, 2.5, "more"));
        assert_eq!(read.disks[0].simulated.as_deref(), Some(folder.join("array.sim").as_path()));
    }

    #[test]
    fn what_a_host_says_reaches_the_study() {
        let mut status = status(&snapshot());
        status["beta"] = json!(3.0);
        let disk = &mut status["disks"][0];
        (disk["reads"], disk["writes"], disk["wanted"]) = (json!(100), json!(40), json!(8.0));
        let said: HostStatus = serde_json::from_value(status).unwrap();
        assert_eq!((said.window, said.ios_per_s, said.beta), (8.5, 550.0, Some(3.0)));
        let disk = said.disks[0];
        assert_eq!((disk.reads, disk.writes, disk.wanted), (100, 40, 8.0));
    }

    #[test]
    fn the_settings_of_a_guard_are_those_of_its_plan() {
        let read = |plan: &GuardPlan| {
            let addresses = "listen = 'x:1'\nbackend = 'x:2'\n";
            GuardConfig::parse(&format!("{addresses}{}", spec(plan).settings)).unwrap()
        };
        let journal = PathBuf::from("/a \"b\"\\c/guard.jsonl");
        let plan = GuardPlan { controller: "reflection", journal: journal.clone(), ..GuardPlan::default() };
        let spanned = read(&GuardPlan { span_s: Some(6.0), counters: true, ..plan.clone() });
        let spanned = spanned.control;
        assert_eq!((spanned.reflection_span.as_secs_f64(), spanned.counters), (6.0, true));
        assert_eq!((spanned.controller.as_str(), spanned.journal), ("reflection", Some(journal)));
        let free = read(&GuardPlan { limit: Some(4_096), ..plan }).control;
        assert_eq!((free.initial_limit, free.max_limit, free.counters), (4_096, 4_096, false));
    }

    #[test]
    fn the_second_workload_of_throttling_is_whole() {
        let definition = ThisProgram.workload("reread.toml", REREAD_TOML).unwrap();
        let workload = UserWorkload::new(&definition, &mut NoColumns).unwrap();
        assert_eq!(evenkeel_lab::workload::Workload::kinds(&workload), ["reread"]);
    }

    #[test]
    fn an_error_of_ours_keeps_its_way_out() {
        use failure::WithHint;
        let error = Err::<(), _>(anyhow::anyhow!("nobody listens")).hint("start it").unwrap_err();
        let again = anyhow::Error::from(outside(error)).context("measuring");
        assert_eq!(failure::hint(&again).as_deref(), Some("start it"));
        assert!(format!("{again:#}").contains("nobody listens"), "{again:#}");
    }
}
