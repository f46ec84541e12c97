//! Studies with known answers, for tests.

use super::figures::{COUNTERS_REFUSED, SETTLED, SETTLED_AT, WAITED};
use super::parts::{self, Sweep};
use super::record::{Load, MachineRecord, Second, Setting, Settle, StepPlan, Times, Treatment};
use crate::harness::{FORMAT, Plan, Run, Series};

pub fn setting() -> Setting {
    let times = Times { warm_up_s: 1.0, duration_s: 4.0 };
    Setting {
        ebs: 1,
        items: 1_000,
        settle: Settle::of_span(Settle::PUBLISHED_S),
        shopping: times,
        reread: times,
        second: Second::Auto,
        step: StepPlan { clients: (4, 64), before_s: 2.0, after_s: 3.0 },
        server_cpus: "0".to_owned(),
        generator_cpus: "1".to_owned(),
        machine: MachineRecord::default(),
    }
}

/// A plan of three counts, all ways and three repeats.
pub fn plan() -> Plan {
    let sweep = Sweep { clients: vec![1, 8, 64], ways: Treatment::ALL.to_vec(), repeats: 3 };
    Plan {
        format: FORMAT,
        id: "throttling-1".to_owned(),
        kind: super::NAME.to_owned(),
        created_unix_s: 1_795_000_000,
        command: vec!["study".to_owned(), "throttling".to_owned()],
        seed: 1,
        parts: vec![
            parts::of_load(Load::Shopping, &sweep),
            parts::of_step(&setting(), &Treatment::ALL, 2),
            parts::of_load(Load::Reread, &sweep),
        ],
        setting: serde_json::to_value(setting()).expect("it is JSON"),
        ..Plan::default()
    }
}

pub fn is(run: &Run, way: Treatment, clients: u32) -> bool {
    run.levels == [way.name().to_owned(), clients.to_string()]
}

/// A point whose three repeats spread by 1 % around `throughput`.
fn runs(load: Load, way: Treatment, clients: u32, throughput: f64, figures: &[(&str, f64)]) -> Vec<Run> {
    let run = |repeat: u32| {
        let throughput_per_s = throughput * (1.0 + 0.01 * (f64::from(repeat) - 2.0));
        let mut run = Run {
            format: FORMAT,
            part: load.name().to_owned(),
            levels: vec![way.name().to_owned(), clients.to_string()],
            repeat,
            started_unix_s: 1_795_000_000,
            ..Run::default()
        };
        figures.iter().for_each(|(name, value)| run.set(name, *value));
        run.set("throughput_per_s", throughput_per_s);
        run.set("response_mean_ms", 1e3 * f64::from(clients) / throughput_per_s);
        run.set("response_p95_ms", 2e3 * f64::from(clients) / throughput_per_s);
        run.notes.insert(COUNTERS_REFUSED.to_owned(), "the kernel has no such event".to_owned());
        // With most clients the published controller moves until nobody waits any longer.
        if way == Treatment::Reflection {
            let is_settled = clients < 64;
            run.set(SETTLED, f64::from(u8::from(is_settled)));
            run.set(WAITED, if is_settled { 60.0 + f64::from(repeat) } else { 600.0 });
            run.set(SETTLED_AT, 4.0);
        }
        run
    };
    (1..=3).map(run).collect()
}

fn shopping(curves: [(Treatment, [f64; 3]); 4]) -> Vec<Run> {
    let curve = |(way, throughput): (Treatment, [f64; 3])| {
        let mut figures = vec![("cpu_ms_per_commit", 1.0), ("lock_wait_percent", 0.2)];
        figures.extend(way.controller().map(|_| ("limit_mean", 4.0)));
        let points = [1, 8, 64].into_iter().zip(throughput);
        points
            .flat_map(|(clients, height)| runs(Load::Shopping, way, clients, height, &figures))
            .collect::<Vec<_>>()
    };
    curves.into_iter().flat_map(curve).collect()
}

/// A mix that falls by half without control, and keeps 90 % with ours.
pub fn falling() -> Vec<Run> {
    shopping([
        (Treatment::Direct, [400.0, 1_000.0, 500.0]),
        (Treatment::Unlimited, [350.0, 900.0, 450.0]),
        (Treatment::Reflection, [350.0, 900.0, 700.0]),
        (Treatment::Evenkeel, [350.0, 900.0, 900.0]),
    ])
}

/// A mix that does not fall.
pub fn flat() -> Vec<Run> {
    shopping(Treatment::ALL.map(|way| (way, [350.0, 900.0, 890.0])))
}

/// Ranges read again: the pool misses four times as many pages at 64 clients.
pub fn reread() -> Vec<Run> {
    let counts = [(1, 100.0, 50.0), (8, 120.0, 80.0), (64, 40.0, 200.0)];
    let cell = |(clients, throughput, pages): (u32, f64, f64)| {
        let figures = [("pages_read_per_commit", pages), ("lock_wait_percent", 0.0)];
        runs(Load::Reread, Treatment::Direct, clients, throughput, &figures)
    };
    counts.into_iter().flat_map(cell).collect()
}

/// Two runs of a step with ours and one without control.
pub fn steps() -> Vec<Run> {
    let step = |way: Treatment, repeat: u32| Run {
        format: FORMAT,
        part: parts::STEP.to_owned(),
        levels: vec![way.name().to_owned()],
        repeat,
        series: Series {
            columns: ["throughput_per_s", "limit"].map(str::to_owned).to_vec(),
            rows: (1..=5)
                .map(|second| {
                    let limit = if second < 4 { 8.0 } else { 1.0 + 2.0 * f64::from(repeat) };
                    (f64::from(second), vec![Some(900.0), way.controller().map(|_| limit)])
                })
                .collect(),
        },
        ..Run::default()
    };
    vec![step(Treatment::Evenkeel, 1), step(Treatment::Evenkeel, 2), step(Treatment::Direct, 1)]
}
