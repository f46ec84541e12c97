//! One random array and mix of hosts, period by period: what to look at where one has diverged.

use anyhow::Result;
use evenkeel_core::random::Seed;
use evenkeel_core::share::simulation::{Row, run};
use evenkeel_dev::mixes::{Mix, Stability, mix};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of the mix
    number: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What all hosts did in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Period {
    /// Windows from its end on, and what was outstanding in it, in units of cost.
    window: f64,
    outstanding: f64,
    completions: u64,
    /// Mean latency over I/Os in seconds; 0 where none completed.
    latency_s: f64,
}

impl Period {
    fn add(&mut self, row: &Row) {
        self.window += row.window;
        self.outstanding += row.outstanding;
        let (before, new) = (self.completions as f64, row.completions as f64);
        if let Some(latency_s) = row.latency_s.filter(|_| new > 0.0) {
            self.latency_s = (before * self.latency_s + new * latency_s) / (before + new);
        }
        self.completions += row.completions;
    }
}

pub fn show(args: &Args) -> Result<()> {
    let mix = mix(Seed(args.seed), args.number);
    let trace = run(&mix.scenario);
    let (outcome, periods) = (Stability::of(&mix, &trace), periods(&trace.rows, mix.scenario.period_s));
    println!("{}", as_json(args, &mix, &outcome, &periods));
    Ok(())
}

/// Hosts end their periods at different instants; a row belongs to the period that ends next.
fn periods(rows: &[Row], period_s: f64) -> Vec<Period> {
    let place = |row: &Row| (row.at_s / period_s - 1e-6).ceil().max(1.0) as usize - 1;
    let mut periods = vec![Period::default(); rows.iter().map(|row| place(row) + 1).max().unwrap_or(0)];
    rows.iter().for_each(|row| periods[place(row)].add(row));
    periods
}

fn as_json(args: &Args, mix: &Mix, outcome: &Stability, periods: &[Period]) -> Value {
    let row = |period: &Period| {
        json!({ "windows": period.window, "outstanding": period.outstanding, "completions": period.completions,
                "latency_s": (period.completions > 0).then_some(period.latency_s) })
    };
    json!({
        "seed": args.seed,
        "mix": args.number,
        "hosts": mix.scenario.hosts.len(),
        "spindles": mix.scenario.array.spindles,
        "threshold_s": mix.threshold_s,
        "period_s": mix.scenario.period_s,
        "diverged": outcome.diverged(),
        "latency": outcome.latency,
        "filled": outcome.filled,
        "spread": outcome.spread,
        "periods": periods.iter().map(row).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_of_hosts_add_up_and_latency_is_the_mean_over_ios() {
        let row = |at_s, host, completions, latency_s| Row {
            unfair: None,
            at_s,
            host,
            window: 4.0,
            outstanding: 3.0,
            wanted: 3.0,
            used: 1.0,
            completions,
            latency_s,
            cost_per_s: 0.0,
            device_s: 0.0,
            seconds: 2.0,
        };
        let rows = [
            row(1.2, 0, 30, Some(0.01)),
            row(2.0, 1, 10, Some(0.03)),
            row(3.2, 0, 0, None),
            row(4.0, 1, 5, Some(0.02)),
        ];
        let periods = periods(&rows, 2.0);
        assert_eq!(periods.len(), 2);
        assert_eq!((periods[0].window, periods[0].outstanding, periods[0].completions), (8.0, 6.0, 40));
        assert!((periods[0].latency_s - 0.015).abs() < 1e-12 && (periods[1].latency_s - 0.02).abs() < 1e-12);
    }
}
