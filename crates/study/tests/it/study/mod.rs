//! A study against real servers: stopped, resumed, damaged.

mod named;
mod resumed;
mod sweep;

use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::rates::RatePlan;
use evenkeel_lab::data::tpcw::Scale;
use evenkeel_lab::data::{DataSpec, Via};
use evenkeel_lab::load::{Protocol, SessionPolicy};
use evenkeel_lab::workload;
use evenkeel_os::Stop;
use evenkeel_site::sandbox::SandboxSpec;
use evenkeel_study::profile::{
    self, PoolSize, Reset, SeriesSpec, ServerSpec, SiteSpec, StudyEvent, StudySpec,
};
use evenkeel_study::store::StudyFolder;
use evenkeel_study::store::format::{SummaryFile, TargetRecord};
use std::path::Path;

pub fn spec(home: &Path, workload: &str, rates: RatePlan) -> StudySpec {
    let scale = Scale::new(1, 1_000).unwrap();
    let data = data_spec();
    StudySpec {
        kind: "profile".into(),
        command: vec!["profile".into()],
        seed: Seed(5),
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
        objective_p95: None,
        generator_cpus: Vec::new(),
        parts: None,
        retries: 0,
        budget: None,
        whole_sweep: false,
        sites: vec![SiteSpec {
            sql: Vec::new(),
            target_label: "a".into(),
            place: ServerSpec::Sandbox { sandbox: SandboxSpec::new(home, "study"), data: Some(data) },
            elsewhere: None,
            of_others: false,
        }],
        series: vec![SeriesSpec {
            levels: Default::default(),
            label: "a".into(),
            target: 0,
            site: 0,
            workload: workload::find(workload, scale).unwrap(),
            pool: Some(PoolSize::Bytes(16 << 20)),
            disk: Default::default(),
            layout: "load".to_owned(),
        }],
    }
}

fn data_spec() -> DataSpec {
    let set = Scale::new(1, 1_000).unwrap().into();
    DataSpec { set, seed: Seed(1), today: None, via: Via::Load, threads: 2 }
}

pub fn folder(root: &Path, spec: &StudySpec) -> StudyFolder {
    let target =
        TargetRecord { label: "a".into(), url: "sandbox:study".into(), cpus: Vec::new(), memory_bytes: None };
    let plan = profile::new_plan(spec, "one".into(), 1, vec![target]);
    StudyFolder::create_for(root, &plan.id, &plan).unwrap()
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
