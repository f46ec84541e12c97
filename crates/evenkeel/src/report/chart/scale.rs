//! From values to places on the page, and the ticks between.

use crate::format;

/// What an axis counts; decides on the words of its ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Milliseconds in; the unit follows the size.
    Time,
    /// Parts of a whole, in percent.
    Percent,
    /// Events per second.
    PerSecond,
    Plain,
    /// A percentile p as 1 / (1 - p): 1 is the least value, 2 the median, 100 is p99.
    Percentile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences, from zero.
    Linear,
    Logarithmic,
    /// By how little is left above: 1, 2, 10, 100 ... for the percentiles 0, 50, 90, 99 ...
    Nines,
    /// Logarithmic where the largest value is more than 30 times the smallest above zero.
    Fitting,
}

/// A spread over which linear spacing would press most values onto the floor.
const WIDE_SPREAD: f64 = 30.0;

/// What is larger lies on the edge: what is computed from the largest numbers that there are would be infinite.
const VALUE_MAX: f64 = 1e300;

/// A mapping of values to coordinates, with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    logarithmic: bool,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
    ticks: Vec<f64>,
}

impl Scale {
    /// A scale that holds all `values` (those that are not finite are passed over) between the
    /// coordinates `start` and `end`, which may run either way.
    pub fn new(values: impl Iterator<Item = f64>, spacing: Spacing, start: f64, end: f64) -> Self {
        let (mut high, mut least) = (0.0_f64, f64::INFINITY);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            let value = value.clamp(1.0 / VALUE_MAX, VALUE_MAX);
            high = high.max(value);
            least = least.min(value);
        }
        let wide = least.is_finite() && high / least > WIDE_SPREAD;
        let logarithmic =
            matches!(spacing, Spacing::Logarithmic | Spacing::Nines) || (spacing == Spacing::Fitting && wide);
        let (low, high, ticks) = match (logarithmic, least.is_finite()) {
            _ if spacing == Spacing::Nines => nines(high),
            (true, true) => logarithmic_ticks(least, high),
            (true, false) => logarithmic_ticks(0.1, 1.0),
            (false, true) => linear_ticks(high),
            (false, false) => linear_ticks(1.0),
        };
        Self { logarithmic, low, high, start, end, ticks }
    }

    /// A linear scale from `low` to `high` and no further.
    pub fn exact(low: f64, high: f64, start: f64, end: f64) -> Self {
        let ticks = linear_ticks(high).2.into_iter().filter(|tick| (low..=high).contains(tick)).collect();
        Self { logarithmic: false, low, high, start, end, ticks }
    }

    /// Coordinate of a value; what lies below or above the scale is put on its edge, and what is no number
    /// has no place.
    pub fn place(&self, value: f64) -> Option<f64> {
        if value.is_nan() || self.low >= self.high {
            return None;
        }
        let value = value.clamp(self.low, self.high);
        let share = if self.logarithmic {
            (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        Some(self.start + share * (self.end - self.start)).filter(|place| place.is_finite())
    }

    /// Whether a value lies within the scale.
    pub fn holds(&self, value: f64) -> bool {
        value >= self.low && value <= self.high
    }

    pub fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// Where it ends.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// Unit for the axis title: a linear axis has one for all its ticks.
    pub fn unit(&self, quantity: Quantity) -> &'static str {
        match quantity {
            Quantity::Time if self.logarithmic => "",
            Quantity::Time => self.time_unit().symbol(),
            Quantity::Percent => "%",
            Quantity::PerSecond => "per second",
            Quantity::Plain | Quantity::Percentile => "",
        }
    }

    fn time_unit(&self) -> format::TimeUnit {
        format::TimeUnit::suiting(self.high)
    }

    pub fn label(&self, tick: f64, quantity: Quantity) -> String {
        match quantity {
            Quantity::Time if self.logarithmic => {
                let unit =
                    if tick < 999.5 { format::TimeUnit::suiting(tick) } else { format::TimeUnit::Seconds };
                format!("{} {}", round_number(tick * unit.per_ms()), unit.symbol())
            }
            Quantity::Time => round_number(tick * self.time_unit().per_ms()),
            Quantity::Percent | Quantity::PerSecond | Quantity::Plain => round_number(tick),
            // Two digits more than the zeros of the tick, so that a million is p99.9999 and not p100.
            Quantity::Percentile => {
                let decimals = (tick.log10().round() as usize).saturating_sub(2);
                format!("p{:.decimals$}", 100.0 * (1.0 - 1.0 / tick))
            }
        }
    }
}

/// A tick's number, with no zeros at its end.
fn round_number(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format::short(value) }
}

/// From zero to the first round step at or above `high`, in about five steps of 1, 2 or 5 times a power of
/// ten.
fn linear_ticks(high: f64) -> (f64, f64, Vec<f64>) {
    let rough = (high / 5.0).max(f64::MIN_POSITIVE * 1e6);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    let count = (high / step - 1e-9).ceil().max(1.0) as usize;
    let ticks = (0..=count).map(|number| number as f64 * step).collect::<Vec<_>>();
    let last = count as f64 * step;
    // Nothing lies on the edge, where half of its mark would be cut off.
    (0.0, if high > 0.96 * last { last.max(high) * 1.05 } else { last }, ticks)
}

/// From the least value to a little beyond `high`, with a tick for each further nine.
fn nines(high: f64) -> (f64, f64, Vec<f64>) {
    let powers = (1..=9).map(|power| 10_f64.powi(power));
    let ticks =
        [1.0, 2.0].into_iter().chain(powers.take_while(|tick| *tick <= high.max(10.0) * 1.001)).collect();
    (1.0, high.clamp(10.0, 1e9) * 1.15, ticks)
}

/// From the 1, 2 or 5 below `low` to that above `high`. Few decades bear three ticks each, more bear one,
/// and very many one in several.
fn logarithmic_ticks(low: f64, high: f64) -> (f64, f64, Vec<f64>) {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let rungs: Vec<f64> = (first - 1..=last)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10_f64.powi(power)))
        .collect();
    let low = rungs.iter().rfind(|rung| **rung < low * 0.93).copied().unwrap_or(low / 2.0);
    let high = rungs.iter().find(|rung| **rung > high * 1.07).copied().unwrap_or(high * 2.0);
    let within = |rung: &f64| *rung >= low * 0.999 && *rung <= high * 1.001;
    let all: Vec<f64> = rungs.into_iter().filter(within).collect();
    if all.len() <= 10 {
        return (low, high, all);
    }
    let every = 1 + (last - first) / 7;
    let powers = (first - 1..=last).step_by(every as usize).map(|power| 10_f64.powi(power));
    (low, high, powers.filter(within).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(values: &[f64], spacing: Spacing) -> Scale {
        Scale::new(values.iter().copied(), spacing, 0.0, 100.0)
    }

    #[test]
    fn linear_ticks_are_round_and_hold_the_largest_value() {
        for (high, last, count) in [(1.0, 1.0, 6), (70.0, 80.0, 5), (99.9, 100.0, 6), (0.003, 0.003, 4)] {
            let scale = scale(&[high], Spacing::Linear);
            assert!((scale.ticks().last().unwrap() - last).abs() < 1e-9, "{high}: {:?}", scale.ticks());
            assert_eq!(scale.ticks().len(), count, "{high}: {:?}", scale.ticks());
        }
    }

    #[test]
    fn places_stay_on_the_page_for_any_number() {
        for spacing in [Spacing::Linear, Spacing::Logarithmic, Spacing::Fitting] {
            for values in
                [&[][..], &[0.0], &[5.0], &[f64::NAN, -3.0], &[1e-300, 1e300], &[1e308, 1.0], &[5e-324]]
            {
                let scale = scale(values, spacing);
                for value in [0.0, -1.0, 1e-12, 5.0, 1e300, 1e308, f64::INFINITY] {
                    let place = scale.place(value).unwrap();
                    assert!((0.0..=100.0).contains(&place), "{spacing:?} {values:?} {value} {place}");
                }
                assert_eq!(scale.place(f64::NAN), None);
                assert!(!scale.ticks().is_empty() && scale.ticks().len() <= 11, "{:?}", scale.ticks());
            }
        }
    }

    #[test]
    fn no_value_lies_on_an_edge() {
        for spacing in [Spacing::Linear, Spacing::Logarithmic, Spacing::Fitting] {
            for values in [[1.0, 100.0], [5.0, 20.0], [2.001, 4.999], [7.0, 99.0], [0.05, 5_000.0]] {
                let scale = scale(&values, spacing);
                for value in values {
                    let place = scale.place(value).unwrap();
                    // Where an axis begins at zero, what is all but zero lies there.
                    let least = if spacing == Spacing::Linear { 0.0 } else { 0.5 };
                    assert!((least..=99.5).contains(&place), "{spacing:?} {values:?} {value} {place}");
                }
            }
        }
    }
}
