//! A study against real servers: stopped, resumed, damaged.

use super::left_out::left_out;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::rates::RatePlan;
use evenkeel_core::trust::Tolerance;
use evenkeel_lab::data::tpcw::Scale;
use evenkeel_lab::data::{self, DataSpec, Via};
use evenkeel_lab::load::{Protocol, SessionPolicy};
use evenkeel_lab::workload;
use evenkeel_os::stop::Stop;
use evenkeel_sense::waits::ThreadWaits;
use evenkeel_site::copy::Snapshot;
use evenkeel_site::sandbox::{self, Lifetime, Sandbox, SandboxSpec};
use evenkeel_site::server::{Control, Target};
use evenkeel_study::profile::{self, Place, PoolSize, Reset, SeriesSpec, SiteSpec, StudyEvent, StudySpec};
use evenkeel_study::store::format::{
    ClassRecord, LayoutRecord, PlanFile, Process, ResetRecord, RunFile, SettingsRecord, SummaryFile,
    TargetRecord,
};
use evenkeel_study::store::{StoreError, StudyFolder};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command};

pub fn spec(home: &Path, workload: &str, rates: RatePlan) -> StudySpec {
    let scale = Scale::new(1, 1_000).unwrap();
    let data = data_spec();
    StudySpec {
        kind: "profile".into(),
        command: vec!["profile".into()],
        seed: Seed(5),
        process: Process::Poisson,
        rates,
        rate_text: "test".into(),
        repeats: 2,
        duration: Nanos::from_millis(800),
        longest: Nanos::from_millis(800),
        warm_up: Nanos::from_millis(200),
        // A machine that stands still for seconds is no timeout.
        timeout: Nanos::from_secs(60),
        sessions: SessionPolicy::Pooled { max: 16 },
        sessions_fit: false,
        protocol: Protocol::Prepared,
        reset: Reset::Full,
        theta_ceiling_percent: 98.0,
        objective_p95: None,
        tolerance: Tolerance::default(),
        generator_cpus: Vec::new(),
        request_log: true,
        retries: 0,
        budget: None,
        whole_sweep: false,
        sites: vec![SiteSpec {
            sql: Vec::new(),
            target_label: "a".into(),
            place: Place::Sandbox { sandbox: SandboxSpec::new(home, "study"), data: Some(data) },
            elsewhere: None,
        }],
        series: vec![SeriesSpec {
            levels: Default::default(),
            label: "a".into(),
            target: 0,
            site: 0,
            workload: workload::find(workload, scale).unwrap(),
            pool: Some(PoolSize::Bytes(16 << 20)),
            layout: LayoutRecord::Load,
        }],
    }
}

fn data_spec() -> DataSpec {
    let set = Scale::new(1, 1_000).unwrap().into();
    DataSpec { set, seed: Seed(1), today: None, via: Via::Load, threads: 2 }
}

fn settings(spec: &StudySpec) -> SettingsRecord {
    SettingsRecord {
        arrivals: Process::Poisson,
        repeats: spec.repeats,
        duration_s: spec.duration.as_secs_f64(),
        warm_up_s: spec.warm_up.as_secs_f64(),
        timeout_s: spec.timeout.as_secs_f64(),
        sessions: "pooled:16".into(),
        protocol: Protocol::Prepared,
        reset: ResetRecord::Restart,
        theta_ceiling_percent: spec.theta_ceiling_percent,
        objective_p95_ms: None,
        tolerance_se_percent: 5.0,
        tolerance_spread_percent: 20.0,
        generator_cpus: Vec::new(),
        request_log: true,
        retries: spec.retries,
        whole_sweep: spec.whole_sweep,
        longest_s: None,
        until_percent: spec.budget.and_then(|budget| budget.until).map(|until| 100.0 * until),
        within_s: spec.budget.and_then(|budget| budget.within).map(Nanos::as_secs_f64),
    }
}

pub fn folder(root: &Path, spec: &StudySpec) -> StudyFolder {
    let target =
        TargetRecord { label: "a".into(), url: "sandbox:study".into(), cpus: Vec::new(), memory_bytes: None };
    let plan = profile::new_plan(spec, "one".into(), 1, settings(spec), vec![target]);
    StudyFolder::create(root, &plan).unwrap()
}

/// Measures until `runs` runs have ended in this call.
pub fn measure(spec: &StudySpec, folder: &StudyFolder, runs: usize) -> SummaryFile {
    let stop = Stop::default();
    let mut ended = 0;
    profile::run(spec, folder, &stop, &mut |event| {
        if let StudyEvent::RunEnds(_) = event {
            ended += 1;
            if ended == runs {
                stop.set();
            }
        }
    })
    .unwrap()
}

fn keys(folder: &StudyFolder) -> Vec<(u32, u32)> {
    folder.runs().unwrap().iter().map(|run| (run.cell, run.repeat)).collect()
}

#[test]
fn a_stopped_study_goes_on_with_the_same_cells_and_measures_none_twice() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let mut spec = spec(home.path(), "tpcw.complex", RatePlan::List(vec![20.0, 40.0]));
    // Without a warm-up every statement that the server counts is of an arrival that is counted too.
    (spec.duration, spec.warm_up) = (Nanos::from_secs(3), Nanos::ZERO);
    let first = folder(&root, &spec);
    let summary = measure(&spec, &first, 1);
    assert!(!summary.complete);
    assert_eq!(summary.runs_done, 1);
    let cells = first.plan().unwrap().cells;
    let path = first.path().to_owned();
    drop(first);
    // What a kill in the middle of a run leaves.
    std::fs::create_dir(path.join("runs/c02-r2.part")).unwrap();

    let again = StudyFolder::resume(&path).unwrap();
    let summary = measure(&spec, &again, usize::MAX);
    assert!(summary.complete);
    assert_eq!(again.plan().unwrap().cells, cells);
    let keys = keys(&again);
    assert_eq!(keys.len(), 4);
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 4);
    check_runs(&again, &again.plan().unwrap());
    check_damage(&again);
}

/// Every arrival has one of the four ends, every run has its tables, and the pool is as asked for.
fn check_runs(folder: &StudyFolder, plan: &PlanFile) {
    for run in folder.runs().unwrap() {
        let counts = &run.counts;
        let failed: u64 = counts.failed.values().sum();
        assert_eq!(run.batches.iter().map(|batch| batch.arrivals).sum::<u64>(), counts.arrivals);
        assert!(run.batches.len() == 20 && run.relaxations.is_some(), "{:?}", run.relaxations);
        assert_eq!(counts.arrivals, counts.completed + failed + counts.timed_out + counts.unsent);
        assert!(counts.arrivals > 0 && failed == 0, "{counts:?}");
        assert_eq!(run.response.count, counts.arrivals);
        // Looking makes temporary tables of its own, which must not count as the load's.
        assert!(
            run.status.get("Created_tmp_disk_tables").is_none_or(|&made| made == 0.0),
            "{:?}",
            run.status
        );
        let scans = run.status.get("Select_scan").copied().unwrap_or(0.0);
        assert!(scans <= run.counts.arrivals as f64, "{:?}", run.status);
        if let Some(running) = run.gauges.get("Threads_running") {
            assert!(running.mean >= 1.0 && running.max >= running.mean, "{running:?}");
        }
        let dir = folder.path().join(format!("runs/c{:02}-r{}", run.cell, run.repeat));
        for file in ["response.hdr", "intervals.csv", "sense.csv", "requests.csv.zst"] {
            assert!(std::fs::metadata(dir.join(file)).unwrap().len() > 0, "{file}");
        }
    }
    check_observations(&folder.runs().unwrap());
    assert_eq!(plan.series[0].pool_bytes, Some(16 << 20));
    let manifest = folder.manifest().unwrap();
    assert!(manifest.machine.contains_key("hardware_counters"), "counters, or why there are none");
    assert_eq!(manifest.plans[0].class, ClassRecord::Complex);
    assert!(manifest.servers[0].version.contains("MariaDB"));
    assert_eq!(manifest.servers[0].data["num_items"], "1000");
}

/// A machine that stands still lets one run pass unobserved, and says so; not all of them.
fn check_observations(runs: &[RunFile]) {
    let some =
        |what: &str, seen: &dyn Fn(&RunFile) -> bool| assert!(runs.iter().any(seen), "no run has {what}");
    some("a utilisation", &|run| run.theta.is_some());
    some("the server's counters", &|run| run.status.contains_key("Innodb_buffer_pool_reads"));
    some("the server's gauges", &|run| run.gauges.contains_key("Threads_running"));
    let delay = |run: &RunFile| run.mu_ms.as_ref().is_some_and(|mu| mu.mean > 0.0 && mu.se.is_some());
    some("a probe delay, although MariaDB tells how long a statement took", &delay);
    if ThreadWaits::own().is_none() {
        return left_out("the kernel does not tell how long a thread waited for a CPU");
    }
    let waited = |run: &RunFile| {
        let parts = run.mu_ms.as_ref().zip(run.probe_wait_ms.as_ref());
        parts.is_some_and(|(whole, part)| part.n == whole.n && (0.0..whole.mean).contains(&part.mean))
    };
    some("a probe that waited for a CPU for a part of its delay", &waited);
}

fn check_damage(folder: &StudyFolder) {
    assert!(matches!(StudyFolder::resume(folder.path()), Err(StoreError::Locked(_))));
    let damaged = folder.path().join("runs/c01-r1/run.json");
    std::fs::write(&damaged, "{\"format\": 1, \"cell\"").unwrap();
    let error = folder.runs().unwrap_err();
    assert!(error.to_string().contains("c01-r1/run.json"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("folder of that run away")), "{error}");
    std::fs::write(&damaged, "{\"format\": 99}").unwrap();
    assert!(matches!(folder.runs(), Err(StoreError::Newer { found: 99, .. })));
}

#[test]
fn steps_end_where_the_server_carries_no_more_and_write_runs_start_from_the_same_rows() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let mut spec = spec(home.path(), "tpcw.write", RatePlan::Steps { from: 50.0, step: 1_000_000.0 });
    spec.request_log = false;
    let folder = folder(&root, &spec);
    let summary = measure(&spec, &folder, usize::MAX);
    let rates: Vec<f64> = summary.cells.iter().map(|cell| cell.rate_per_s).collect();
    assert_eq!(rates, [50.0, 1_000_050.0], "the sweep ends with the first cell that does not settle");
    let overload = &summary.cells[1];
    assert!(overload.lower_bound && overload.counts.timed_out + overload.counts.unsent > 0, "{overload:?}");
    assert!(summary.cells[0].counts.completed > 0);
    assert_eq!(folder.runs().unwrap().len(), 4);
    assert!(home.path().join("sandboxes/study/snapshot").is_dir());
}

/// Uses a CPU until it is dropped.
struct Neighbour(Child);

impl Neighbour {
    fn move_in() -> Self {
        Self(Command::new("/bin/sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_disturbed_run_is_measured_again_within_bounds_and_never_twice_after_a_resume() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let mut spec = spec(home.path(), "tpcw.simple", RatePlan::List(vec![20.0, 40.0]));
    // Long enough for the neighbour to be seen where the machine stands still for a while.
    (spec.retries, spec.duration) = (1, Nanos::from_secs(4));
    let first = folder(&root, &spec);
    let neighbour = Neighbour::move_in();
    let summary = measure(&spec, &first, usize::MAX);
    drop(neighbour);
    // A third of four runs is one.
    let runs = first.runs().unwrap();
    assert_eq!(runs.iter().map(|run| run.set_aside.len()).sum::<usize>(), 1);
    assert_eq!((runs.len(), summary.runs_done, summary.complete), (4, 4, true));
    let run = runs.iter().find(|run| !run.set_aside.is_empty()).unwrap();
    assert_eq!(run.repeat, 1, "the first block has its share first");
    assert!(run.set_aside[0].disturbance().is_too_large(), "{:?}", run.set_aside);
    assert!(run.disturbance().weight() <= run.set_aside[0].disturbance().weight());
    let again = format!("runs/c{:02}-r1.attempt-2/run.json", run.cell);
    assert!(first.path().join(again).is_file());
    let cell = summary.cells.iter().find(|cell| cell.cell == run.cell).unwrap();
    assert_eq!((cell.runs, cell.attempts_set_aside), (2, 1));
    assert!(cell.caveats.iter().any(|caveat| caveat.code == "measured-again"), "{:?}", cell.caveats);

    let path = first.path().to_owned();
    drop(first);
    std::fs::create_dir(path.join("runs/c01-r2.attempt-2.part")).unwrap();
    let resumed = StudyFolder::resume(&path).unwrap();
    let mut begun = 0;
    let counted = &mut |event| begun += u32::from(matches!(event, StudyEvent::RunBegins { .. }));
    let again = profile::run(&spec, &resumed, &Stop::default(), counted).unwrap();
    assert_eq!((begun, &again), (0, &summary));
    assert!(!path.join("runs/c01-r2.attempt-2.part").exists());
}

#[test]
fn a_list_ends_where_the_server_carries_no_more_also_after_a_stop() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let rates = vec![3_000_000.0, 50.0, 1_000_000.0, 2_000_000.0];
    let mut spec = spec(home.path(), "tpcw.simple", RatePlan::List(rates));
    spec.request_log = false;
    let first = folder(&root, &spec);
    // In the middle of the way up: the second run that has to agree is missing.
    let summary = measure(&spec, &first, 2);
    assert_eq!((summary.runs_done, summary.runs_planned, summary.complete), (2, 8, false));
    let path = first.path().to_owned();
    drop(first);
    let again = StudyFolder::resume(&path).unwrap();
    let summary = measure(&spec, &again, usize::MAX);
    let cells: Vec<(f64, u32)> = summary.cells.iter().map(|cell| (cell.rate_per_s, cell.runs)).collect();
    assert_eq!(cells, [(50.0, 2), (1_000_000.0, 2)]);
    assert_eq!((summary.runs_done, summary.runs_planned, summary.complete), (4, 4, true));
    let told: Vec<&str> = summary.caveats.iter().map(|caveat| &*caveat.code).collect();
    assert_eq!(told, ["rates-not-measured", "first-block-rises"]);
    assert!(summary.caveats[0].text.contains("2000000, 3000000 per second"), "{}", summary.caveats[0].text);
}

#[test]
fn a_whole_sweep_goes_on_above_and_begins_in_random_order() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let rates = RatePlan::List(vec![50.0, 1_000_000.0, 2_000_000.0]);
    let mut spec = StudySpec { whole_sweep: true, repeats: 1, ..spec(home.path(), "tpcw.simple", rates) };
    spec.request_log = false;
    spec.timeout = Nanos::from_secs(1);
    let folder = folder(&root, &spec);
    let summary = measure(&spec, &folder, usize::MAX);
    assert_eq!(summary.cells.len(), 3);
    assert!(summary.complete && summary.caveats.is_empty(), "{:?}", summary.caveats);
}

/// A private server that somebody keeps, with data; it ends with the test.
struct Kept(std::path::PathBuf);

impl Kept {
    fn start(home: &Path) -> Self {
        let spec = SandboxSpec { lifetime: Lifetime::Detached, ..SandboxSpec::new(home, "kept") };
        let server = Sandbox::up(&spec, &Stop::default(), &mut drop).unwrap();
        let target = Target { database: Some(DataSpec::DATABASE.into()), ..server.target() };
        data::populate(&target, &data_spec(), &home.join("dumps"), &Stop::default(), &mut drop).unwrap();
        Self(home.to_owned())
    }

    fn found(&self) -> Sandbox {
        sandbox::find(&self.0, "kept").unwrap()
    }

    /// Whether its rows are those of the seed.
    fn is_untouched(&self) -> bool {
        let target = Target { database: Some(DataSpec::DATABASE.into()), ..self.found().target() };
        data::verify(&target, None).is_ok()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        sandbox::wake(&self.0, "kept", &Stop::default(), &mut drop).unwrap().down(&mut drop).unwrap();
    }
}

fn named(home: &Path, workload: &str) -> StudySpec {
    let mut spec = spec(home, workload, RatePlan::List(vec![20.0, 40.0]));
    spec.sites[0].place =
        Place::Named { home: home.to_owned(), name: "kept".into(), database: DataSpec::DATABASE.into() };
    spec.series[0].pool = None;
    spec
}

#[test]
fn a_named_private_server_is_restarted_for_each_run_and_left_as_it_was_found() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let kept = Kept::start(home.path());
    let before = kept.found().pid();
    let spec = named(home.path(), "tpcw.write");
    let folder = folder(&root, &spec);
    let mut starts = 0;
    let counted = &mut |event| {
        starts += u32::from(matches!(event, StudyEvent::Preparing(text) if text.starts_with("starting")));
    };
    let summary = profile::run(&spec, &folder, &Stop::default(), counted).unwrap();
    assert!(summary.complete && summary.cells.iter().all(|cell| cell.counts.completed > 0), "{summary:?}");
    // Once for preparing, for each of four runs, and to be up in the end.
    assert_eq!(starts, 6);
    assert_ne!(kept.found().pid(), before);
    assert!(kept.is_untouched(), "write runs left something behind");
    assert!(!home.path().join("sandboxes/kept/snapshot").exists());
}

#[test]
fn a_study_that_was_killed_gives_a_named_server_its_data_back_and_keeps_others_off() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let kept = Kept::start(home.path());
    let spec = named(home.path(), "tpcw.write");
    let folder = folder(&root, &spec);
    // What a kill leaves: a copy, a note of whose it is, changed data, and a server that is down.
    kept.found().down(&mut drop).unwrap();
    let dir = home.path().join("sandboxes/kept");
    Snapshot::take(&dir.join("data"), &dir.join("snapshot")).unwrap();
    std::fs::write(dir.join("snapshot.study"), "another").unwrap();
    let refused = profile::run(&spec, &folder, &Stop::default(), &mut drop).unwrap_err();
    assert!(refused.to_string().contains("study another") && refused.hint().is_some(), "{refused}");

    std::fs::write(dir.join("snapshot.study"), "one").unwrap();
    let target = Target { database: Some(DataSpec::DATABASE.into()), ..kept.found().target() };
    Control::connect(&target).unwrap().exec("DELETE FROM order_line").unwrap();
    assert!(!kept.is_untouched());
    kept.found().down(&mut drop).unwrap();
    std::fs::write(dir.join("data/evenkeel-restoring"), "").unwrap();
    let half = sandbox::wake(home.path(), "kept", &Stop::default(), &mut drop).err().unwrap();
    assert!(half.to_string().contains("half restored"), "{half}");
    profile::recover(home.path(), "kept", "one", &Stop::default(), &mut drop).unwrap();
    assert!(kept.is_untouched());
    assert!(measure(&spec, &folder, usize::MAX).complete);
    assert!(kept.is_untouched() && !dir.join("snapshot.study").exists());
}

#[test]
fn a_full_disk_costs_the_run_in_progress_and_no_other() {
    let home = tempfile::tempdir().unwrap();
    let spec = spec(home.path(), "tpcw.simple", RatePlan::List(vec![20.0]));
    let folder = folder(&home.path().join("runs"), &spec);
    let part = folder.path().join("runs/c01-r2.part");
    let no_device = std::cell::OnceCell::new();
    // Writing to a device like /dev/full fails as on a full disk. The end of the server is told before anything is written.
    let fill = &mut |_| {
        let file = part.join("run.json.new");
        if part.is_dir() && !file.exists() {
            let made =
                Command::new("mknod").arg(&file).args(["c", "1", "7"]).output().expect("mknod is there");
            if !made.status.success() {
                let _ = no_device.set(String::from_utf8_lossy(&made.stderr).into_owned());
            }
        }
    };
    let outcome = profile::run(&spec, &folder, &Stop::default(), fill);
    if let Some(why) = no_device.get() {
        return left_out(format!("no device can be made: {why}"));
    }
    let error = outcome.unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    assert!(error.hint().unwrap().contains("--resume"), "{:?}", error.hint());
    assert_eq!(keys(&folder), [(1, 1)]);
    assert!(!part.exists(), "a run that is lost still takes space");
    let summary = measure(&spec, &folder, usize::MAX);
    assert!(summary.complete);
    assert_eq!(keys(&folder), [(1, 1), (1, 2)]);
}
