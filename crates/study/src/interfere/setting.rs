//! What an `interfere` is made by: two domains and the jobs in each.

use super::jobs::{ALONE, Job};
use crate::harness::{Factor, Part};
use crate::published::{MachineRecord, Number, Numbers};
use evenkeel_site::sandbox::Domain;
use serde::{Deserialize, Serialize};

pub const PART: &str = "pairs";
/// The domains by name.
pub const DOMAINS: [&str; 2] = ["a", "b"];

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setting {
    pub domains: [Domain; 2],
    /// Rows of the table that is read.
    pub rows: u64,
    /// How long both jobs are watched.
    pub seconds: f64,
    pub place: MachineRecord,
}

impl Numbers for Setting {
    fn numbers(&self) -> Vec<Number> {
        vec![Number::new("rows", self.rows as f64, 500.0, 1e9), Number::measured_s("seconds", self.seconds)]
    }
}

/// The runs of these jobs of each domain.
pub fn parts(jobs: &[Vec<&'static Job>; 2], repeats: u32) -> Vec<Part> {
    let factor = |(name, jobs): (&str, &Vec<&'static Job>)| {
        let levels = [(ALONE, "no job")].into_iter().chain(jobs.iter().map(|job| (job.name, job.about)));
        let mut factor = Factor::named(name, levels);
        // The names say enough in tables; what each does stands in the guide.
        factor.levels.iter_mut().for_each(|level| level.title.clear());
        factor
    };
    let about = "Each job in its domain, while the other domain has no job, and beside each job there.";
    let factors = DOMAINS.into_iter().zip(jobs).map(factor).collect();
    vec![Part::new(PART, "who slows whom down", about, factors, repeats)]
}
