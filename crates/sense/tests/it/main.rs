//! Sense on the machine that runs the tests: no root, no control group, no counter is taken for granted.

mod process;
mod sampler;
