//! The engine through which both measurements go, and their end where somebody stops them.

use crate::command::Session;
use crate::{out, signals};
use anyhow::Result;
use evenkeel_core::share::Costs;
use evenkeel_share::{DiskPlan, Engine, Handle, Plan};
use std::process::ExitCode;

/// Measures on an engine in front of a disk.
pub fn on_engine<T>(disk: DiskPlan, measure: impl FnOnce((Handle, u64)) -> Result<T>) -> Result<T> {
    let bytes = disk.backing.bytes();
    // An infinite window: the loop alone says how many are outstanding. Nobody comes by a socket.
    let engine =
        Engine::start(Plan { disks: vec![disk], window: f64::INFINITY, costs: Costs::default(), memory: 0 })?;
    match measure((engine.handle(), bytes)) {
        Ok(swept) => {
            engine.stop()?;
            Ok(swept)
        }
        Err(error) => {
            // An engine waits for its last read, and storage that answers no more would keep the message for ever. There
            // is nothing to flush.
            std::mem::forget(engine);
            Err(error)
        }
    }
}

/// Says that a measurement was stopped, and gives its exit code.
pub fn interrupted(session: &Session) -> ExitCode {
    if !session.quiet {
        out::tell("stopped; there is no result before all rounds have ended\n");
    }
    signals::exit_code()
}
