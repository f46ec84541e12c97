//! Tests of the whole: the rules of the house, and the binary as a user runs it.

mod cdr;
mod cdr_audit;
mod cdr_dispatch;
mod cdr_export;
mod cdr_load;
mod cdr_scene;
mod cdr_watch;
mod cli;
mod compare;
mod contrib;
mod domain;
mod drill;
mod elsewhere;
mod guard;
mod house;
mod interfere;
mod knee;
mod layout;
#[path = "../../../../tests/left_out.rs"]
mod left_out;
mod mounted;
mod own_server;
mod own_study;
mod passwords;
mod profile;
mod relayout;
mod replay;
mod row_hash;
mod sandbox;
mod servers;
mod share;
mod signals;
mod study;
mod workload;
