//! What is to be run, and what a run brought.

use evenkeel_core::share::experiment::Way;

/// How it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Closed clients of each store, without think time.
    pub clients: u32,
    /// Load before measuring begins.
    pub warm_up_s: f64,
    /// Measured time of a run.
    pub duration_s: f64,
    /// Of each store, by its name.
    pub size: String,
    /// Rounds, each of which has every way once.
    pub rounds: u32,
    /// Most windows.
    pub most: Vec<u32>,
    /// What sets the windows.
    pub ways: Vec<Way>,
    /// From one window to the next.
    pub period_s: f64,
    /// Of what clients order.
    pub seed: u64,
}

/// Which run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// What sets the windows.
    pub way: Way,
    /// Most window of a host.
    pub most: u32,
    /// From 1.
    pub round: u32,
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Which.
    pub key: Key,
    /// Of the measured time.
    pub hosts: [Figures; 2],
    /// Since both loads began, in order of time.
    pub periods: Vec<Period>,
    /// Doubts of the load generator, each once, with the host.
    pub caveats: Vec<String>,
}

/// What a host made in the measured time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Orders per minute, those rolled back for want of stock among them, as the benchmark has it.
    pub orders_per_minute: f64,
    /// Standard error of that within the run.
    pub standard_error: Option<f64>,
    /// Mean time of an order.
    pub response_ms: f64,
    /// Orders rolled back for want of stock.
    pub rolled_back: u64,
    /// Orders that failed, or were given up.
    pub lost: u64,
    /// Of its data disk.
    pub ios_per_s: f64,
    /// Of its data disk, weighted by I/Os.
    pub latency_ms: Option<f64>,
    /// Mean over periods.
    pub window: f64,
    /// I/Os under way or held back, mean over periods.
    pub wanted: f64,
    /// I/Os under way, mean over periods.
    pub outstanding: f64,
    /// Mean over periods.
    pub beta: f64,
}

/// A period of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Its end, since both loads began.
    pub at_s: f64,
    /// Place of the host.
    pub host: usize,
    /// The window from then on.
    pub window: f64,
    /// Mean under way in it.
    pub outstanding: f64,
    /// Mean under way or held back in it.
    pub wanted: f64,
    /// Of the window before.
    pub beta: f64,
    /// I/Os per second in it.
    pub ios_per_s: f64,
    /// Their mean latency in seconds.
    pub latency_s: Option<f64>,
}

impl Setting {
    /// All runs in their order: each round has every way once, and begins with another one.
    pub fn keys(&self) -> Vec<Key> {
        let of_round = |round: u32| {
            let ways = self.ways.iter();
            let mut keys: Vec<Key> = self
                .most
                .iter()
                .flat_map(|&most| ways.clone().map(move |&way| Key { way, most, round }))
                .collect();
            let turned = (round as usize - 1) % keys.len().max(1);
            keys.rotate_left(turned);
            keys
        };
        (1..=self.rounds).flat_map(of_round).collect()
    }

    /// Time of load in a run.
    pub fn run_s(&self) -> f64 {
        self.warm_up_s + self.duration_s
    }
}

impl Run {
    /// Orders of host b over those of host a; `None` where a made none.
    pub fn ratio(&self) -> Option<f64> {
        let [a, b] = &self.hosts;
        (a.orders_per_minute > 0.0).then(|| b.orders_per_minute / a.orders_per_minute)
    }

    /// Doubts with the run that they are of.
    pub fn doubts(&self) -> impl Iterator<Item = String> + '_ {
        let Key { way, most, round } = self.key;
        self.caveats
            .iter()
            .map(move |caveat| format!("{}, most window {most}, round {round}, {caveat}", way.name()))
    }

    /// Orders per minute of both.
    pub fn total(&self) -> f64 {
        self.hosts.iter().map(|host| host.orders_per_minute).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::setting;

    #[test]
    fn every_round_begins_with_another_way() {
        let keys = setting().keys();
        let names: Vec<String> = keys.iter().map(|key| format!("{} {}", key.way.name(), key.most)).collect();
        assert_eq!(keys.len(), 12);
        assert_eq!((names[0].as_str(), names[5].as_str()), ("uncontrolled 32", "evenkeel 64"));
        assert_eq!((names[6].as_str(), names[11].as_str()), ("parda 32", "uncontrolled 32"));
        assert!(keys[6..].iter().all(|key| key.round == 2));
    }
}
