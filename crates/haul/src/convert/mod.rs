//! Records of many files as delimited files, on all CPUs, in order, and with a bounded memory.

mod block;
mod done;
mod job;
mod output;
pub(crate) mod pool;
mod progress;
mod stream;

pub use block::{Direction, Tally};
pub use done::Done;
pub use job::{Duplicates, Job};
pub use progress::{Progress, Step};
pub use stream::to_stream;

#[cfg(test)]
mod tests;
