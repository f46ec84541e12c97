//! How often the intervals of a cell hold, on queues whose figures are known.

use super::many;
use crate::command::Session;
use crate::failure::WithHint;
use crate::out;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::random::Seed;
use evenkeel_core::simulation::coverage::{Coverage, CoveragePlan, Try, judge};
use serde_json::json;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Mean service time of the virtual server.
const SERVICE: Nanos = Nanos::from_millis(4);
/// Length of a run in overload and of the shortest others: 2,000 service times.
const BASE: Nanos = Nanos::from_secs(8);

/// Flags of `evenkeel simulate coverage`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The server works 4 ms on a request in the mean (M/M/1). Of each seed and load a run of 8 s in overload, 2,000 service \
times, finds the saturation. By that the others are to last 8 to 64 s (--fixed: 8 s), and have two ends or a lower bound. Fewer \
repeats take the first of the runs. \
An interval is to hold in 95 % of all tries: held, below and above are shares of the intervals with two ends, which \
lie about, below and above the truth; bounds are tries with a lower bound alone; width is beside an interval with the \
true variance.

Examples:
  evenkeel simulate coverage                                    all cells, 1,000 seeds
  evenkeel simulate coverage --loads 0.8 --repeats 5 --json     one cell, for programs"
)]
pub struct Args {
    /// Utilisations, above 0 and below 1
    #[arg(long, value_delimiter = ',', default_value = "0.5,0.6,0.7,0.8,0.9,0.95", value_parser = utilisation)]
    pub loads: Vec<f64>,
    /// Numbers of runs in a cell, 2 to 1000
    #[arg(long, value_delimiter = ',', default_value = "3,4,5,6,8,10", value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub repeats: Vec<u16>,
    /// How often each cell is measured
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// All runs last 8 s, as those of `profile --within` do; else they grow with the load, as those at rates of `--rates` do
    #[arg(long)]
    pub fixed: bool,
    /// As JSON, one line for each figure of a cell
    #[arg(long)]
    pub json: bool,
}

fn utilisation(text: &str) -> Result<f64, String> {
    let load: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if load > 0.0 && load < 1.0 { Ok(load) } else { Err("above 0 and below 1 is needed".to_owned()) }
}

/// Measures every cell with every seed, on all processors, and shows how often intervals held.
///
/// # Errors
/// Somebody asked to stop; a load that makes no rate of arrivals.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let plan = CoveragePlan {
        loads: args.loads.clone(),
        repeats: args.repeats.iter().map(|&count| usize::from(count)).collect(),
        service: SERVICE,
        base: BASE,
        grow: !args.fixed,
    };
    let cells = judge(&plan, &tries(session, &plan, Seed(args.seed), args.seeds)?);
    out::write(&if args.json { as_json(&cells) } else { as_text(&cells, args) })?;
    Ok(ExitCode::SUCCESS)
}

fn tries(session: &Session, plan: &CoveragePlan, seed: Seed, seeds: u64) -> Result<Vec<Try>> {
    let done = many::tries(session, seeds, |number| plan.tries(seed.numbered(number)))?;
    let tries: Result<Vec<Vec<Try>>, RateError> = done.into_iter().collect();
    Ok(tries.hint("a load is above 0 and below 1")?.concat())
}

fn as_text(cells: &[Coverage], args: &Args) -> String {
    let mut text = format!(
        "M/M/1, service time 4 ms, saturation from 8 s, {} seeds from {}; held, below and above are shares of the intervals \
         shown\nload  repeats  figure       run s   shown    held   below   above   width  bounds    held\n",
        args.seeds, args.seed,
    );
    for cell in cells {
        let share = |part: u64, of: u64| {
            if of == 0 { "-".to_owned() } else { format!("{:.3}", part as f64 / of as f64) }
        };
        let above = cell.shown - cell.held - cell.below;
        let width = cell.width.map_or("-".to_owned(), |width| format!("{width:.2}"));
        let _ = writeln!(
            text,
            "{:4} {:8}  {:10} {:7.1} {:>7} {:>7} {:>7} {:>7} {width:>7} {:>7} {:>7}",
            cell.load,
            cell.repeats,
            cell.figure,
            cell.seconds,
            share(cell.shown, cell.tries),
            share(cell.held, cell.shown),
            share(cell.below, cell.shown),
            share(above, cell.shown),
            share(cell.bounds, cell.tries),
            share(cell.bounds_held, cell.bounds),
        );
    }
    text
}

fn as_json(cells: &[Coverage]) -> String {
    let line = |cell: &Coverage| {
        let told = json!({
            "load": cell.load, "repeats": cell.repeats, "figure": cell.figure, "tries": cell.tries,
            "shown": cell.shown, "held": cell.held, "below": cell.below, "bounds": cell.bounds,
            "bounds_held": cell.bounds_held, "width_ratio": cell.width, "estimate_mean": cell.mean,
            "run_s": cell.seconds,
        });
        format!("{told}\n")
    };
    cells.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> Coverage {
        Coverage {
            load: 0.8,
            repeats: 5,
            figure: "tau",
            tries: 1_000,
            shown: 960,
            held: 912,
            below: 30,
            bounds: 40,
            bounds_held: 39,
            width: Some(1.13),
            mean: 1.001,
            seconds: 26.25,
        }
    }

    #[test]
    fn a_cell_is_a_row_under_its_head() {
        let args =
            Args { loads: vec![0.8], repeats: vec![5], seeds: 1_000, seed: 1, fixed: false, json: false };
        let text = as_text(&[cell(), Coverage { shown: 0, held: 0, below: 0, width: None, ..cell() }], &args);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2],
            " 0.8        5  tau           26.2   0.960   0.950   0.031   0.019    1.13   0.040   0.975"
        );
        assert_eq!(lines[1].len(), lines[2].len(), "{text}");
        assert!(lines[3].contains("   0.000       -       -       -       -   0.040"), "{text}");
    }

    #[test]
    fn programs_get_a_line_for_each_figure() {
        let text = as_json(&[cell(), cell()]);
        let told: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(
            (text.lines().count(), &told["held"], &told["width_ratio"]),
            (2, &json!(912), &json!(1.13))
        );
    }

    #[test]
    fn only_a_queue_that_settles_has_a_load() {
        assert_eq!(utilisation("0.95"), Ok(0.95));
        for text in ["0", "1", "-0.5", "nan", "much"] {
            assert!(utilisation(text).is_err(), "{text}");
        }
    }
}
