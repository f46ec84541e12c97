//! `evenkeel share slots`: a slot file before any host uses it.

use crate::config::share::{BusConfig, ShareConfig};
use crate::failure::WithHint;
use crate::out;
use anyhow::{Context, Result};
use evenkeel_bus::nats::{Login, Nats, Plan};
use evenkeel_bus::slot::{SLOTS, Slots, make};
use evenkeel_bus::{Alone, Bus, BusError, Carrier};
use evenkeel_os::clock::Clock;
use std::path::{Path, PathBuf};
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

pub fn open(config: &ShareConfig, clock: Clock) -> Result<Bus> {
    let opened = Bus::open(carrier(config)?, &config.name, config.window.period, clock);
    opened.with_context(|| format!("joining the hosts of `{}`", config.bus.array))
}

fn carrier(config: &ShareConfig) -> Result<Box<dyn Carrier>> {
    let bus = &config.bus;
    let Some(address) = bus.address.as_deref() else { return Ok(Box::new(Alone::default())) };
    let Some(path) = address.strip_prefix("slot:") else {
        return Ok(Box::new(Nats::open(&nats(config, bus, address)?)?));
    };
    let opened = Slots::open(Path::new(path), bus.slots);
    // What the bus knows of the way out says more, where it does.
    let known = opened.as_ref().err().and_then(BusError::hint);
    let made = "a missing slot file is created; its folder must exist";
    Ok(Box::new(opened.hint(known.unwrap_or(made.into()))?))
}

fn nats(config: &ShareConfig, bus: &BusConfig, address: &str) -> Result<Plan> {
    let login = bus.login.as_deref().map(Login::read).transpose()?.unwrap_or_default();
    Ok(Plan {
        servers: address.split(',').map(str::to_owned).collect(),
        array: bus.array.clone(),
        member: config.name.clone(),
        login,
        authorities: bus.authorities.clone(),
        waits: !bus.require,
    })
}
