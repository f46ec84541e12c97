//! Studies with known answers, for tests.

use super::record::{
    FORMAT, Figures, Key, Load, Place, PlanFile, PointFile, Second, Settle, Settling, StepFile, StepPlan,
    StepSecond, Sweep, Way,
};

/// A plan of three counts, all ways and three repeats.
pub fn plan() -> PlanFile {
    let sweep = |load| Sweep {
        load,
        clients: vec![1, 8, 64],
        ways: Way::ALL.to_vec(),
        repeats: 3,
        warm_up_s: 1.0,
        duration_s: 4.0,
    };
    PlanFile {
        format: FORMAT,
        id: "throttling-1".to_owned(),
        created_unix_s: 1_795_000_000,
        command: vec!["study".to_owned(), "throttling".to_owned()],
        quick: true,
        seed: 1,
        ebs: 1,
        items: 1_000,
        settle: Some(Settle::of_span(Settle::PUBLISHED_S)),
        shopping: sweep(Load::Shopping),
        reread: sweep(Load::Reread),
        second: Second::Auto,
        step: StepPlan { clients: (4, 64), ways: Way::ALL.to_vec(), repeats: 2, before_s: 2.0, after_s: 3.0 },
        place: Place { server_cpus: "0".to_owned(), generator_cpus: "1".to_owned(), ..Place::default() },
    }
}

/// A point whose three repeats spread by 1 % around `throughput`.
fn runs(load: Load, way: Way, clients: u32, throughput: f64, figures: Figures) -> Vec<PointFile> {
    let run = |repeat: u32| {
        let throughput_per_s = throughput * (1.0 + 0.01 * (f64::from(repeat) - 2.0));
        PointFile {
            format: FORMAT,
            key: Key { load, way, clients, repeat },
            started_unix_s: 1_795_000_000,
            measured_s: 4.0,
            arrivals: (throughput_per_s * 4.0) as u64,
            completed: (throughput_per_s * 4.0) as u64,
            deadlocks: 0,
            failed: 0,
            lost: 0,
            figures: Figures {
                throughput_per_s,
                response_mean_ms: 1e3 * f64::from(clients) / throughput_per_s,
                response_p95_ms: 2e3 * f64::from(clients) / throughput_per_s,
                ..figures
            },
            counters_refused: Some("the kernel has no such event".to_owned()),
            // With most clients the published rule moves until nobody waits any longer.
            settling: (way == Way::Reflection).then_some(Settling {
                settled: clients < 64,
                waited_s: if clients < 64 { 60.0 + f64::from(repeat) } else { 600.0 },
                limit: 4,
            }),
        }
    };
    (1..=3).map(run).collect()
}

fn shopping(curves: [(Way, [f64; 3]); 4]) -> Vec<PointFile> {
    let figures = |way: Way| Figures {
        cpu_ms: Some(1.0),
        lock_wait_percent: Some(0.2),
        limit_mean: way.controller().map(|_| 4.0),
        ..Figures::default()
    };
    let curve = |(way, throughput): (Way, [f64; 3])| {
        let points = [1, 8, 64].into_iter().zip(throughput);
        points
            .flat_map(|(clients, height)| runs(Load::Shopping, way, clients, height, figures(way)))
            .collect()
    };
    curves.into_iter().flat_map(|each| -> Vec<PointFile> { curve(each) }).collect()
}

/// A mix that falls by half without control, and keeps 90 % with ours.
pub fn falling() -> Vec<PointFile> {
    shopping([
        (Way::Direct, [400.0, 1_000.0, 500.0]),
        (Way::Unlimited, [350.0, 900.0, 450.0]),
        (Way::Reflection, [350.0, 900.0, 700.0]),
        (Way::Evenkeel, [350.0, 900.0, 900.0]),
    ])
}

/// A mix that does not fall.
pub fn flat() -> Vec<PointFile> {
    shopping([
        (Way::Direct, [400.0, 1_000.0, 980.0]),
        (Way::Unlimited, [350.0, 900.0, 890.0]),
        (Way::Reflection, [350.0, 900.0, 900.0]),
        (Way::Evenkeel, [350.0, 900.0, 900.0]),
    ])
}

/// Ranges read again: the pool misses four times as many pages at 64 clients.
pub fn reread() -> Vec<PointFile> {
    let counts = [(1, 100.0, 50.0), (8, 120.0, 80.0), (64, 40.0, 200.0)];
    let cell = |(clients, throughput, pages): (u32, f64, f64)| {
        let figures = Figures { pages_read: Some(pages), lock_wait_percent: Some(0.0), ..Figures::default() };
        runs(Load::Reread, Way::Direct, clients, throughput, figures)
    };
    counts.into_iter().flat_map(cell).collect()
}

/// Two runs of a step with ours and one without control.
pub fn steps() -> Vec<StepFile> {
    let step = |way: Way, repeat: u32| StepFile {
        format: FORMAT,
        way,
        repeat,
        step_at_s: 2.0,
        seconds: (1..=5)
            .map(|second| StepSecond {
                at_s: f64::from(second),
                throughput_per_s: 900.0,
                limit: way.controller().map(|_| if second < 4 { 8.0 } else { 1.0 + 2.0 * f64::from(repeat) }),
            })
            .collect(),
    };
    vec![step(Way::Evenkeel, 1), step(Way::Evenkeel, 2), step(Way::Direct, 1)]
}
