//! `evenkeel share slots`: a slot file before any host uses it.

use crate::failure::WithHint;
use crate::out;
use anyhow::{Context, Result};
use evenkeel_bus::BusError;
use evenkeel_bus::slot::{SLOTS, make};
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel share slots`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel share slots /shared/evenkeel.slots --slots 128
  evenkeel share slots /dev/mapper/shared-slots

The first host that names a missing file in --bus makes it as well. A block device becomes a slot file only by this command, \
if nobody uses it and all slots, its first 128 KiB and its last 128 KiB are zero.")]
pub struct SlotsArgs {
    /// The file to make, or the block device
    path: PathBuf,
    /// Maximum number of hosts
    #[arg(long, value_name = "N", default_value_t = SLOTS)]
    slots: usize,
}

/// Makes the slot file, or says why it cannot be made.
pub fn run(args: &SlotsArgs) -> Result<ExitCode> {
    let path = args.path.display();
    let made = make(&args.path, args.slots);
    let hint = match &made {
        Err(BusError::NotSlots { .. }) => {
            "name another device, or wipe this one (blkdiscard -z) if its contents are not needed"
        }
        _ => "name a new file in an existing folder, or a block device that is not in use",
    };
    made.hint(hint).with_context(|| format!("making the slot file {path}"))?;
    out::line(format!("{path}: a slot file of {} slots; name it in --bus slot:{path}", args.slots))?;
    Ok(ExitCode::SUCCESS)
}
