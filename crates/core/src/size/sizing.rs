use super::model::{Drawn, Ends, Fit, Measured, Statistic, draws};
use crate::statistics::{CONFIDENCE, halved_to, normal_tail};
use std::fmt;
use std::sync::OnceLock;

/// Length of the run, in seconds, whose response is predicted.
const RUN_S: f64 = 60.0;
/// Upper over lower end from which on an interval is called wide.
const WIDE: f64 = 2.0;
/// Of the logarithm of a response.
const ACCURACY: f64 = 1e-6;

/// A response with its 95 % prediction interval: what one run of a minute at that rate gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    pub rate: f64,
    /// Response in seconds, the median; infinite where the server more likely does not carry the rate.
    pub response: f64,
    pub low: f64,
    pub high: f64,
}

impl Prediction {
    /// With ends that are not below those of another figure, which is never above this one.
    pub(super) fn not_below(self, least: &Self) -> Self {
        let [response, low, high] =
            [self.response.max(least.response), self.low.max(least.low), self.high.max(least.high)];
        Self { response, low, high, ..self }
    }

    /// Whether the upper end is more than twice the lower end.
    pub fn is_wide(&self) -> bool {
        self.high > WIDE * self.low
    }
}

/// A rate that was measured, and its prediction from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    pub measured: Measured,
    pub predicted: Option<Prediction>,
}

impl LeftOut {
    /// By how much the prediction is off, as a part of what was measured.
    pub fn error(&self) -> Option<f64> {
        Some(self.predicted?.response / self.measured.level().exp() - 1.0)
    }

    /// The same without its sign; infinite where it is not predicted.
    fn size(&self) -> f64 {
        self.error().map_or(f64::INFINITY, f64::abs)
    }
}

/// The model of one figure, fitted to all rates that settled.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizing {
    points: Vec<Measured>,
    ends: Ends,
    figure: Statistic,
    drawn: Vec<(Drawn, Fit)>,
    /// Made when it is first asked for: it takes a model for each rate.
    left_out: OnceLock<Vec<LeftOut>>,
    /// Lower ends at the lowest and the highest rate.
    lows: OnceLock<[Option<f64>; 2]>,
}

impl Sizing {
    pub fn of(points: &[Measured], ends: Ends, figure: Statistic) -> Result<Self, SizeError> {
        let mut points: Vec<Measured> = points.iter().filter(|point| point.is_something()).cloned().collect();
        points.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        if points.is_empty() {
            return Err(SizeError::NothingSettled);
        }
        let fitted = |drawn: Drawn| Some((drawn, drawn.fit(&points, figure)?));
        let drawn = draws(&points, &ends, figure).into_iter().filter_map(fitted).collect();
        Ok(Self { points, ends, figure, drawn, left_out: OnceLock::new(), lows: OnceLock::new() })
    }

    pub fn points(&self) -> &[Measured] {
        &self.points
    }

    pub fn ends(&self) -> &Ends {
        &self.ends
    }

    pub fn range(&self) -> (f64, f64) {
        let ends = self.points.first().zip(self.points.last());
        ends.map_or((0.0, 0.0), |(first, last)| (first.rate, last.rate))
    }

    /// The response at a rate of one server. At less than the lowest rate that was measured, it is that of the lowest.
    pub fn predict(&self, rate: f64) -> Result<Prediction, SizeError> {
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(SizeError::NotARate(rate));
        }
        if let Some(capacity) = self.ends.at_most.filter(|most| rate > *most) {
            return Err(SizeError::Saturates { rate, at_most: Some(capacity) });
        }
        let at = rate.max(self.range().0);
        let found = self.quantiles(rate, at).ok_or(SizeError::Saturates { rate, at_most: None })?;
        // No server answers faster at a higher load than at a lower one.
        let range = [self.range().0, self.range().1];
        let lows =
            self.lows.get_or_init(|| range.map(|rate| self.quantiles(rate, rate).map(|found| found.low)));
        let floors = range.iter().zip(lows).filter(|(rate, _)| **rate < at).filter_map(|(_, low)| *low);
        let low = floors.fold(found.low, f64::max);
        Ok(Prediction { low, response: found.response.max(low), high: found.high.max(low), ..found })
    }

    /// The response at a rate by the model alone; `None` where the server most likely does not carry it.
    fn quantiles(&self, rate: f64, at: f64) -> Option<Prediction> {
        let runs: Vec<(f64, f64)> =
            self.drawn.iter().filter_map(|(drawn, fit)| drawn.run(fit, at, RUN_S, self.figure)).collect();
        let (of, tail) = (self.drawn.len() as f64, (1.0 - CONFIDENCE) / 2.0);
        let [low, response, high] =
            [tail, 0.5, 1.0 - tail].map(|share| quantile(&runs, share * of).map_or(f64::INFINITY, f64::exp));
        // No request of a run takes longer than the run.
        let [low, response, high] =
            [low, response, high].map(|end| if end > RUN_S { f64::INFINITY } else { end });
        low.is_finite().then_some(Prediction { rate, response, low, high })
    }

    /// The rate that fits the others least, where it is off by more than this.
    pub(super) fn worst(&self, above: f64) -> Option<LeftOut> {
        let worst = self.left_out().iter().max_by(|one, other| one.size().total_cmp(&other.size()));
        worst.filter(|worst| worst.size() > above).cloned()
    }

    /// The largest error of a rate that is predicted from the others; infinite where one is not predicted, `None` of a single rate.
    pub fn largest_error(&self) -> Option<f64> {
        self.left_out().iter().map(LeftOut::size).reduce(f64::max)
    }

    pub fn left_out(&self) -> &[LeftOut] {
        let one = |at: usize| {
            let mut others = self.points.clone();
            let measured = others.remove(at);
            let sizing = Self::of(&others, self.ends, self.figure);
            LeftOut { predicted: sizing.and_then(|sizing| sizing.predict(measured.rate)).ok(), measured }
        };
        self.left_out.get_or_init(|| {
            if self.points.len() < 2 { Vec::new() } else { (0..self.points.len()).map(one).collect() }
        })
    }
}

/// Where so many of these normal distributions, in mean and variance, lie below; `None` where there are too few.
fn quantile(runs: &[(f64, f64)], count: f64) -> Option<f64> {
    if count >= runs.len() as f64 {
        return None;
    }
    let below =
        |at: f64| runs.iter().map(|(mean, variance)| normal_tail((mean - at) / variance.sqrt())).sum::<f64>();
    let reach = |sign: f64| runs.iter().map(move |(mean, variance)| mean + sign * 9.0 * variance.sqrt());
    let low = reach(-1.0).fold(f64::INFINITY, f64::min);
    let high = reach(1.0).fold(f64::NEG_INFINITY, f64::max);
    Some(halved_to(ACCURACY, low, high, |at| below(at) < count))
}

/// Rates are per second and times in seconds; `at_most` is `None` where response times alone say that a server saturates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeError {
    NothingSettled,
    Saturates { rate: f64, at_most: Option<f64> },
    OutOfReach { objective: f64, least: f64, rate: f64 },
    NoEnd { rate: f64, used: Option<f64> },
    NotARate(f64),
}

impl fmt::Display for SizeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NothingSettled => write!(out, "at no rate of the profile did the response settle"),
            Self::Saturates { rate, at_most: Some(most) } => {
                write!(
                    out,
                    "one server cannot carry {rate:.0} requests/s: by this profile it carries {most:.0} at most"
                )
            }
            Self::Saturates { rate, at_most: None } => write!(
                out,
                "response times suggest that one server does not carry {rate:.0} requests/s, though its bounds leave it open"
            ),
            Self::OutOfReach { objective, least, rate } => write!(
                out,
                "{:.1} ms is not certain with any number of servers: even at {rate:.1} requests/s, the lowest measured rate, it may be {:.1} ms",
                1e3 * objective,
                1e3 * least
            ),
            Self::NoEnd { rate, used } => {
                let cpu = used.map_or("unknown".to_owned(), |it| format!("{:.0} %", 100.0 * it));
                write!(
                    out,
                    "the profile never reached the limit: at {rate:.1}/s, its highest stable rate, CPU use was {cpu}"
                )
            }
            Self::NotARate(rate) if rate > 0.0 => {
                write!(out, "{rate} requests/s need more than a million servers")
            }
            Self::NotARate(rate) => write!(out, "{rate} is not a positive rate"),
        }
    }
}

impl std::error::Error for SizeError {}
