//! Records of many files as delimited files, on all CPUs, in order, and with a bounded memory.

mod behind;
mod block;
mod done;
mod job;
mod output;
mod pool;
mod progress;
mod stream;

pub use block::{Direction, Tally};
pub use done::Done;
pub use job::{Duplicates, Job, KeysFile};
pub use progress::{Progress, Step};
pub use stream::{Stream, Twice};

#[cfg(test)]
mod tests;
