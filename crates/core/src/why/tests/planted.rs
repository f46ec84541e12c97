//! Runs of two servers that are alike, and what is planted into the first.

use super::super::*;
use crate::random::{Random, Seed};

const STARTS: u32 = 5;
pub(super) const RUNS: u32 = 3;

/// What one of two alike servers has, and what is planted into the first.
#[derive(Clone, Copy, Default)]
pub(super) struct Planted {
    pub network_ms: f64,
    pub read_ms: f64,
    pub reads: f64,
    pub rows: f64,
    pub plan: u64,
    pub neighbours: f64,
    pub sync_ms: f64,
    /// What a sync of a data file takes more; one is under way for 40 % of the time.
    pub data_sync_ms: f64,
    pub lock_ms: f64,
    pub work_ms: f64,
    pub waits_ms: f64,
    pub held: f64,
    pub theta: f64,
    pub stolen: f64,
    /// Standard deviation of starts, ms.
    pub start_ms: f64,
    /// What its time takes more for reasons that nobody sees.
    pub unseen_ms: f64,
}

pub(super) fn alike() -> Facts {
    Facts {
        plans: Compared::Alike("plans are the same".into()),
        pages: Compared::Alike("pages lie alike".into()),
        pools_differ: false,
        by_probes: false,
        side_by_side: false,
    }
}

pub(super) fn elsewhere() -> Facts {
    Facts { pages: Compared::Different("0.03 against 0.99 of its leaves are in order".into()), ..alike() }
}

pub(super) fn runs(planted: Planted, seed: u64) -> Vec<Observation> {
    let mut random = Random::new(Seed(seed));
    let mut found = Vec::new();
    for start in 1..=STARTS {
        let day = 0.5 * random.normal();
        for target in 0..2 {
            let has = if target == 0 {
                planted
            } else {
                Planted { start_ms: planted.start_ms, ..Planted::default() }
            };
            let own = has.start_ms * random.normal();
            for run in 1..=RUNS {
                let (reads, read_ms) =
                    (20.0 + has.reads + 0.3 * random.normal(), 0.1 + has.read_ms + 0.003 * random.normal());
                let network_ms = 0.2 + has.network_ms + 0.02 * random.normal();
                let rest = 3.0
                    + day
                    + own
                    + has.unseen_ms
                    + has.sync_ms
                    + has.lock_ms
                    + has.work_ms
                    + has.waits_ms
                    + 0.05 * has.neighbours
                    + has.rows / 100.0
                    + 0.1 * random.normal();
                let seen = Seen {
                    network_ms: Some(network_ms),
                    reads: Some(reads),
                    predicted: Some((20.0 + 0.9 * has.reads, 30.0 + 1.2 * has.reads)),
                    under_way: Some(30.0),
                    read_ms: Some(read_ms),
                    rows: Some(500.0 + has.rows + random.normal()),
                    sync_ms: Some(0.8 + has.sync_ms + 0.05 * random.normal()),
                    data_sync_ms: Some(4.0 + has.data_sync_ms + 0.2 * random.normal()),
                    data_sync_percent: Some(if has.data_sync_ms > 0.0 { 40.0 } else { 8.0 }),
                    lock_ms: Some(has.lock_ms),
                    cpu_ms: Some(1.0 + has.work_ms + 0.02 * random.normal()),
                    held_percent: Some(has.held),
                    cpu_wait_ms: Some(0.1 + has.waits_ms + 0.02 * random.normal()),
                    theta_percent: Some(10.0 + has.theta),
                    stolen_percent: Some((1.0 + has.stolen + 0.3 * random.normal()).max(0.0)),
                    neighbours_percent: Some((4.0 + has.neighbours + random.normal()).max(0.0)),
                    plan: Some(has.plan),
                };
                found.push(Observation {
                    target,
                    start,
                    run,
                    tau_ms: rest + network_ms + reads * read_ms,
                    seen,
                });
            }
        }
    }
    found
}

pub(super) fn names() -> Vec<String> {
    vec!["a".to_owned(), "b".to_owned()]
}

pub(super) fn why(planted: Planted, facts: &Facts, seed: u64) -> Why {
    Why::of(&runs(planted, seed), facts, &names()).expect("there are runs")
}

pub(super) fn on(why: &Why, suspect: Suspect) -> &Verdict {
    why.verdicts.iter().find(|one| one.suspect == suspect).expect("a verdict on each")
}
