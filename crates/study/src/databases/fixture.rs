//! A setting and runs for tests.

use super::contend::ratio;
use super::figures::series;
use super::record::{Period, Setting};
use super::{NAMES, parts};
use crate::harness::{FORMAT, Plan, Run};
use evenkeel_core::share::experiment::Treatment;

pub fn setting() -> Setting {
    Setting { clients: 48, warm_up_s: 4.0, duration_s: 8.0, size: "200MB".to_owned(), period_s: 0.5 }
}

pub fn plan() -> Plan {
    Plan {
        format: FORMAT,
        id: "databases-1".to_owned(),
        kind: super::NAME.to_owned(),
        seed: 1,
        parts: parts(&setting(), &[32, 64], &Treatment::ALL, 2),
        ..Plan::default()
    }
}

/// A run with these orders per minute.
pub fn run(way: Treatment, most: u32, round: u32, orders_per_minute: [f64; 2]) -> Run {
    let period = |number: usize| Period {
        at_s: 0.5 * (1 + number / 2) as f64,
        host: number % 2,
        window: 8.0 + number as f64,
        outstanding: 7.5,
        wanted: 12.0,
        beta: 1.0,
        ios_per_s: 600.0,
        latency_s: (number > 3).then_some(0.0145),
    };
    let mut run = Run {
        part: format!("most-{most}"),
        levels: vec![way.name().to_owned()],
        repeat: round,
        series: series(&(0..48).map(period).collect::<Vec<_>>()),
        ..Run::default()
    };
    for (name, orders) in NAMES.iter().zip(orders_per_minute) {
        for (figure, value) in [
            ("orders_per_minute", orders),
            ("orders_per_minute_se", 12.0),
            ("order_ms", 273.0),
            ("rolled_back", 3.0),
            ("lost", 0.0),
            ("ios_per_s", 600.0),
            ("latency_ms", 14.5),
            ("window", 8.0),
            ("wanted", 12.0),
            ("outstanding", 7.5),
            ("beta", 1.0),
        ] {
            run.set(&format!("{figure}@{name}"), value);
        }
    }
    run.set("orders_ratio", ratio(&run));
    run
}
