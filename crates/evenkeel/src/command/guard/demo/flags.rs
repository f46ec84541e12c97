//! Flags of `evenkeel guard demo`.

use crate::config::units;
use anyhow::{Result, bail};
use std::path::PathBuf;

/// Flags of `evenkeel guard demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A private MariaDB is started and filled. Act 1: 8 clients buy, then 256, straight at the server.
Act 2: the same 256 through a guard. Server and guard listen at free ports of 127.0.0.1, and all is
removed at the end, also after Ctrl-C.

Examples:
  evenkeel guard demo
  evenkeel guard demo --clients 400 --duration 30s")]
pub struct DemoArgs {
    /// Number of clients in the flash sale
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(16..=450))]
    pub clients: u32,
    /// Length of each load, whole seconds; the guard's takes twice as long, and its figures are those of the second half
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = seconds)]
    pub duration: u32,
    /// A mariadbd or mysqld other than the system's
    #[arg(long, value_name = "PATH")]
    pub server_binary: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<u32> {
    let seconds = units::duration(text)?.as_secs_f64();
    match (3.0..=600.0).contains(&seconds) && seconds.fract() == 0.0 {
        true => Ok(seconds as u32),
        false => bail!("between 3s and 600s is needed, in whole seconds"),
    }
}
