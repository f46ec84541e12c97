//! Signals that ask to stop, and the exit code that shells know each by.

use anyhow::{Context, Result};
use evenkeel_os::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// The signal that came last, 0 before one did: signals are the process's, and so is this.
static CAME: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// The first signal asks for an orderly end; a second one ends the process at once, and private servers with it. A
/// service that reads its configuration again at SIGHUP is not asked to stop by it.
pub fn stop_on(reloads: bool) -> Result<Stop> {
    let stop = Stop::default();
    let signals: &[i32] = if reloads { &[SIGINT, SIGTERM] } else { &[SIGINT, SIGTERM, SIGHUP] };
    for &signal in signals {
        // In this order: whoever sees that it is to stop finds the signal told.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stop.flag())
            .and_then(|_| {
                signal_hook::flag::register_usize(signal, Arc::clone(&CAME), signal.unsigned_abs() as usize)
            })
            .and_then(|_| signal_hook::flag::register(signal, stop.flag()))
            .context("installing the handler for Ctrl-C")?;
    }
    Ok(stop)
}

/// How a command ends that was stopped before its end: as shells count a program that a signal ended, 130 for Ctrl-C,
/// 143 for SIGTERM, 129 for SIGHUP.
pub fn exit_code() -> ExitCode {
    ExitCode::from(code(CAME.load(Ordering::Relaxed)))
}

fn code(signal: usize) -> u8 {
    let signal = if signal == 0 { SIGINT.unsigned_abs() as usize } else { signal };
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
