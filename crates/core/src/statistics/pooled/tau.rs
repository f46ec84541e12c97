use super::variance::{error, ratio};
use super::{Bounds, Figure, Pooled};

impl Pooled<'_> {
    /// Mean response time in ns over all requests of all runs; `None` where all took no time.
    pub fn tau(&self) -> Option<Figure> {
        let parts = self.parts(|batch| (batch.response_sum.0 as f64, batch.spectrum.count() as f64));
        let value = ratio(&parts)?;
        let error = error(&parts);
        let bounds =
            error.map_or(Bounds::None, |error| error.on_reciprocal_scale(value, self.is_long_enough()));
        Some(Figure::new(value, self.runs.len(), error, bounds))
    }
}
