//! What is shown: acts of one-second samples, and what an act comes to.

/// About a second of load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub seconds: f64,
    pub commits: u64,
    pub deadlocks: u64,
    /// Mean response time in seconds of what was committed; `None` where nothing was.
    pub response_s: Option<f64>,
    /// What the guard said at its end; `None` without one.
    pub guard: Option<Guarded>,
}

/// What a guard reports of itself in a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guarded {
    pub limit: usize,
    pub running: usize,
    pub waiting: usize,
    pub decision: String,
}

/// A stretch of the show under one load.
#[derive(Clone, Debug, Default)]
pub struct Act {
    /// As `direct, 8 clients`.
    pub name: String,
    /// A word or two for the axis of the chart.
    pub mark: String,
    /// Samples at its begin that its figures leave out: the load, or the guard, is not there yet.
    pub settle: usize,
    pub samples: Vec<Sample>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    pub mean: f64,
    /// The slowest and the fastest of its samples, in commits per second.
    pub range: (f64, f64),
    pub samples: usize,
    /// `None` where nothing was committed.
    pub deadlocks_per_commit: Option<f64>,
}

#[derive(Clone, Debug, Default)]
pub struct Show {
    /// The server, as `MariaDB 10.11.19`.
    pub server: String,
    /// Samples of all acts, when they are over.
    pub planned: usize,
    /// Where the guard serves its metrics; `None` before it runs.
    pub metrics: Option<String>,
    pub acts: Vec<Act>,
}

impl Sample {
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.commits as f64 / self.seconds } else { 0.0 }
    }
}

impl Act {
    /// What it comes to so far; `None` before its first sample that counts.
    pub fn figures(&self) -> Option<Figures> {
        let counted = self.samples.get(self.settle..).filter(|counted| !counted.is_empty())?;
        let commits: u64 = counted.iter().map(|sample| sample.commits).sum();
        let seconds: f64 = counted.iter().map(|sample| sample.seconds).sum();
        let deadlocks: u64 = counted.iter().map(|sample| sample.deadlocks).sum();
        let rates = || counted.iter().map(Sample::rate);
        Some(Figures {
            mean: commits as f64 / seconds,
            range: (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max)),
            samples: counted.len(),
            deadlocks_per_commit: (commits > 0).then(|| deadlocks as f64 / commits as f64),
        })
    }
}

impl Show {
    pub fn begin(&mut self, act: Act) {
        self.acts.push(act);
    }

    pub fn push(&mut self, sample: Sample) {
        if let Some(act) = self.acts.last_mut() {
            act.samples.push(sample);
        }
    }

    pub fn len(&self) -> usize {
        self.acts.iter().map(|act| act.samples.len()).sum()
    }
}
