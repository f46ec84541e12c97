//! Tests of the lab against real servers, in one binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod data;
mod dvdstore;
#[path = "../../../../tests/left_out.rs"]
mod left_out;
mod load;
mod per_request;
mod sandbox;
mod shop;
mod silent;
mod study;
mod target;
mod workload;
