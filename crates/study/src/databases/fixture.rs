//! A setting and runs for tests.

use super::contend::{OF_HOST, ratio};
use super::record::Setting;
use super::{NAMES, parts};
use crate::harness::{FORMAT, Plan, Run};
use crate::published::of_hosts;
use evenkeel_core::share::experiment::Treatment;

pub fn setting() -> Setting {
    Setting { clients: 48, warm_up_s: 4.0, duration_s: 8.0, size: "200MB".to_owned(), period_s: 0.5 }
}

pub fn plan() -> Plan {
    let parts = parts(&setting(), &[32, 64], &Treatment::ALL, 2);
    let (id, kind) = ("databases-1".to_owned(), super::NAME.to_owned());
    Plan { format: FORMAT, id, kind, seed: 1, parts, ..Plan::default() }
}

/// A run with these orders per minute.
pub fn run(way: Treatment, most: u32, repeat: u32, orders_per_minute: [f64; 2]) -> Run {
    let period = |number: usize| {
        let window = Some(8.0 + number as f64);
        let own = [window, Some(7.5), Some(12.0), Some(1.0), Some(600.0), (number > 3).then_some(14.5)];
        (0.5 * (1 + number / 2) as f64, number % 2, own)
    };
    let (part, levels) = (format!("most-{most}"), vec![way.name().to_owned()]);
    let series = of_hosts(&NAMES, OF_HOST, (0..48).map(period));
    let mut run = Run { part, levels, repeat, series, ..Run::default() };
    for (name, orders) in NAMES.iter().zip(orders_per_minute) {
        let figures = [("orders_per_minute", orders), ("order_ms", 273.0), ("window", 8.0), ("wanted", 12.0)];
        figures.iter().for_each(|(figure, value)| run.set(&format!("{figure}@{name}"), *value));
    }
    run.set("orders_ratio", ratio(&run));
    run
}
