//! `evenkeel share disk`: serves until SIGTERM, and reads its configuration again at SIGHUP.

use super::backing;
use super::running::Running;
use crate::command::Session;
use crate::config::share::{EXAMPLE, Flags};
use crate::out;
use anyhow::{Context, Result};
use evenkeel_share::event::Event;
use signal_hook::consts::SIGHUP;
use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often signals are looked at.
const NAP: Duration = Duration::from_millis(50);

/// Flags of `evenkeel share disk`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel share disk --backing /dev/sdb --share 4 --name web1 --nbd /run/web1.sock --bus slot:/shared/slots
  evenkeel share disk --backing disk.img --size 10G --name a --nbd 127.0.0.1:10809
  evenkeel share disk --print-config > share.toml
  evenkeel share disk --config share.toml
  evenkeel share disk --config common.toml --backing /dev/sdb --share 4 --name web1 --nbd /run/web1.sock

A file without [[disk]] may be the same on all hosts. SIGHUP reads it again. SIGTERM or Ctrl-C finishes running requests, \
flushes and stops with exit code 0; a second one stops at once, with 143 (130).

All other settings are keys of the file: several disks, window, costs, bus, sockets, TLS, log. A flag wins over the file. --print-config prints every key with its default.")]
pub struct DiskArgs {
    #[command(flatten)]
    flags: Flags,
    /// Check the configuration and end
    #[arg(long)]
    check: bool,
    /// Print a file with all settings, their defaults and what they do, and end
    #[arg(long)]
    print_config: bool,
}

/// Runs until SIGTERM.
pub fn run(session: &Session, args: &DiskArgs) -> Result<ExitCode> {
    let flags = &args.flags;
    if args.print_config {
        out::write(EXAMPLE)?;
        return Ok(ExitCode::SUCCESS);
    }
    let config = flags.read()?;
    if args.check {
        backing::check(&config)?;
        out::line("the configuration is valid")?;
        return Ok(ExitCode::SUCCESS);
    }
    let hangup = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, Arc::clone(&hangup)).context("installing handlers of signals")?;
    let mut running = Running::start(&config)?;
    notify_ready();
    while !session.stop.is_set() && running.is_well() {
        std::thread::sleep(NAP);
        if hangup.swap(false, Ordering::Relaxed) {
            let event = match flags.read_again().and_then(|config| running.reload(&config)) {
                Ok(ignored) => Event::Reloaded { ignored },
                Err(error) => {
                    Event::ReloadFailed { reason: format!("{error:#}; the old configuration stays in force") }
                }
            };
            (running.listener)(&event);
        }
    }
    running.stop()
}

/// The variable with the socket of systemd (sd_notify(3)).
const SOCKET: &str = "NOTIFY_SOCKET";

/// Notifies the supervisor that this process serves. Without a supervisor nothing happens.
pub fn notify_ready() {
    let Some(place) = std::env::var_os(SOCKET).filter(|place| !place.is_empty()) else { return };
    // Where nobody listens the disks are served all the same.
    let _ = send(&place, b"READY=1");
}

fn send(place: &OsStr, said: &[u8]) -> std::io::Result<usize> {
    let socket = UnixDatagram::unbound()?;
    match place.as_bytes().split_first() {
        Some((b'@', name)) => socket.send_to_addr(said, &SocketAddr::from_abstract_name(name)?),
        _ => socket.send_to(said, place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_at_a_path_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("notify");
        let watcher = UnixDatagram::bind(&place).unwrap();
        send(place.as_os_str(), b"READY=1").unwrap();
        let mut said = [0; 20];
        let length = watcher.recv(&mut said).unwrap();
        assert_eq!(&said[..length], b"READY=1");
    }
}
