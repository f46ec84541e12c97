//! Records of many files as delimited files, on all CPUs, in order, and with a bounded memory.

mod again;
mod behind;
mod block;
mod done;
mod job;
mod output;
pub(crate) mod pool;

pub(crate) use again::{Lines, has_keys, see_again};
pub use block::Tally;
pub(crate) use block::{Context, Converted, tidy, write_reject};
pub use done::Done;
pub use job::{Duplicates, Job};
pub(crate) use pool::{Sink, run};

#[cfg(test)]
mod tests;
