//! The variation study: servers that should be alike, measured from start to start; how much each level varies, and why.
//!
//! `study` is what the harness makes: `bed` has the servers, `round` makes a run on one of them or the same load on several at once.
//!
//! All else is pure: `record` is the setting in its plan, `parts` which runs there are, `time` how long they take, `figures` which figures
//! a run has, `seen` makes of runs what core judges, `differences` refuses servers that are not alike, `pages` reads files, `facts` compares plans and pages, `foretold` tells reads from them before any load, `found` says what the runs come to, `judge` in which form, `findings` holds them
//! beside the published ones, `references` has those, `words` the sentences.

mod bed;
mod differences;
mod facts;
pub mod figures;
mod findings;
mod foretold;
mod found;
mod judge;
pub mod pages;
pub mod parts;
pub mod record;
mod references;
mod round;
mod same;
mod seen;
mod study;
#[cfg(test)]
mod tests;
pub mod time;
mod words;

pub use judge::judge;
pub use study::Variation;

/// The study's name in plans and on the command line.
pub const NAME: &str = "variation";

pub const QUESTION: &str =
    "how much do response times differ from run to run, start to start and server to server, and why?";
