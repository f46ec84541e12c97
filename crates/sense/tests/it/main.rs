//! Sense on the machine that runs the tests: no root, no control group, no counter is taken for granted.

#[path = "../../../../tests/left_out.rs"]
mod left_out;
mod process;
mod sampler;
mod throttle;
