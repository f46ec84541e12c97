//! Tests of the whole: the rules of the house, and the binary as a user runs it.

mod benches;
mod cdr;
mod cdr_dispatch;
mod cdr_keys;
mod cdr_load;
mod cli;
mod contrib;
mod elsewhere;
mod explain;
mod failed;
mod guard;
mod guide;
mod homes;
mod house;
mod knee;
#[path = "../../../../tests/left_out.rs"]
mod left_out;
mod load;
mod members;
mod mounted;
mod old_names;
mod own_study;
mod package;
mod patience;
mod profile;
mod sandbox;
mod share;
mod signals;
mod stalled;
mod study;
mod units;
