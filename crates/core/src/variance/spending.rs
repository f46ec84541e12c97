use super::components::Components;
use super::design::Level;

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
