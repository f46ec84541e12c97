//! A setting and runs for tests.

use super::figures::kept;
use super::parts;
use super::record::{Figures, Key, Period, Run, Setting};
use crate::harness::{self, FORMAT, Plan};
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

pub fn runs(of: &[Run]) -> Vec<harness::Run> {
    let named = |run: &Run| harness::Run {
        part: format!("most-{}", run.key.most),
        levels: vec![run.key.way.name().to_owned()],
        repeat: run.key.round,
        ..kept(run)
    };
    of.iter().map(named).collect()
}

/// A run with these orders per minute.
pub fn run(way: Treatment, most: u32, round: u32, orders_per_minute: [f64; 2]) -> Run {
    let figures = |orders_per_minute| Figures {
        orders_per_minute,
        standard_error: Some(12.0),
        response_ms: 273.0,
        rolled_back: 3,
        ios_per_s: 600.0,
        latency_ms: Some(14.5),
        window: 8.0,
        wanted: 12.0,
        outstanding: 7.5,
        beta: 1.0,
        ..Figures::default()
    };
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
    Run {
        key: Key { way, most, round },
        hosts: orders_per_minute.map(figures),
        periods: (0..48).map(period).collect(),
        caveats: Vec::new(),
    }
}
