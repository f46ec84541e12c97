//! Tests of the lab against real servers, in one binary.

mod data;
mod sandbox;
mod target;
