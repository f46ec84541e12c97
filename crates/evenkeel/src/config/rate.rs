//! Arrival rates: `auto:8`, `10..:10`, `10..100:10`, `10,20,30`.

use super::units;
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_core::arrivals::check_rate;
use evenkeel_core::rates::{RATES_MIN, RatePlan};

const HOW: &str = "write auto:8 (8 rates, chosen automatically), 10..:10 (steps until the sweep ends), 10..100:10, or 10,20,30";

/// Rates are cells, each measured several times; more than this is a slip of the pen.
const RATES_MAX: usize = 1_000;

/// Reads the text of `--rate`.
pub fn parse(text: &str) -> Result<RatePlan> {
    read(text).map_err(|reason| anyhow!("cannot use the rates {text:?}: {reason}")).hint(HOW)
}

fn read(text: &str) -> Result<RatePlan, String> {
    if let Some(count) = text.strip_prefix("auto:").or((text == "auto").then_some("8")) {
        let count: usize = count.parse().map_err(|_| format!("{count:?} is not a number of rates"))?;
        return match (RATES_MIN..=RATES_MAX).contains(&count) {
            true => Ok(RatePlan::Auto(count)),
            false => Err(format!("the number of rates is between {RATES_MIN} and {RATES_MAX}")),
        };
    }
    match text.split_once("..") {
        Some((from, rest)) => steps(from, rest),
        None => list(text),
    }
}

fn steps(from: &str, rest: &str) -> Result<RatePlan, String> {
    let (to, step) = rest.split_once(':').ok_or("a range needs a step, as in 10..:10")?;
    let (from, step) = (number(from)?, number(step)?);
    if to.trim().is_empty() {
        return Ok(RatePlan::Steps { from, step });
    }
    let to = number(to)?;
    if to < from {
        return Err(format!("{to} is below {from}"));
    }
    let count = units::steps(from, to, step, RATES_MAX);
    let count =
        count.ok_or_else(|| format!("from {from} to {to} by {step} are more than {RATES_MAX} rates"))?;
    Ok(RatePlan::List((0..count).map(|index| from + step * index as f64).collect()))
}

fn list(text: &str) -> Result<RatePlan, String> {
    let mut rates = text.split(',').map(number).collect::<Result<Vec<f64>, String>>()?;
    if rates.len() > RATES_MAX {
        return Err(format!("{} rates are more than {RATES_MAX}", rates.len()));
    }
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    Ok(RatePlan::List(rates))
}

fn number(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(rate) if !(rate.is_finite() && rate > 0.0) => {
            Err(format!("{rate} is not a rate: it must be above 0"))
        }
        Ok(rate) => check_rate(rate).map_err(|error| error.to_string()),
        Err(_) => Err(format!("{:?} is not a number", text.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_rates_is_read() {
        assert_eq!(parse("auto").unwrap(), RatePlan::Auto(8));
        assert_eq!(parse("auto:5").unwrap(), RatePlan::Auto(5));
        assert_eq!(parse("10..:10").unwrap(), RatePlan::Steps { from: 10.0, step: 10.0 });
        assert_eq!(parse("10..30:10").unwrap(), RatePlan::List(vec![10.0, 20.0, 30.0]));
        assert_eq!(parse("30,10,10,20.5").unwrap(), RatePlan::List(vec![10.0, 20.5, 30.0]));
    }

    #[test]
    fn rates_that_are_none_are_refused() {
        let wrong = "auto8 auto: auto:2 auto:x 0 -5 10,,20 10..20 20..10:5 1..:0 inf nan";
        let endless = "1..1e9:1 1..1e308:1e-300 1..1e7:1e-320 1e308 1e7,1e300 1e8..:1 1..1e300:1e299";
        for text in wrong.split(' ').chain(endless.split(' ')).chain([""]) {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
