//! How a host reaches the others.

use crate::config::share::{BusConfig, ShareConfig};
use crate::failure::WithHint;
use anyhow::{Context, Result};
use evenkeel_bus::nats::{Login, Nats, Plan};
use evenkeel_bus::slot::Slots;
use evenkeel_bus::{Alone, Bus, BusError, Carrier};
use evenkeel_os::clock::Clock;
use std::path::Path;

pub fn open(config: &ShareConfig, clock: Clock) -> Result<Bus> {
    let opened = Bus::open(carrier(config)?, &config.name, config.period, clock);
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
