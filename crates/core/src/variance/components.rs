use super::design::{Design, Factors, Group, Level, Observation, Stage, VarianceError};
use super::{Term, interval};
use std::iter::zip;

#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    pub level: Level,
    /// Levels that change only together with it, and whose variance is in it.
    pub with: Vec<Level>,
    /// Its variance, in the square of the unit of the means, not below zero. That of requests is as in [`Requests`].
    pub variance: f64,
    pub low: f64,
    pub high: f64,
    pub degrees: f64,
    /// How many units the level has, over all of its parents.
    pub units: f64,
    /// How often its variance is in that of the mean over all: one in so many units, where numbers are equal.
    pub in_mean: f64,
    /// How often it is in the variance of a single run's mean: once, or of requests one in so many as a run has.
    pub in_run: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Components {
    /// Mean over all, each unit counted alike within its parent.
    pub mean: f64,
    pub all: Vec<Component>,
}

/// The level that makes most of the variance of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dominant {
    pub level: Level,
    /// Its share of the variance of a single run's mean, from 0 to 1.
    pub share: f64,
    /// Whether its lower end lies above the upper ends of all others.
    pub is_certain: bool,
}

impl Components {
    /// From all runs, in any order.
    pub fn of(runs: &[Observation]) -> Result<Self, VarianceError> {
        let batches: Vec<&[(f64, f64)]> = runs.iter().map(|run| run.batches.as_slice()).collect();
        let requests = Requests::of(&batches);
        let design = Design::of(runs, requests.is_some())?;
        let runs = runs.iter().map(Observation::requests).collect::<Vec<_>>();
        Ok(Self { mean: design.mean, all: solved(&design, requests, &runs) })
    }

    pub fn dominant(&self) -> Option<Dominant> {
        let part = |component: &Component| component.in_run * component.variance;
        let sum: f64 = self.all.iter().map(part).sum();
        let most = self.all.iter().max_by(|one, other| part(one).total_cmp(&part(other)))?;
        let others = self.all.iter().filter(|other| other.level != most.level);
        let least = most.in_run * most.low;
        let is_certain = others.map(|other| other.in_run * other.high).all(|high| high < least);
        (sum > 0.0).then(|| Dominant { level: most.level, share: part(most) / sum, is_certain })
    }

    /// The variance of the mean over all, as often as each level was repeated.
    pub fn variance_of_mean(&self) -> f64 {
        self.all.iter().map(|component| component.in_mean * component.variance).sum()
    }
}

struct MeanSquare {
    level: Level,
    value: f64,
    /// How often each variance is in its expectation.
    factors: Factors,
    groups: Vec<Group>,
}

impl MeanSquare {
    fn of(stage: &Stage) -> Self {
        let degrees: f64 = stage.groups.iter().map(|group| group.len() as f64 - 1.0).sum();
        let expected = |at: usize| {
            let of_group = |group: &Group| {
                (1.0 - 1.0 / group.len() as f64) * group.iter().map(|unit| unit[at]).sum::<f64>()
            };
            stage.groups.iter().map(of_group).sum::<f64>() / degrees
        };
        Self {
            level: stage.level,
            value: stage.squares / degrees,
            factors: std::array::from_fn(expected),
            groups: stage.groups.clone(),
        }
    }

    /// Degrees of freedom where units have unequal variances `v`: of a sum of squares about a mean its expectation is
    /// `sum v (1 - 1/n)` and its variance `2 (sum v^2 (1 - 2/n) + (sum v)^2 / n^2)` (Satterthwaite, Biometrics Bull. 2 (1946) 110; Box, Ann.
    /// Math. Stat. 25 (1954) 290).
    fn degrees(&self, variances: &Factors) -> f64 {
        let (mut expected, mut spread, mut plain) = (0.0, 0.0, 0.0);
        for group in &self.groups {
            let n = group.len() as f64;
            let of_unit = |unit: &Factors| unit.iter().zip(variances).map(|(factor, own)| factor * own).sum();
            let units: Vec<f64> = group.iter().map(of_unit).collect();
            let (sum, squares) = units.iter().fold((0.0, 0.0), |all, v| (all.0 + v, all.1 + v * v));
            expected += sum * (1.0 - 1.0 / n);
            spread += squares * (1.0 - 2.0 / n) + (sum / n).powi(2);
            plain += n - 1.0;
        }
        if spread > 0.0 { (expected * expected / spread).min(plain) } else { plain }
    }
}

/// From the lowest level up: `S` of a level less what those below make of it.
fn solved(design: &Design, requests: Option<Requests>, of_runs: &[f64]) -> Vec<Component> {
    let found = Solved::of(design, requests);
    let stages = design.stages.iter().enumerate();
    let mut all: Vec<Component> = stages
        .map(|(at, stage)| {
            let component = found.component(at, design, (stage.units as f64, 1.0));
            Component { with: stage.with.clone(), ..component }
        })
        .collect();
    if requests.is_some() {
        let in_run = of_runs.iter().map(|count| 1.0 / count).sum::<f64>() / of_runs.len() as f64;
        all.push(found.component(design.stages.len(), design, (of_runs.iter().sum(), in_run)));
    }
    all
}

/// Mean squares from the outermost level on, that of the requests last, and each variance as a sum of them.
struct Solved {
    levels: Vec<Level>,
    values: Vec<f64>,
    degrees: Vec<f64>,
    /// Factors of the mean squares, of each variance.
    weights: Vec<Vec<f64>>,
    variances: Factors,
}

impl Solved {
    fn of(design: &Design, requests: Option<Requests>) -> Self {
        let squares: Vec<MeanSquare> = design.stages.iter().map(MeanSquare::of).collect();
        let with = |last: f64, of: fn(&MeanSquare) -> f64| -> Vec<f64> {
            squares.iter().map(of).chain(std::iter::once(last)).collect()
        };
        let values = with(requests.map_or(0.0, |requests| requests.variance), |square| square.value);
        let levels = squares.iter().map(|square| square.level).chain(std::iter::once(Level::Request));
        let levels: Vec<Level> = levels.collect();
        let weights = weights(&squares, &levels);
        let mut variances = [0.0; 5];
        for (level, own) in levels.iter().zip(&weights) {
            let sum: f64 = own.iter().zip(&values).map(|(weight, value)| weight * value).sum();
            variances[*level as usize] = sum.max(0.0);
        }
        let mut degrees: Vec<f64> = squares.iter().map(|square| square.degrees(&variances)).collect();
        degrees.push(requests.map_or(f64::INFINITY, |requests| requests.degrees));
        Self { levels, values, degrees, weights, variances }
    }

    fn component(&self, at: usize, design: &Design, (units, in_run): (f64, f64)) -> Component {
        let level = self.levels[at];
        let (low, high) = interval(&self.terms(at));
        Component {
            level,
            with: Vec::new(),
            variance: self.variances[level as usize],
            low,
            high,
            degrees: self.degrees[at],
            units,
            in_mean: design.factors[level as usize],
            in_run,
        }
    }

    fn terms(&self, at: usize) -> Vec<Term> {
        let terms = self.weights[at].iter().zip(&self.values).zip(&self.degrees);
        let terms = terms.map(|((&factor, &mean_square), &degrees)| Term { factor, mean_square, degrees });
        terms.filter(|term| term.factor != 0.0 && term.mean_square > 0.0).collect()
    }
}

/// Each variance by the mean squares: that of its level, less as much of the variances below as is in it.
fn weights(squares: &[MeanSquare], levels: &[Level]) -> Vec<Vec<f64>> {
    let count = levels.len();
    let unit = |at: usize| (0..count).map(|other| f64::from(u8::from(other == at))).collect::<Vec<f64>>();
    // From the lowest up, which is turned around in the end.
    let mut rising = vec![unit(count - 1)];
    for (at, square) in squares.iter().enumerate().rev() {
        let mut own = unit(at);
        for (level, below) in levels.iter().rev().zip(&rising) {
            let factor = square.factors[*level as usize];
            own.iter_mut().zip(below).for_each(|(own, below)| *own -= factor * below);
        }
        rising.push(own);
    }
    rising.reverse();
    rising
}

/// Fewest batches of a run that say something about its requests.
const BATCHES_MIN: usize = 3;
/// Strongest lag-1 correlation of batches that is corrected for; runs with a stronger one are much too short for any.
const CORRELATION_MAX: f64 = 0.9;

/// What requests make of a run's mean, over all runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requests {
    /// The variance `v` for which a run's mean of `n` requests has the variance `v / n`. Of requests that depend on one another,
    /// as those in a queue, it is many times that of a single request.
    pub variance: f64,
    pub degrees: f64,
}

impl Requests {
    /// From the number of requests and the sum of their response times in each batch of each run; `None` where a run has fewer
    /// than three batches with requests.
    ///
    /// With the residuals `d = sum - mean n` of `b` batches about the mean of their run, `v = b / (b - 1) sum d^2 / sum n` over runs
    /// (Cochran, Sampling Techniques, 3rd ed., chapter 6), times `(1 + r) / (1 - r)` for the lag-1 correlation `r` of the residuals
    /// (Bartlett, J. R. Stat. Soc. 98 (1935) 536), which is raised by what one about an estimated mean is too low (Marriott and
    /// Pope, Biometrika 41 (1954) 390). Batches are neither equally long nor normal, so both errors are those that the residuals
    /// themselves show: `q = sum d^4 / (sum d^2)^2` less `1 / B` of `B` batches is the relative variance of the sum, and
    /// `sum (d d')^2 / (sum d^2)^2` over neighbours is the variance of `r`, which moves `v` by `2 / (1 - r^2)` times as much.
    pub fn of(runs: &[&[(f64, f64)]]) -> Option<Self> {
        let (mut variance, mut requests, mut batches) = (0.0, 0.0, 0.0);
        let (mut squares, mut fourths, mut neighbours, mut pairs) = (0.0, 0.0, 0.0, 0.0);
        for run in runs {
            let run: Vec<(f64, f64)> = run.iter().copied().filter(|(count, _)| *count > 0.0).collect();
            if run.len() < BATCHES_MIN {
                return None;
            }
            let (count, sum) = run.iter().fold((0.0, 0.0), |all, batch| (all.0 + batch.0, all.1 + batch.1));
            let residuals: Vec<f64> = run.iter().map(|batch| batch.1 - sum / count * batch.0).collect();
            let own: f64 = residuals.iter().map(|d| d * d).sum();
            let size = run.len() as f64;
            variance += own * size / (size - 1.0);
            requests += count;
            squares += own;
            fourths += residuals.iter().map(|d| d.powi(4)).sum::<f64>();
            let products = zip(&residuals, &residuals[1..]).map(|(one, next)| one * next);
            pairs += products.clone().map(|product| product * product).sum::<f64>();
            neighbours += products.sum::<f64>();
            batches += size;
        }
        let count = runs.len() as f64;
        let r = if squares > 0.0 { neighbours / squares } else { 0.0 };
        let r = (r + (1.0 + 3.0 * r) * count / batches).clamp(-CORRELATION_MAX, CORRELATION_MAX);
        let spread =
            (fourths / (squares * squares) - 1.0 / batches).max(2.0 / batches) * batches / (batches - count);
        let relative = spread + pairs / (squares * squares) * (2.0 / (1.0 - r * r)).powi(2);
        // Without any variation nothing is uncertain.
        let relative = if squares > 0.0 { relative } else { 2.0 / batches };
        let variance = variance / requests * (1.0 + r) / (1.0 - r);
        (variance.is_finite() && requests > 0.0).then_some(Self { variance, degrees: 2.0 / relative })
    }
}

/// What one more unit of each level costs by itself, in any unit, by [`Level`]: a start costs the time that the server needs to start,
/// and its runs cost theirs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs(pub [f64; 5]);

impl Default for Costs {
    /// A run costs one, and all else nothing.
    fn default() -> Self {
        Self([0.0, 0.0, 0.0, 1.0, 0.0])
    }
}

impl Costs {
    /// What a unit of this level costs by itself; a cost that is none counts as nothing.
    fn of(&self, level: Level) -> f64 {
        let cost = self.0[level as usize];
        if cost > 0.0 && cost.is_finite() { cost } else { 0.0 }
    }
}

/// One more unit of a level, with as many below it as there are now in the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeat {
    pub level: Level,
    pub variance_after: f64,
    pub cost: f64,
    /// By how much it lowers the variance of the mean, for each unit of cost.
    pub gain: f64,
}

impl Components {
    /// What one more unit of each level brings, the best one first. Without requests, as a run has as many as its length gives it.
    ///
    /// The variance of a mean is `sum v / N` over the levels, with `N` units of each (Kalibera and Jones, Rigorous Benchmarking in Reasonable
    /// Time, ISMM 2013). One unit more of a level that has `N` divides the terms of that level and of all within it by `1 + 1 / N`.
    pub fn repeats(&self, costs: &Costs) -> Vec<Repeat> {
        let levels = self.all.iter().enumerate().filter(|(_, component)| component.level != Level::Request);
        let mut all: Vec<Repeat> = levels.map(|(at, _)| self.one_more(at, costs)).collect();
        all.sort_by(|one, other| other.gain.total_cmp(&one.gain));
        all
    }

    fn one_more(&self, at: usize, costs: &Costs) -> Repeat {
        let units = self.all[at].units;
        let within = &self.all[at..];
        let part: f64 = within.iter().map(|component| component.in_mean * component.variance).sum();
        let fewer = part / (units + 1.0);
        let cost_of = |component: &super::Component| {
            let levels = std::iter::once(component.level).chain(component.with.iter().copied());
            levels.map(|level| costs.of(level)).sum::<f64>() * component.units / units
        };
        let cost: f64 = within.iter().map(cost_of).sum();
        // What costs nothing is worth what it brings, and a run always takes its time.
        let gain = fewer / if cost > 0.0 { cost } else { 1.0 };
        Repeat { level: self.all[at].level, variance_after: self.variance_of_mean() - fewer, cost, gain }
    }
}
