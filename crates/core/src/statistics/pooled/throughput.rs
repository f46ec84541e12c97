use super::variance::{Parts, error, ratio};
use super::{Bounds, Figure, Pooled};

impl Pooled<'_> {
    /// Completions per second over all runs; `None` where nothing was completed.
    ///
    /// In the long run as many complete as arrive, and what leaves a queue at rest is as independent as what comes (Burke,
    /// Oper. Res. 4 (1956) 699), so that its interval needs no long runs. It is built on the log scale.
    pub fn throughput(&self) -> Option<Figure> {
        let parts: Vec<Parts> = self
            .runs
            .iter()
            .map(|run| {
                let seconds = run.seconds / run.batches.len().max(1) as f64;
                let batches = run.batches.iter().map(|batch| (batch.completed as f64, seconds)).collect();
                Parts { whole: (run.completions as f64, run.seconds), batches }
            })
            .collect();
        let value = ratio(&parts)?;
        let error = error(&parts);
        let bounds = error.map_or(Bounds::None, |error| error.on_log_scale(value));
        Some(Figure::new(value, self.runs.len(), error, bounds))
    }
}
