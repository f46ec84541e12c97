//! What benches run beside `evenkeel`: simulations whose truth is known, as lines of JSON.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "its output is for benches")]

mod command;

use clap::Parser;
use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    command::Cli::parse().run()
}
