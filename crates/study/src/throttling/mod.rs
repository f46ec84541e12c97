//! The throttling study: throughput against the number of clients, and who keeps it at its peak.
//!
//! `study` is what the harness makes: `server` is the private server, `point` and `step` are runs on it, `settle` waits for the limit of
//! the published controller, `observe` looks at the machine meanwhile.
//!
//! All else is pure: `record` is the setting in its plan, `parts` which runs there are, `figures` which figures a point
//! has, `settling` whether a limit came to rest, `verdict` what the points say of the published finding, `words` in which sentences,
//! `judge` all of that together.

pub mod figures;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod judge;
mod observe;
pub mod parts;
mod point;
pub mod record;
mod server;
mod settle;
pub mod settling;
mod step;
mod study;
pub mod verdict;
pub mod words;

pub use judge::judge;
pub use server::REREAD_TOML;
pub use study::Throttling;

/// The study's name in plans and on the command line.
pub const NAME: &str = "throttling";

pub const QUESTION: &str =
    "does throughput fall beyond a peak as clients are added, and does a controller keep it there?";

/// Name of the note of a run that says why there are no hardware counters.
pub const COUNTERS_REFUSED: &str = "counters-refused";
