use super::{Better, Margin, Pair, Side};
use crate::statistics::{CONFIDENCE, Sample, student_quantile, student_tail};

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
