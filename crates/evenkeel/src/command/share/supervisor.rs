//! The supervisor of this process (systemd): it is notified when the process serves, and which process it is, since a
//! successor takes its place.

use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The variable with the socket of systemd (sd_notify(3)).
const SOCKET: &str = "NOTIFY_SOCKET";

/// Notifies the supervisor that this process serves and is the main one. Without a supervisor nothing happens.
pub fn notify_ready() {
    let Some(place) = std::env::var_os(SOCKET).filter(|place| !place.is_empty()) else { return };
    let said = format!("MAINPID={}\nREADY=1", std::process::id());
    // Where nobody listens the disks are served all the same.
    let _ = send(&place, said.as_bytes());
}

fn send(place: &OsStr, said: &[u8]) -> std::io::Result<usize> {
    let socket = UnixDatagram::unbound()?;
    match place.as_bytes().split_first() {
        Some((b'@', name)) => socket.send_to_addr(said, &SocketAddr::from_abstract_name(name)?),
        _ => socket.send_to(said, place),
    }
}

/// Starts the program once more, as it was started, from where it lies now: another version may lie there.
pub fn start_successor(program: &Path) -> Result<Child> {
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).stdin(Stdio::null());
    command.spawn().with_context(|| format!("starting {}", program.display()))
}
