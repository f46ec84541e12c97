//! A machine reports to somebody elsewhere what had been counted on it until one instant.
//! The server is found there among the processes by its port, its number or its name.
//!
//! Whoever asks makes differences of two readings, so that a reading that is lost on the way loses nothing but its own
//! place in time.

use crate::cpu::{CpuOf, CpuReading, ProcessStat, StatFile};
use crate::disk::{DeviceIo, ProcessIo};
use crate::memory;
use crate::pressure::{self, Stalled};
use crate::text;
use evenkeel_core::Nanos;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;

/// Disks in a reading at most.
pub const DISKS_MAX: usize = 32;
/// A server that is not there (it is being restarted, say) is looked for again after this long.
const LOOK_AGAIN: Nanos = Nanos::from_secs(1);

/// Tells one start of this machine from all others, and from those of other machines.
pub fn boot_id() -> Option<String> {
    text::read_line("/proc/sys/kernel/random/boot_id")
}

pub fn host_name() -> Option<String> {
    text::read_line("/proc/sys/kernel/hostname")
}

/// One instant of a machine. What it does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FarReading {
    /// On a clock that all readings of this machine share.
    pub at: Nanos,
    pub host: Option<CpuReading>,
    pub server: Option<ServerReading>,
    /// Whole disks by name, at most [`DISKS_MAX`]; no partitions and none that stand on other disks.
    pub disks: Vec<(String, DeviceIo)>,
    /// Memory that could be had without swapping, bytes.
    pub memory_available_bytes: Option<u64>,
    pub pressure: Stalled,
}

/// The server's process at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerReading {
    pub pid: u32,
    pub cpu: CpuReading,
    /// Its I/O, where whoever reads may see it.
    pub io: Option<ProcessIo>,
    /// Memory that it holds, bytes.
    pub resident_bytes: Option<u64>,
}

/// Reads the machine that it runs on.
#[derive(Debug)]
pub struct FarProbe {
    wanted: Wanted,
    server: Result<u32, NotFound>,
    looked: Nanos,
}

impl FarProbe {
    /// Looks for the server at once; `now` is on the clock of the readings.
    pub fn new(wanted: Wanted, now: Nanos) -> Self {
        Self { wanted, server: find_server(wanted), looked: now }
    }

    /// The server's process, or why there is none.
    pub fn server(&self) -> &Result<u32, NotFound> {
        &self.server
    }

    /// Everything at this instant. CPU times are read first and together.
    pub fn read(&mut self, at: Nanos) -> FarReading {
        let stat = StatFile::read();
        let server = self.read_server(at, stat.as_ref());
        let memory = text::read("/proc/meminfo").unwrap_or_default();
        FarReading {
            at,
            host: stat.as_ref().and_then(StatFile::host),
            server,
            disks: DeviceIo::whole_disks(DISKS_MAX),
            memory_available_bytes: text::number(&memory, "MemAvailable")
                .and_then(|kib| kib.checked_mul(1024)),
            pressure: pressure::host(),
        }
    }

    fn read_server(&mut self, at: Nanos, stat: Option<&StatFile>) -> Option<ServerReading> {
        if let Some(reading) = self.server.as_ref().ok().and_then(|pid| ServerReading::read(*pid, stat)) {
            return Some(reading);
        }
        if at < self.looked + LOOK_AGAIN {
            return None;
        }
        self.looked = at;
        self.server = find_server(self.wanted);
        ServerReading::read(*self.server.as_ref().ok()?, stat)
    }
}

impl ServerReading {
    fn read(pid: u32, stat: Option<&StatFile>) -> Option<Self> {
        let cpu = CpuOf::Process(pid).read_beside(stat)?;
        Some(Self { pid, cpu, io: ProcessIo::read(pid), resident_bytes: memory::resident(pid) })
    }
}

/// Names that servers have.
const NAMES: [&str; 2] = ["mysqld", "mariadbd"];
/// Processes that are told of where there are several.
const TOLD_MAX: usize = 8;

/// Which server is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    #[default]
    Only,
    /// The one that listens on this port.
    Port(u16),
    /// This process, whatever it is called.
    Pid(u32),
}

/// Why no process is taken for the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// None is called mysqld or mariadbd.
    None,
    Several(Vec<u32>),
    Port(u16),
    Pid(u32),
}

impl fmt::Display for NotFound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => out.write_str("no process here is called mysqld or mariadbd"),
            Self::Several(pids) => {
                let told: Vec<String> = pids.iter().take(TOLD_MAX).map(u32::to_string).collect();
                let (count, told) = (pids.len(), told.join(", "));
                write!(out, "{count} servers run here ({told}); name one by --port or --pid")
            }
            Self::Port(port) => {
                write!(out, "no mysqld or mariadbd process visible here listens on port {port}")
            }
            Self::Pid(pid) => write!(out, "there is no process {pid}"),
        }
    }
}

/// The process of the server that is meant.
pub fn find_server(wanted: Wanted) -> Result<u32, NotFound> {
    if let Wanted::Pid(pid) = wanted {
        return ProcessStat::read(pid).map(|_| pid).ok_or(NotFound::Pid(pid));
    }
    let mut servers = servers();
    if let Wanted::Port(port) = wanted {
        // Whose sockets are it may see only who is root or the server's own account: then the only server is meant.
        let sees_none = servers.iter().all(|pid| fs::read_dir(format!("/proc/{pid}/fd")).is_err());
        if !(sees_none && servers.len() == 1) {
            servers.retain(|pid| listens(*pid, port));
        }
        if servers.is_empty() {
            return Err(NotFound::Port(port));
        }
    }
    match servers[..] {
        [] => Err(NotFound::None),
        [pid] => Ok(pid),
        _ => Err(NotFound::Several(servers)),
    }
}

/// All processes that are servers, in rising order.
pub fn servers() -> Vec<u32> {
    let is_server = |pid: &u32| {
        let name = text::read_line(format!("/proc/{pid}/comm"));
        let is_called = name.is_some_and(|name| NAMES.contains(&name.as_str()));
        (is_called || is_loaded(*pid)) && ProcessStat::read(*pid).is_some()
    };
    let mut found: Vec<u32> = processes().filter(is_server).collect();
    found.sort_unstable();
    found
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether the loader of another system runs a server: `ld-linux-x86-64.so.2 --library-path FOLDER PROGRAM ...`.
fn is_loaded(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).take(4).collect();
    let is_server = |path: &[u8]| NAMES.iter().any(|name| path.ends_with(format!("/{name}").as_bytes()));
    matches!(words[..], [_, b"--library-path", _, program] if is_server(program))
}

/// The number that a process has in its own container; that which it has here where there is none.
pub fn number_inside(pid: u32) -> Option<u32> {
    let status = text::read(format!("/proc/{pid}/status"))?;
    text::value(&status, "NSpid")?.split_ascii_whitespace().last()?.parse().ok()
}

/// Whether a process listens on a port, by its sockets, or by its own command line where they cannot be seen.
pub fn listens(pid: u32, port: u16) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    names_port(&line, port) || has_open(pid, &sockets(&pid.to_string(), port))
}

/// The process here that listens on a port, whatever it is called. Whose files another user has open only root sees, and whose socket
/// it is everybody: then it is the server that is meant by the port, where that is this user's.
pub fn listener(port: u16) -> Option<u32> {
    let sockets = sockets("self", port);
    if sockets.is_empty() {
        return None;
    }
    let has_its_user = |pid: &u32| {
        let status = text::read(format!("/proc/{pid}/status")).unwrap_or_default();
        // The real one, the effective one, and others.
        let user = text::value(&status, "Uid").and_then(|users| users.split_ascii_whitespace().nth(1));
        sockets.values().any(|owner| user == Some(owner.as_str()))
    };
    let seen = processes().find(|pid| has_open(*pid, &sockets));
    seen.or_else(|| find_server(Wanted::Port(port)).ok().filter(has_its_user))
}

/// The sockets that listen on a port where a process is, as links to them are called, with their users.
fn sockets(process: &str, port: u16) -> BTreeMap<String, String> {
    let table = |name: &str| text::read(format!("/proc/{process}/net/{name}")).unwrap_or_default();
    ["tcp", "tcp6"].into_iter().flat_map(|name| listening(&table(name), port)).collect()
}

fn has_open(pid: u32, sockets: &BTreeMap<String, String>) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link.to_str().is_some_and(|link| sockets.contains_key(link)))
}

fn names_port(line: &[u8], port: u16) -> bool {
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let (joined, port) = (format!("--port={port}"), port.to_string());
    let apart =
        words.windows(2).any(|pair| matches!(pair[0], b"--port" | b"-P") && pair[1] == port.as_bytes());
    apart || words.contains(&joined.as_bytes())
}

/// From the text of /proc/net/tcp.
fn listening(table: &str, port: u16) -> Vec<(String, String)> {
    const LISTEN: &str = "0A";
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let local = u16::from_str_radix(words.get(1)?.rsplit_once(':')?.1, 16).ok()?;
        let is_it = local == port && *words.get(3)? == LISTEN;
        is_it.then(|| Some((format!("socket:[{}]", words.get(9)?), (*words.get(7)?).to_owned())))?
    };
    table.lines().filter_map(socket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_os::clock::Clock;
    use std::net::TcpListener;

    #[test]
    fn a_machine_and_a_process_on_it_are_read() {
        let clock = Clock::start();
        let mut probe = FarProbe::new(Wanted::Pid(std::process::id()), clock.now());
        let before = probe.read(clock.now());
        let after = probe.read(clock.now());
        let (before, after) = (before.server.expect("this process"), after.server.expect("this process"));
        assert!(after.cpu.busy >= before.cpu.busy && after.cpu.incarnation == before.cpu.incarnation);
        assert!(after.io.is_some() && after.resident_bytes.is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn a_process_that_is_gone_is_not_available_and_the_machine_is() {
        let mut probe = FarProbe::new(Wanted::Pid(u32::MAX), Nanos::ZERO);
        assert!(probe.server().is_err());
        let reading = probe.read(Nanos::from_secs(5));
        assert_eq!(reading.server, None);
        assert!(reading.host.is_some_and(|host| host.capacity >= 1.0));
        assert!(reading.disks.len() <= DISKS_MAX && reading.memory_available_bytes.is_some());
    }

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   106        0 17211 1 0 100 0 0 10 0\n\
        1: 0100007F:0CEA 0100007F:9C40 01 00000000:00000000 00:00000000 00000000   106        0 17300 1 0 20 4 30 10 -1\n";

    #[test]
    fn a_listening_socket_is_found_by_its_port() {
        assert_eq!(listening(TABLE, 3306), [("socket:[17211]".to_owned(), "106".to_owned())]);
        assert!(listening(TABLE, 3307).is_empty());
        crate::garbage::damaged(TABLE, |text| listening(text, 3306));
    }

    #[test]
    fn a_process_that_listens_is_known_by_its_sockets_or_its_command_line() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert!(listens(std::process::id(), port));
        assert_eq!(super::listener(port), Some(std::process::id()));
        drop(listener);
        assert!(!listens(std::process::id(), port));
        assert_eq!(super::listener(port), None);
        assert!(names_port(b"/usr/sbin/mariadbd\0--port=3307\0", 3307));
        assert!(names_port(b"mysqld\0-P\x003307\0", 3307) && names_port(b"mysqld\0--port\x003307\0", 3307));
        assert!(!names_port(b"mysqld\0--port=33071\0", 3307));
    }
}
