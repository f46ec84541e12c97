//! `evenkeel share disk`: serves until SIGTERM, and answers the other signals and a successor meanwhile.

use super::{handover, reload, supervisor};
use crate::command::Session;
use crate::config::share::Flags;
use crate::out;
use anyhow::{Context, Result};
use evenkeel_share::event::Event;
use signal_hook::consts::{SIGHUP, SIGUSR2};
use std::process::{Child, ExitCode};
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
    let (hangup, replace) = (flag(SIGHUP)?, flag(SIGUSR2)?);
    // Before anybody puts another one in its place.
    let program = std::env::current_exe().context("finding the own program")?;
    let (mut running, mut successors) = (handover::begin(&config)?, Vec::<Child>::new());
    supervisor::notify_ready();
    while !session.stop.is_set() && running.is_well() {
        std::thread::sleep(NAP);
        if replace.swap(false, Ordering::Relaxed) {
            successors.extend(handover::start_successor(&running.started, &program));
        }
        // One that ended without having taken over has said why.
        successors.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        running = match running.answer_bell()? {
            Some(running) => running,
            None => return Ok(ExitCode::SUCCESS),
        };
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

/// Set by a signal.
fn flag(signal: i32) -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal, Arc::clone(&flag)).context("installing handlers of signals")?;
    Ok(flag)
}
