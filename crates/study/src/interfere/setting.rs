//! What an `interfere` is made by: two domains or three, and the jobs in each.

use super::jobs::{ALONE, Job};
use crate::harness::{Factor, Part};
use crate::published::MachineRecord;
use evenkeel_site::sandbox::Domain;
use serde::{Deserialize, Serialize};
use std::fmt;

pub const PART: &str = "pairs";
/// Names of domains with a private server.
const NAMES: [&str; 3] = ["a", "b", "c"];
/// Those of the two that remedies are tried with.
pub const PAIR: [&str; 2] = ["a", "b"];

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// Where jobs run, in the order of the plan's factors.
    pub domains: Vec<Site>,
    /// The schema of the jobs on servers of the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch: Option<String>,
    /// Rows of the table that is read.
    pub rows: u64,
    /// How long all jobs are watched.
    pub seconds: f64,
    pub place: MachineRecord,
}

/// A place for jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Site {
    /// With a private server.
    Private(Domain),
    /// A server of the user's, anywhere.
    Server { name: String, url: String, sense_with: Option<String> },
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private(domain) => domain.fmt(f),
            Self::Server { url, .. } => f.write_str(url),
        }
    }
}

/// Names of domains: private ones are `a`, `b` and `c`.
pub fn names(domains: &[Site]) -> Vec<String> {
    let mut letters = NAMES.iter();
    let name = |site: &Site| match site {
        Site::Private(_) => letters.next().map_or_else(String::new, |letter| (*letter).to_owned()),
        Site::Server { name, .. } => name.clone(),
    };
    domains.iter().map(name).collect()
}

/// The runs of these jobs in the domains of these names.
pub fn parts(names: &[String], jobs: &[Vec<&'static Job>], repeats: u32) -> Vec<Part> {
    // The names say enough in tables; what each does stands in the guide.
    let factor = |(name, jobs): (&String, &Vec<&'static Job>)| {
        Factor::named(
            name,
            [ALONE].into_iter().chain(jobs.iter().map(|job| job.name)).map(|level| (level, "")),
        )
    };
    let about = "Each job in its domain, while the others have no job, and beside each job there.";
    let factors = names.iter().zip(jobs).map(factor).collect();
    vec![Part::new(PART, "who slows whom down", about, factors, repeats)]
}
