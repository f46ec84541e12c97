//! What was repeated within what, and what follows from it for the mean squares.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    Target,
    Population,
    Start,
    /// A run, whose mean response is the unit.
    Run,
    Request,
}

impl Level {
    pub const ALL: [Self; 5] = [Self::Target, Self::Population, Self::Start, Self::Run, Self::Request];

    pub fn word(self) -> &'static str {
        ["target", "population", "start", "run", "request"][self as usize]
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.word())
    }
}

/// Where a run belongs, by numbers: of the target, of the population within it and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub target: u32,
    pub population: u32,
    pub start: u32,
    pub run: u32,
}

impl Position {
    /// What all units at this level and above have in common with it.
    fn up_to(self, level: Level) -> [u32; 4] {
        let all = [self.target, self.population, self.start, self.run];
        std::array::from_fn(|at| if at <= level as usize { all[at] } else { 0 })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub place: Position,
    pub mean: f64,
    /// Number of requests and sum of their response times in each of its batches, in order; empty where that is not known.
    pub batches: Vec<(f64, f64)>,
}

impl Observation {
    pub(super) fn requests(&self) -> f64 {
        self.batches.iter().map(|(count, _)| count).sum()
    }
}

/// Why nothing can be said about what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VarianceError {
    #[error("{0} run says nothing about what differs between runs")]
    TooFewRuns(usize),
    /// The mean response of a run is not a number above zero.
    #[error("{0} has no mean response")]
    NoResponse(Position),
    #[error("{0} is there twice")]
    TwiceAt(Position),
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, population, start, run } = self;
        write!(out, "run {run} of start {start}, population {population}, target {target}")
    }
}

/// A variance of a unit's mean: how often each level's own variance is in it, by [`Level`].
pub(super) type Factors = [f64; 5];

/// A unit as its parent sees it.
#[derive(Clone, Debug)]
struct Unit {
    key: [u32; 4],
    mean: f64,
    factors: Factors,
}

/// The units of one parent: how the variance of each is made up, from which follow expectation and degrees of freedom.
pub(super) type Group = Vec<Factors>;

#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub level: Level,
    pub with: Vec<Level>,
    pub units: usize,
    /// Sum of squares of the units' means about that of their parent.
    pub squares: f64,
    pub groups: Vec<Group>,
}

/// All levels that can be told from one another, from the outermost, and the mean over all.
#[derive(Clone, Debug)]
pub(super) struct Design {
    pub stages: Vec<Stage>,
    pub mean: f64,
    pub factors: Factors,
}

impl Design {
    pub fn of(runs: &[Observation], has_requests: bool) -> Result<Self, VarianceError> {
        check(runs)?;
        let mut stages = visible(runs);
        let lowest = stages.last().map_or(Level::Run, |stage| stage.level);
        let mut units: Vec<Unit> = runs.iter().map(|run| unit(run, lowest, has_requests)).collect();
        if !has_requests && let Some(last) = stages.last_mut() {
            last.with.push(Level::Request);
        }
        for at in (0..stages.len()).rev() {
            let above = at.checked_sub(1).map(|above| stages[above].level);
            units = gathered(units, above, &mut stages[at]);
        }
        let [root] = units.as_slice() else { return Err(VarianceError::TooFewRuns(runs.len())) };
        Ok(Self { mean: root.mean, factors: root.factors, stages })
    }
}

fn check(runs: &[Observation]) -> Result<(), VarianceError> {
    if runs.len() < 2 {
        return Err(VarianceError::TooFewRuns(runs.len()));
    }
    if let Some(run) = runs.iter().find(|run| !(run.mean > 0.0 && run.mean.is_finite())) {
        return Err(VarianceError::NoResponse(run.place));
    }
    let mut places: Vec<Position> = runs.iter().map(|run| run.place).collect();
    places.sort_unstable();
    match places.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(VarianceError::TwiceAt(pair[0])),
        None => Ok(()),
    }
}

/// Levels of more units than the one above them; others count with that one, and above all of them with none.
fn visible(runs: &[Observation]) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    for level in Level::ALL.into_iter().filter(|level| *level != Level::Request) {
        let mut keys: Vec<[u32; 4]> = runs.iter().map(|run| run.place.up_to(level)).collect();
        keys.sort_unstable();
        keys.dedup();
        match stages.last_mut() {
            Some(last) if last.units == keys.len() => last.with.push(level),
            None if keys.len() == 1 => {}
            _ => stages.push(Stage {
                level,
                with: Vec::new(),
                units: keys.len(),
                squares: 0.0,
                groups: Vec::new(),
            }),
        }
    }
    stages
}

fn unit(run: &Observation, lowest: Level, has_requests: bool) -> Unit {
    let mut factors = [0.0; 5];
    factors[lowest as usize] = 1.0;
    if has_requests {
        factors[Level::Request as usize] = 1.0 / run.requests();
    }
    Unit { key: run.place.up_to(Level::Run), mean: run.mean, factors }
}

/// Puts units of a stage together by their parents, whose own level is `above`, and notes what they tell of the stage.
fn gathered(units: Vec<Unit>, above: Option<Level>, stage: &mut Stage) -> Vec<Unit> {
    let mut parents: BTreeMap<[u32; 4], Vec<Unit>> = BTreeMap::new();
    for unit in units {
        let place =
            |at: usize| if above.is_some_and(|above| at <= above as usize) { unit.key[at] } else { 0 };
        parents.entry(std::array::from_fn(place)).or_default().push(unit);
    }
    parents.into_iter().map(|(key, children)| parent(key, &children, above, stage)).collect()
}

fn parent(key: [u32; 4], children: &[Unit], above: Option<Level>, stage: &mut Stage) -> Unit {
    let count = children.len() as f64;
    let mean = children.iter().map(|child| child.mean).sum::<f64>() / count;
    stage.squares += children.iter().map(|child| (child.mean - mean).powi(2)).sum::<f64>();
    stage.groups.push(children.iter().map(|child| child.factors).collect());
    let sum = |at: usize| children.iter().map(|child| child.factors[at]).sum::<f64>() / count.powi(2);
    let mut factors: Factors = std::array::from_fn(sum);
    if let Some(above) = above {
        factors[above as usize] += 1.0;
    }
    Unit { key, mean, factors }
}
