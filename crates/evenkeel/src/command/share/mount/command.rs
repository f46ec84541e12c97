//! `evenkeel share mount`: until SIGTERM, or until somebody unmounts it.

use super::super::running::Running;
use super::{Mkfs, Mounted, free_folder, mount};
use crate::command::Session;
use crate::config::share::Flags;
use crate::out;
use anyhow::{Context, Result};
use evenkeel_share::FuseDisk;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const NAP: Duration = Duration::from_millis(50);

/// Flags of `evenkeel share mount`: those of a disk, and where.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel share mount --backing /dev/sdb --share 4 --name web1 --at /srv/data --bus slot:/shared/slots
  evenkeel share mount --backing disk.img --size 10G --name web1 --at /srv/data --mkfs ext4
  evenkeel share mount --config share.toml --at /srv/data

The file is that of `evenkeel share disk`, with one disk: `evenkeel share disk --print-config`.
Needs root, /dev/fuse and a loop device. SIGTERM, SIGHUP and `umount` unmount and stop everything
in order, with exit code 0. While processes use the file system it stays mounted (`fuser -vm DIR`
names them). A second signal does not wait: the exit code is then 143 (130, 129). A loop device
passes at most 128 I/Os at a time to the disk, so a window above 128 has no effect.")]
pub struct MountArgs {
    #[command(flatten)]
    disk: Flags,
    /// Folder to mount at
    #[arg(long, value_name = "DIR")]
    at: PathBuf,
    /// Create a file system if the disk is blank
    #[arg(long, value_enum, value_name = "TYPE")]
    mkfs: Option<Mkfs>,
}

/// Mounts a disk.
///
/// # Errors
/// Wrong flags, storage that cannot be used, a step of the mount that failed and was undone.
pub fn run(session: &Session, args: &MountArgs) -> Result<ExitCode> {
    let config = args.disk.read_one()?;
    // Before anything is started that others see.
    free_folder(&args.at)?;
    let running = Running::start(&config)?;
    let (bytes, read_only) = running.sizes.first().copied().context("there is one disk")?;
    let disk = FuseDisk { disk: 0, name: config.disks[0].name.clone(), bytes, read_only };
    let mut mounted = match mount(running.handle(), disk, &args.at, args.mkfs) {
        Ok(mounted) => mounted,
        Err(error) => {
            running.stop()?;
            return Err(error);
        }
    };
    running.log_mounted(mounted.at(), config.log);
    out::line(format!("mounted at {}", mounted.at().display()))?;
    while !session.stop.is_set() && running.is_well() && mounted.is_up() {
        std::thread::sleep(NAP);
    }
    take_down(&mut mounted)?;
    running.stop()
}

fn take_down(mounted: &mut Mounted) -> Result<()> {
    let mut told = String::new();
    loop {
        let Err(error) = mounted.down() else { return Ok(()) };
        if !mounted.is_mounted() {
            return Err(error);
        }
        let text = format!("{error:#}");
        if text != told {
            out::tell(&format!("waiting: {text}\n"));
            told = text;
        }
        std::thread::sleep(NAP);
    }
}
