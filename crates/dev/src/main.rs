//! What benches run beside `evenkeel`: simulations whose truth is known, as lines of JSON.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "its output is for benches")]

mod command;

use clap::Parser;

fn main() -> anyhow::Result<()> {
    command::Cli::parse().run()
}
