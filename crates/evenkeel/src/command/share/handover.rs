//! Taking over from the process that serves the disks, and handing over to a successor.

use super::inherited::Inherited;
use super::running::{Running, write};
use super::supervisor;
use crate::clock::unix_time;
use crate::config::share::ShareConfig;
use crate::failure::WithHint;
use crate::view::log::line;
use anyhow::{Context, Result, anyhow};
use evenkeel_bus::Message;
use evenkeel_share::control::Order;
use evenkeel_share::handover::{Bell, Busy, Handed, Inheritance, Successor, ask};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

/// Time for the storage to do what clients have asked. After it clients are served again, and the successor is refused.
const DRAIN: Duration = Duration::from_secs(30);

/// Serves the disks, in the place of whoever serves them at the same bell.
pub(super) fn begin(config: &ShareConfig) -> Result<Running> {
    let asked = config.handover.as_deref().map(ask).transpose();
    let asked = asked.hint("or end it (SIGTERM), which its clients notice, and start again")?;
    match asked.flatten() {
        None => Running::start_with(config, Inherited::default()),
        Some((predecessor, inheritance)) => {
            let clients = inheritance.handed.clients();
            let inherited = Inherited::of(inheritance, Some(predecessor));
            let config = with_window(config, &inherited);
            let running = Running::start_with(&config, inherited)?;
            log(&config, "info", "took_over", json!({ "clients": clients, "window": config.initial_window }));
            Ok(running)
        }
    }
}

/// The configuration with the window that was in force for the initial one, unless the window is fixed.
fn with_window(config: &ShareConfig, inherited: &Inherited) -> ShareConfig {
    let window = inherited.report.as_deref().and_then(window_of).filter(|_| config.law != "fixed");
    let window = window.unwrap_or(config.initial_window).min(config.max_window);
    ShareConfig { initial_window: window, ..config.clone() }
}

/// The window that a member had in force.
fn window_of(report: &[u8]) -> Option<f64> {
    Message::decode(report).ok().map(|report| report.window).filter(|window| *window > 0.0)
}

fn log(config: &ShareConfig, level: &'static str, event: &'static str, fields: Value) {
    write(&line((level, event, fields), unix_time().as_millis(), config.log));
}

/// Starts the program once more, which then asks at the bell to take over.
pub(super) fn start_successor(config: &ShareConfig, program: &Path) -> Option<Child> {
    let started = match &config.handover {
        None => Err(anyhow!("there is no `handover`, the socket at which a successor asks")),
        Some(_) => supervisor::start_successor(program),
    };
    if let Err(error) = &started {
        log(config, "warn", "handover_failed", json!({ "why": format!("{error:#}") }));
    }
    started.ok()
}

impl Running {
    /// Hands over to a successor that asks, if one does; goes on where there is none, or it is not able to.
    ///
    /// # Errors
    /// Neither process serves the disks: they could not be flushed, or not be opened again.
    pub(super) fn answer_bell(self) -> Result<Option<Self>> {
        match self.bell.as_ref().and_then(Bell::ring) {
            None => Ok(Some(self)),
            Some(successor) => self.hand_over(successor),
        }
    }

    fn hand_over(mut self, successor: Successor) -> Result<Option<Self>> {
        let handed = match self.let_go() {
            Ok(handed) => handed,
            Err(Busy::Ended) => return Err(anyhow!("the disks were not flushed for a successor")),
            Err(busy) => {
                log(&self.started, "warn", "handover_refused", json!({ "why": busy.to_string() }));
                successor.refuse(&busy.to_string());
                return Ok(Some(self));
            }
        };
        let config = self.started.clone();
        let (clients, cut) = (handed.clients(), handed.cut);
        let inheritance = Inheritance { handed, report: self.step_down()? };
        let window = window_of(&inheritance.report).unwrap_or(config.initial_window);
        match successor.give(&inheritance) {
            Ok(()) => {
                log(
                    &config,
                    "info",
                    "handed_over",
                    json!({ "clients": clients, "cut": cut, "window": window }),
                );
                Ok(None)
            }
            Err(error) => {
                let why = format!("the successor ended: {error}; this process goes on");
                log(&config, "warn", "handover_failed", json!({ "why": why }));
                let inherited = Inherited::of(inheritance, None);
                let again = Self::start_with(&with_window(&config, &inherited), inherited);
                again.context("going on where a successor did not").map(Some)
            }
        }
    }

    /// Ends all requests and closes the disks.
    fn let_go(&mut self) -> Result<Handed, Busy> {
        if let Some(shown) = self.fuse.first() {
            let disk = format!("shown as the file {}", shown.file().display());
            return Err(Busy::Fuse { disk });
        }
        // Most of it while clients are served, so that they wait for the rest alone.
        // Whatever comes of it, the engine finds it out again.
        let _ = self.engine.handle().flush(self.names.len(), DRAIN);
        self.engine.hand_over(DRAIN)
    }

    /// Gives up what a successor needs: the place among the hosts, and the addresses of metrics and bell.
    fn step_down(self) -> Result<Vec<u8>> {
        // A loop that has ended already has no place.
        let _ = self.orders.send(Order::HandOver);
        let report = self.looping.join().ok().flatten();
        report.context("the thread of the window has ended")
    }
}
