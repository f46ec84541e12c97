//! `evenkeel share disk`: serves until SIGTERM, and reads its configuration again at SIGHUP.

use super::running::Running;
use super::{reload, supervisor};
use crate::command::Session;
use crate::config::share::Flags;
use crate::out;
use anyhow::{Context, Result};
use evenkeel_share::event::Event;
use signal_hook::consts::SIGHUP;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often signals are looked at.
const NAP: Duration = Duration::from_millis(50);

/// Runs until SIGTERM.
pub fn run(session: &Session, flags: &Flags) -> Result<ExitCode> {
    let config = flags.read()?;
    if flags.check {
        out::line("the configuration is right")?;
        return Ok(ExitCode::SUCCESS);
    }
    let hangup = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, Arc::clone(&hangup)).context("installing handlers of signals")?;
    let mut running = Running::start(&config)?;
    supervisor::notify_ready();
    while !session.stop.is_set() && running.is_well() {
        std::thread::sleep(NAP);
        if hangup.swap(false, Ordering::Relaxed) {
            let mut added = Vec::new();
            let event = match flags.read_again().and_then(|config| running.reload(&config, &mut added)) {
                Ok(ignored) => Event::Reloaded { ignored },
                Err(error) => Event::ReloadFailed { reason: reload::failed(&error, &added) },
            };
            running.listener.notify(&event);
        }
    }
    running.stop()
}
