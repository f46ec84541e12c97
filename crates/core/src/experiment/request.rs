use crate::statistics::{
    CONFIDENCE, Sample, normal_tail, standard_error_bound, student_quantile, student_tail,
};

/// Confidence of the upper bound of the spread over runs by which further runs are counted: a few runs may agree by chance.
const SPREAD_CONFIDENCE: f64 = 0.7;

/// Share of cases in which as many runs as are asked for are to tell, if the spread is as large as its bound.
const POWER: f64 = 0.8;

/// The true difference is looked for within so many standard errors of the one that was found.
const LIKELY: f64 = 1.3;

/// The true differences that are tried, in parts of [`LIKELY`].
const TRIED: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

/// More runs than these on a side are not counted: it is too many, whatever they are.
const RUNS_MAX: u64 = 10_000;

/// As many as tell whichever of the likely differences is the true one, by an interval of this risk that leaves out 1, or a 95 %
/// interval inside the margin.
pub(super) fn runs_more(found: &Difference, margin: Margin, risk: f64) -> Option<u64> {
    let spread = found.spread.as_ref()?;
    let bound = standard_error_bound(spread.error, spread.degrees, SPREAD_CONFIDENCE);
    let likely = TRIED.map(|part| found.mean.abs() + part * LIKELY * spread.error);
    let enough = |runs: u64| {
        let look = Look {
            // Of so many runs on each side the standard error falls by the root.
            error: bound * (found.runs as f64 / runs as f64).sqrt(),
            degrees: (2 * found.pairs) as f64 * (runs as f64 - 1.0),
            risk,
            margin: margin.log(),
        };
        likely.iter().all(|difference| look.tells(difference.abs()) >= POWER)
    };
    let (mut low, mut high) = (found.runs + 1, RUNS_MAX);
    if !bound.is_finite() || !enough(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low - found.runs)
}

struct Look {
    error: f64,
    degrees: f64,
    risk: f64,
    margin: f64,
}

impl Look {
    /// With which probability it tells a difference by the verdict that is likelier, be it *same* or that they differ.
    fn tells(&self, difference: f64) -> f64 {
        let above = |value: f64| normal_tail((value - difference) / self.error);
        let width = |risk: f64| student_quantile(1.0 - risk / 2.0, self.degrees) * self.error;
        let inside = self.margin - width(1.0 - CONFIDENCE);
        let same = if inside > 0.0 { above(-inside) - above(inside) } else { 0.0 };
        same.max(above(width(self.risk)))
    }
}

/// Its mean, variance and degrees of freedom.
///
/// With `v` the variance of the mean of the logarithms of one side of one of `k` pairs, and `n` its runs, the difference has the
/// variance `sum v / k^2`, and by Welch and Satterthwaite `(sum v)^2 / sum (v^2 / (n - 1))` degrees of freedom.
pub(super) struct Difference {
    pub mean: f64,
    /// `None` where some side has one run only, which does not tell how much runs differ.
    pub spread: Option<Spread>,
    pub runs: u64,
    pub pairs: usize,
}

pub(super) struct Spread {
    pub error: f64,
    pub degrees: f64,
}

impl Difference {
    /// `None` without a pair, or where a figure is not above zero and finite.
    pub fn of(pairs: &[Pair]) -> Option<Self> {
        let sides: Vec<(Sample, Sample)> = pairs
            .iter()
            .map(|pair| Some((logs(&pair.first)?, logs(&pair.second)?)))
            .collect::<Option<_>>()?;
        let count = sides.len() as f64;
        let mean =
            sides.iter().map(|(first, second)| Some(second.mean()? - first.mean()?)).sum::<Option<f64>>()?;
        let all = || sides.iter().flat_map(|(first, second)| [first, second]);
        Some(Self {
            mean: (count > 0.0).then(|| mean / count)?,
            spread: Spread::of(all(), count),
            runs: all().map(Sample::n).min()?,
            pairs: sides.len(),
        })
    }

    pub fn interval(&self, risk: f64) -> Option<(f64, f64)> {
        let half = self.spread.as_ref()?.half_width(risk);
        Some((self.mean - half, self.mean + half))
    }

    pub fn is_within(&self, margin: Margin) -> bool {
        let ends = self.interval(1.0 - CONFIDENCE);
        ends.is_some_and(|(low, high)| low >= -margin.log() && high <= margin.log())
    }

    /// On which side it lies, if the interval of this risk leaves out 1 and the difference matters.
    pub fn side(&self, risk: f64, margin: Margin, better: Better) -> Option<Side> {
        let (low, high) = self.interval(risk)?;
        ((low > 0.0 || high < 0.0) && !self.is_within(margin)).then(|| better.side(self.mean))
    }

    /// The least risk whose interval leaves out 1.
    pub fn least_risk(&self) -> Option<f64> {
        let spread = self.spread.as_ref()?;
        Some(match (spread.error > 0.0, self.mean == 0.0) {
            (true, _) => 2.0 * student_tail(self.mean.abs() / spread.error, spread.degrees),
            (false, true) => 1.0,
            (false, false) => 0.0,
        })
    }
}

impl Spread {
    fn of<'a>(sides: impl Iterator<Item = &'a Sample>, pairs: f64) -> Option<Self> {
        let (mut variance, mut squares) = (0.0, 0.0);
        for side in sides {
            let own = side.variance()? / side.n() as f64;
            variance += own;
            squares += own * own / (side.n() as f64 - 1.0);
        }
        let degrees = if squares > 0.0 { variance * variance / squares } else { 1.0 };
        Some(Self { error: variance.max(0.0).sqrt() / pairs, degrees })
    }

    fn half_width(&self, risk: f64) -> f64 {
        match self.error > 0.0 {
            true => student_quantile(1.0 - risk / 2.0, self.degrees) * self.error,
            false => 0.0,
        }
    }
}

fn logs(values: &[f64]) -> Option<Sample> {
    values.iter().map(|value| (*value > 0.0 && value.is_finite()).then(|| value.ln())).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
}

impl Better {
    pub(super) fn side(self, difference: f64) -> Side {
        if (difference > 0.0) == (self == Self::Higher) { Side::Better } else { Side::Worse }
    }
}

/// On which side of the first the second certainly lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Better,
    Worse,
}

/// The figure of each run on both sides, under the same conditions (one arrival rate, say).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    pub first: Vec<f64>,
    pub second: Vec<f64>,
}

/// Up to which ratio two figures count as the same, 0.05 for 5 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin(f64);

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a margin of {0} is not possible: above 0 and at most 1 is needed")]
pub struct MarginError(pub f64);

impl Margin {
    pub fn new(share: f64) -> Result<Self, MarginError> {
        if share > 0.0 && share <= 1.0 { Ok(Self(share)) } else { Err(MarginError(share)) }
    }

    pub fn share(self) -> f64 {
        self.0
    }

    pub(super) fn log(self) -> f64 {
        self.0.ln_1p()
    }
}
