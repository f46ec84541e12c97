//! Records of many files as delimited files, on all CPUs, in order, and with a bounded memory.

mod block;
mod done;
mod job;
mod output;
pub(crate) mod pool;
mod progress;
mod repeated;
mod stream;

pub(crate) use block::{Context, Converted, tidy, write_reject};
pub use block::{Direction, Tally};
pub use done::Done;
pub(crate) use job::Lines;
pub use job::{Duplicates, Job};
pub(crate) use pool::{Sink, run};
pub use progress::{Progress, Step};
pub(crate) use repeated::{Stretch, find_repeated, has_keys};
pub use stream::to_stream;

#[cfg(test)]
mod tests;
