//! Tests of the lab against real servers, in one binary.

mod sandbox;
mod target;
