//! How clients reach the primary, and how they are led to the next one.

use super::group::Node;
use crate::drill::{failed, installed};
use crate::{HaulError, refused};
use evenkeel_os::clock::Clock;
use evenkeel_os::process::{alone, signal};
use evenkeel_site::sandbox::{ProcessId, free_port, spawn_kept};
use evenkeel_site::server::{Address, Target};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const SIGHUP: i32 = 1;
/// A proxy that takes longer for something does not do it.
const PATIENCE: Duration = Duration::from_secs(10);

evenkeel_site::words! {
    /// How clients reach the primary.
    #[derive(Default)]
    Reach {
        /// They know all servers, and try one after the other.
        #[default]
        Hosts = "hosts",
        /// By an address that moves to the new primary.
        Address = "address",
        /// Through HAProxy.
        Haproxy = "haproxy",
        /// Through `evenkeel guard`.
        Guard = "guard",
    }
}

/// The way of clients to the primary, as long as this lives.
pub(super) enum Way {
    Hosts,
    Address(Ipv4Addr),
    Haproxy(Proxy),
    Guard(Proxy),
}

impl Way {
    /// To the first of these servers; files of it go to a folder.
    pub fn open(reach: Reach, nodes: &[&Node], folder: &Path) -> Result<Self, HaulError> {
        Ok(match reach {
            Reach::Hosts => Self::Hosts,
            Reach::Address => {
                let address = nodes[0].sandbox.free_address();
                let address =
                    address.ok_or_else(|| refused("no address is free", "remove other sandboxes"))?;
                nodes[0].sandbox.hold_address(address, true)?;
                Self::Address(address)
            }
            Reach::Haproxy => Self::Haproxy(Proxy::haproxy(nodes, folder)?),
            Reach::Guard => Self::Guard(Proxy::guard(nodes[0], folder)?),
        })
    }

    /// For writers: where they find the primary.
    pub fn targets(&self, nodes: &[&Node], database: &str) -> Vec<Target> {
        let all = || nodes.iter().map(|node| node.writers_target(database));
        let address = match (self, nodes[0].sandbox.tcp_target().address) {
            (Self::Address(host), Address::Tcp { port, .. }) => Address::Tcp { host: host.to_string(), port },
            (Self::Haproxy(proxy) | Self::Guard(proxy), _) => {
                Address::Tcp { host: "127.0.0.1".to_owned(), port: proxy.port }
            }
            _ => return all().collect(),
        };
        all().take(1).map(|target| Target { address: address.clone(), ..target }).collect()
    }

    /// Leads clients from the old primary to the new one.
    pub fn lead(&self, old: &Node, new: &Node) -> Result<(), HaulError> {
        match self {
            Self::Hosts => Ok(()),
            Self::Address(address) => {
                old.sandbox.hold_address(*address, false)?;
                Ok(new.sandbox.hold_address(*address, true)?)
            }
            Self::Haproxy(proxy) => proxy.tell_haproxy(&[
                format!("set server mysql/{} state maint", old.sandbox.name()),
                format!("shutdown sessions server mysql/{}", old.sandbox.name()),
                format!("set server mysql/{} state ready", new.sandbox.name()),
            ]),
            Self::Guard(proxy) => proxy.tell_guard(new),
        }
    }
}

/// A proxy as a child process: it ends with this, or with our process.
pub(super) struct Proxy {
    id: ProcessId,
    port: u16,
    folder: PathBuf,
}

impl Proxy {
    fn haproxy(nodes: &[&Node], folder: &Path) -> Result<Self, HaulError> {
        installed("haproxy", "haproxy")?;
        let port = free_port()?;
        let server = |(place, node): (usize, &&Node)| {
            let state = if place == 0 { "" } else { " disabled" };
            format!("  server {} {}{state}\n", node.sandbox.name(), node.sandbox.tcp_target().address)
        };
        let servers: String = nodes.iter().enumerate().map(server).collect();
        let text = format!(
            "global\n  stats socket unix@haproxy.sock mode 600 level admin\ndefaults\n  mode tcp\n  timeout connect 2s\n  \
             timeout client 1h\n  timeout server 1h\nlisten mysql\n  bind 127.0.0.1:{port}\n{servers}"
        );
        write(&folder.join("haproxy.cfg"), &text)?;
        // It lies in a folder that users rarely search.
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("haproxy");
        command.env("PATH", path);
        command.args(["-db", "-f", "haproxy.cfg"]);
        Self::start(command, port, folder)
    }

    fn guard(primary: &Node, folder: &Path) -> Result<Self, HaulError> {
        let port = free_port()?;
        write(&folder.join("guard.toml"), &guard_file(port, primary))?;
        // Our own program is one.
        let program = std::env::current_exe().map_err(HaulError::io("find", Path::new("/proc/self/exe")))?;
        let mut command = Command::new(program);
        command.args(["guard", "--config", "guard.toml"]);
        Self::start(command, port, folder)
    }

    /// Returns when it takes connections.
    fn start(mut command: Command, port: u16, folder: &Path) -> Result<Self, HaulError> {
        let log = folder.join("proxy.log");
        let said = File::create(&log).map_err(HaulError::io("write", &log))?;
        alone(command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(said));
        let program = command.get_program().to_string_lossy().into_owned();
        let begun = spawn_kept("proxy", command, |_| {});
        let (id, _) = begun.map_err(HaulError::io("start", Path::new(&program)))?;
        let proxy = Self { id, port, folder: folder.to_owned() };
        match within(|| TcpStream::connect(("127.0.0.1", port)).is_ok() || !id.is_alive()) {
            true if id.is_alive() => Ok(proxy),
            _ => Err(failed(&program, &log)),
        }
    }

    fn tell_haproxy(&self, orders: &[String]) -> Result<(), HaulError> {
        let path = self.folder.join("haproxy.sock");
        let tell = || {
            let mut socket = UnixStream::connect(&path)?;
            socket.set_read_timeout(Some(PATIENCE))?;
            writeln!(socket, "{}", orders.join("; "))?;
            let mut answer = String::new();
            socket.read_to_string(&mut answer).map(|_| answer)
        };
        let answer = tell().map_err(HaulError::io("ask", &path))?;
        match answer.trim() {
            "" => Ok(()),
            answer => Err(refused(format!("haproxy: {answer}"), "please report it").into()),
        }
    }

    fn tell_guard(&self, primary: &Node) -> Result<(), HaulError> {
        write(&self.folder.join("guard.toml"), &guard_file(self.port, primary))?;
        signal(self.id.pid, SIGHUP);
        let log = self.folder.join("proxy.log");
        let has_reloaded = || fs::read_to_string(&log).is_ok_and(|text| text.contains("event=reloaded"));
        match within(has_reloaded) {
            true => Ok(()),
            false => Err(failed("evenkeel guard", &log)),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.id.end(Duration::from_secs(1));
    }
}

fn guard_file(port: u16, primary: &Node) -> String {
    format!(
        "listen = '127.0.0.1:{port}'\nbackend = '{}'\ndrain = '0s'\n",
        primary.sandbox.tcp_target().address
    )
}

fn write(path: &Path, text: &str) -> Result<(), HaulError> {
    fs::write(path, text).map_err(HaulError::io("write", path))
}

/// Whether it comes true in time.
fn within(is_true: impl Fn() -> bool) -> bool {
    let clock = Clock::start();
    while !is_true() {
        if Duration::from(clock.now()) > PATIENCE {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}
