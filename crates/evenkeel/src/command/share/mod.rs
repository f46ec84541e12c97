//! `evenkeel share`: hosts that use the same storage, each with its share of it.

mod array;
mod backing;
mod disk;
mod knee;
mod mount;
mod running;
mod slots;

use super::Session;
use crate::share::top::{History, read};
use crate::view::live;
use anyhow::Result;
use std::process::ExitCode;

/// Flags of `evenkeel share`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel share disk --backing /dev/sdb --share 4 --name web1 --nbd /run/web1.sock --bus slot:/shared/slots
  evenkeel share disk --config /etc/evenkeel/share.toml
  evenkeel share mount --backing /dev/sdb --share 4 --name web1 --at /srv/data --mkfs ext4 --bus slot:/shared/slots
  evenkeel share knee --backing /dev/sdb --direct
  evenkeel share knee --backing /dev/sdb --direct --costs
  evenkeel share top 127.0.0.1:9308
  evenkeel share array test.sim --spindles 10 --service 2.9ms

Each host runs `share disk` in front of the common storage. There is no central scheduler: each host \
reports its measurements to the others and limits its own outstanding I/Os. Throughput then follows the \
shares, and the latency of the storage stays at a threshold.")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Serve virtual disks in front of files or block devices
    Disk(Box<disk::DiskArgs>),
    /// Put a file system on a disk and mount it, in one step
    Mount(Box<mount::MountArgs>),
    /// Find the latency threshold, or what I/Os cost, by measuring the storage
    Knee(knee::KneeArgs),
    /// Watch a host: window, latency, disks, members, and why the window was set
    Top(TopArgs),
    /// Make a simulated array: storage of known behaviour, for trials and tests
    Array(array::ArrayArgs),
    /// Make a slot file, through which hosts reach each other, or use an empty block device as one
    Slots(slots::SlotsArgs),
}

impl Args {
    /// Whether it is a service, which reads its configuration again at SIGHUP and keeps nothing in a home.
    pub fn is_a_service(&self) -> bool {
        matches!(self.action, Action::Disk(_))
    }
}

/// Serves disks, or makes what they stand on.
/// Errors: wrong flags or files, storage that cannot be used.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.action {
        Action::Disk(args) => disk::run(session, args),
        Action::Mount(args) => mount::run(session, args),
        Action::Knee(args) => knee::run(session, args),
        Action::Top(args) => run_top(session, args),
        Action::Array(array) => array::run(array),
        Action::Slots(args) => slots::run(args),
    }
}

/// Flags of `evenkeel share top`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel share top 127.0.0.1:9308
  evenkeel share top 127.0.0.1:9308 --once")]
pub struct TopArgs {
    /// Address at which the host serves its metrics
    address: String,
    #[command(flatten)]
    live: live::LiveFlags,
}

/// Draws until q or Ctrl-C.
fn run_top(session: &Session, args: &TopArgs) -> Result<ExitCode> {
    let mut history = History::default();
    let address = args.address.clone();
    live::show(session, &args.live, &mut history, move || read(&address), History::push, History::draw)
}
