//! The probes of the study of domains, called from outside: by benches, which hold their figures against the kernel's counters.

use anyhow::Result;
use evenkeel_os::Stop;
use evenkeel_site::sandbox;
use evenkeel_study::probe::Place;
use evenkeel_study::probe::disk::disk;
use evenkeel_study::probe::network::{Pair, at_once};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to measure
    #[arg(value_enum)]
    what: What,
    /// Folder of private servers; files of a probe on the machine go there, too
    #[arg(long)]
    home: PathBuf,
    /// The private server whose domain it is; the machine without it
    #[arg(long)]
    server: Option<String>,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 2)]
    seconds: u32,
    /// Bytes of the file of `disk`
    #[arg(long, default_value_t = 64 << 20)]
    file: u64,
    /// Bytes of its records
    #[arg(long, default_value_t = 4096)]
    record: u64,
    /// What it does with them: random-read, random-write, sequential-read, sequential-write
    #[arg(long, default_value = "random-read")]
    access: String,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum What {
    Disk,
    /// From the machine to the server's place
    Network,
}

#[derive(Debug, clap::Args)]
pub struct Volatile {
    /// Has the file `disk`, and a folder `served` in which it is shown
    pub folder: PathBuf,
    /// It says that flushes are done, and does nothing
    #[arg(long)]
    pub lies: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let server = args.server.as_ref().map(|name| sandbox::find(&args.home, name)).transpose()?;
    let host = Place::host(&args.home);
    let place = server.as_ref().map_or_else(|| Ok(host.clone()), Place::of)?;
    let (stop, time) = (Stop::default(), Duration::from_secs(args.seconds.into()));
    let said: Value = match args.what {
        What::Disk => {
            let access = serde_json::from_value(args.access.clone().into())?;
            json!(disk(&place, [args.file, args.record], &[access], true, time, &stop)?)
        }
        What::Network => {
            json!(at_once(&[Pair { server: &place, client: &host }], args.seconds, &stop)?)
        }
    };
    println!("{said}");
    Ok(())
}
