//! Evenkeel's command line: flags and files in, reports out.
//!
//! The only place that prints and ends the process. Exit codes: 0 done, 1 a finding, 2 wrong use or configuration, 3 the
//! measurement is not valid, 130 or 143 stopped by Ctrl-C or SIGTERM (`signals`).
#![forbid(unsafe_code)]

mod arguments;
mod caveats;
mod child;
mod cli;
mod columns;
mod command;
mod config;
mod console;
mod export;
mod failed;
mod failure;
#[cfg(test)]
mod fixture;
mod format;
mod guard;
mod out;
mod pages;
mod profile;
mod progress;
mod published;
mod report;
mod server;
mod share;
mod signals;
mod study;
mod table;
mod view;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().len() == 1 {
        // Nobody reads it where it cannot be written.
        let _ = out::write(cli::FIRST_STEPS);
        return ExitCode::SUCCESS;
    }
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    arguments::hide_passwords();
    match cli::run(cli) {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
