//! Tests of the lab against real servers, in one binary.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod data;
mod explain;
mod sandbox;
mod shop;
mod target;
mod workload;
