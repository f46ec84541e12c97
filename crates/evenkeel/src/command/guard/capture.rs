//! What the flags say of a capture, and how the log hears that it ended.

use crate::config::guard::GuardConfig;
use crate::config::units;
use crate::server::identity;
use anyhow::{Context, Result};
use evenkeel_guard::capture::{Capture, Settings};
use evenkeel_guard::event::{Event, Listener};
use evenkeel_guard::proxy::Address;
use evenkeel_os::Background;
use evenkeel_site::server::{Control, TargetError};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The server has so long to say who it is.
const ASK: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default, clap::Args)]
pub struct CaptureFlags {
    /// Record all client traffic to files in DIR, for `evenkeel replay`: statements with their values; those that set an account's
    /// password are left out
    #[arg(long, value_name = "DIR")]
    capture: Option<PathBuf>,
    /// Size of all files at which the capture ends; the guard goes on
    #[arg(long, value_name = "SIZE", default_value = "10G", requires = "capture")]
    capture_max: String,
    /// Replace values in statements, and leave executions with parameters out: for sharing a capture; it cannot be replayed
    #[arg(long, requires = "capture")]
    capture_redact: bool,
}

/// A capture under way. It ends when this is dropped.
pub struct Capturing {
    pub capture: Arc<Capture>,
    _writer: Background<()>,
    has_told: bool,
}

impl Capturing {
    /// Begins where the flags ask for it.
    pub fn start(flags: &CaptureFlags, config: &GuardConfig) -> Result<Option<Self>> {
        let Some(folder) = flags.capture.clone() else { return Ok(None) };
        let most = units::bytes(&flags.capture_max).context("--capture-max")?;
        let what = || format!("beginning a capture in {}", folder.display());
        let settings =
            Settings { folder: folder.clone(), most, redact: flags.capture_redact, server: server(config) };
        let (capture, writer) = Capture::start(settings).with_context(what)?;
        Ok(Some(Self { capture, _writer: writer, has_told: false }))
    }

    /// Tells once that it ended.
    pub fn look(&mut self, events: &dyn Listener) {
        let Some(why) = self.capture.failed().filter(|_| !self.has_told) else { return };
        self.has_told = true;
        events.notify(&Event::Warned {
            about: "capture",
            text: format!("the capture has ended: {why}"),
            hint:
                "make room, or raise --capture-max, and start the guard again; clients are served as before"
                    .to_owned(),
        });
    }
}

/// Which server it is, as far as it says; where it does not let the guard in, its address alone.
fn server(config: &GuardConfig) -> String {
    let mut known = match &config.backend {
        Address::Tcp { host, port } => json!({ "host": host, "port": port }),
        Address::Unix(path) => json!({ "host": path }),
    };
    if is_here(&config.backend)
        && let Ok(name) = std::fs::read_to_string("/proc/sys/kernel/hostname")
    {
        known["hostname"] = name.trim().into();
    }
    for (name, value) in asked(config).unwrap_or_default() {
        known[&name] = match name.as_str() {
            "port" | "server_id" => value.parse::<u64>().ok().into(),
            _ => value.into(),
        };
    }
    known.to_string()
}

/// Whether the server is on the guard's own machine, whose name is then the server's.
fn is_here(backend: &Address) -> bool {
    match backend {
        Address::Tcp { host, .. } => {
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|host| host.is_loopback())
        }
        Address::Unix(_) => true,
    }
}

fn asked(config: &GuardConfig) -> Result<BTreeMap<String, String>, TargetError> {
    let target = config.asking().map_err(|_| TargetError::Stopped)?;
    identity(&mut Control::connect_within(&target, ASK)?)
}
