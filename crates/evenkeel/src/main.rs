//! Evenkeel's command line: flags and files in, reports out.
#![allow(dead_code, reason = "until the commands call what reads and reports")]
mod config;

fn main() {}
