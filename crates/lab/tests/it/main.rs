//! Tests of the lab against real servers, in one binary.

mod data;
mod explain;
mod sandbox;
mod shop;
mod target;
mod workload;
