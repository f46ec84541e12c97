//! A network of its own: a namespace whose only way out is a veth pair into the bridge of all sandboxes of this machine. The rate is
//! held on both ends, each for its direction.
//!
//! Nothing of it is written down but in the kernel: the address of a member is the alias of its interface on the bridge.

use super::domain::{Domain, Net};
use super::proof::{self, BITES};
use super::server::check_tools;
use super::{Events, SandboxError};
use evenkeel_os::clock::monotonic;
use evenkeel_os::process::enter_network;
use evenkeel_os::{Stop, tools};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const BRIDGE: &str = "evk0";
/// Of the range that everybody may use for himself.
const BRIDGE_ADDRESS: &str = "02:65:76:6b:00:01";
/// Of a member, without the last byte, which is that of its IP address.
const MEMBER_ADDRESS: &str = "02:65:76:6b:01";
/// Addresses from this one on in the network move from member to member.
const MOVING: u32 = 200;
/// Held while members come and go, also by the scripts that remove them.
const LOCK: &str = "/run/evenkeel-net";
/// Bytes of a full frame, and of data in it: a rate is what a TCP connection carries.
const FRAME: (u64, u64) = (1514, 1448);
/// How long data is sent to try a rate, after a while in which buffers fill.
const TRIED: Duration = Duration::from_millis(400);
const WARM_UP: Duration = Duration::from_millis(100);
const TRIES: usize = 3;
/// Without any data.
const PATIENCE: Duration = Duration::from_secs(5);

/// Takes a member away, and with the last one the bridge and the lock: of us, of the janitor and of `clean`. Who gets a lock whose file
/// is removed meanwhile takes the new file's.
pub(super) const REMOVE: &str = r#"
PATH=$PATH:/usr/sbin:/sbin
remove_net() {
    while :; do
        (
            flock -w 20 9
            [ /proc/self/fd/9 -ef /run/evenkeel-net ] || exit 9
            ip netns del "$1"
            ip link del "$1"
            [ -z "$(ls -A /sys/class/net/evk0/brif)" ] && ip link del evk0
            [ -e /sys/class/net/evk0 ] || rm -f /run/evenkeel-net
            exit 0
        ) 9>>/run/evenkeel-net 2>/dev/null
        [ $? = 9 ] || break
    done
}
"#;

/// What a sandbox has of it; dropping it takes that away.
#[derive(Debug)]
pub(super) struct Network {
    /// Of the namespace, and of the interface on the bridge.
    pub name: String,
    pub address: Ipv4Addr,
}

/// The name is that of the sandbox's folder, in 32 bits: interfaces have names of 15 bytes at most.
pub(super) fn name(hash: u64) -> String {
    format!("evk{:08x}", hash as u32)
}

/// Whether there is what it takes to make one.
pub(super) fn check(net: Net) -> Result<(), SandboxError> {
    let needed = [("ip", "iproute2"), ("tc", "iproute2"), ("flock", "util-linux")];
    check_tools(&needed, |reason, hint| refused(net, reason, hint))
}

impl Network {
    pub(super) fn create(name: &str, net: Net) -> Result<Self, SandboxError> {
        let hint = "run it where root may make network namespaces, or without a network of its own";
        let refuse = |reason: String| refused(net, reason, hint);
        // Whoever held it may have removed the file.
        let is_it = |lock: &File| Some(lock.metadata().ok()?.ino() == fs::metadata(LOCK).ok()?.ino());
        let locked = || {
            let lock = File::create(LOCK).ok()?;
            (evenkeel_os::exclusive(&lock) && is_it(&lock)?).then_some(lock)
        };
        let lock = (0..20).find_map(|_| locked());
        let lock = lock.ok_or_else(|| refuse(format!("another evenkeel holds {LOCK}")))?;
        // Dropped before the lock is wanted again, to remove what there is of it.
        let made = Self::make(name, net);
        drop(lock);
        made.map_err(|reason| {
            remove(name);
            refuse(reason)
        })
    }

    fn make(name: &str, net: Net) -> Result<Self, String> {
        let subnet = bridge()?;
        let taken = members();
        let free =
            (2..MOVING).map(|host| Ipv4Addr::from(u32::from(subnet) + host)).find(|own| !taken.contains(own));
        let address = free.ok_or_else(|| format!("the bridge {BRIDGE} has no free address"))?;
        ip(&format!("netns add {name}"))?;
        // Of an address that was another member's a moment ago, others still know the hardware address.
        let hardware = format!("{MEMBER_ADDRESS}:{:02x}", address.octets()[3]);
        ip(&format!("link add {name} type veth peer name eth0 address {hardware} netns {name}"))?;
        ip(&format!("link set {name} alias {address}"))?;
        ip(&format!("link set {name} master {BRIDGE} up"))?;
        ip(&format!("-n {name} address add {address}/24 dev eth0"))?;
        ip(&format!("-n {name} link set eth0 up"))?;
        ip(&format!("-n {name} link set lo up"))?;
        if let Some(rate) = net.bytes_per_s {
            hold(&format!("dev {name}"), "", rate)?;
            hold("dev eth0", &format!("-n {name} "), rate)?;
        }
        Ok(Self { name: name.to_owned(), address })
    }

    /// That of a sandbox that is up; `None` where it has none.
    pub(super) fn find(name: &str) -> Option<Self> {
        address(name).map(|address| Self { name: name.to_owned(), address })
    }

    pub(super) fn keep(self) {
        std::mem::forget(self);
    }

    /// Nothing reaches it, or everything does again; nobody is told.
    pub(super) fn cut(&self, cut: bool) -> Result<(), SandboxError> {
        let state = if cut { "down" } else { "up" };
        let failed =
            |reason| SandboxError::io("cut the network of", Path::new(&self.name))(io::Error::other(reason));
        ip(&format!("link set {} {state}", self.name)).map(drop).map_err(failed)
    }

    /// Another address for it, or none any more; whoever knew where that was asks again.
    pub(super) fn hold(&self, address: Ipv4Addr, holds: bool) -> Result<(), SandboxError> {
        let (name, way) = (&self.name, if holds { "add" } else { "del" });
        let failed =
            |reason| SandboxError::io("move an address of", Path::new(name))(io::Error::other(reason));
        ip(&format!("-n {name} address {way} {address}/24 dev eth0"))
            .and_then(|_| ip(&format!("neigh flush to {address} dev {BRIDGE}")))
            .map(drop)
            .map_err(failed)
    }

    /// One that no member holds.
    pub(super) fn free_address(&self) -> Option<Ipv4Addr> {
        let held: String =
            ports().iter().filter_map(|name| ip(&format!("-n {name} -4 -o address show")).ok()).collect();
        let [a, b, c, _] = self.address.octets();
        let mut moving = (MOVING..255).map(|host| Ipv4Addr::new(a, b, c, host as u8));
        moving.find(|address| !held.contains(&format!(" {address}/")))
    }

    /// Of the machine, on the bridge.
    pub(super) fn of_machine(&self) -> Ipv4Addr {
        let [a, b, c, _] = self.address.octets();
        Ipv4Addr::new(a, b, c, 1)
    }

    pub(super) fn namespace(&self) -> PathBuf {
        namespace(&self.name)
    }

    pub(super) fn open(&self) -> Result<File, SandboxError> {
        let path = self.namespace();
        File::open(&path).map_err(SandboxError::io("open", &path))
    }

    /// Tries the rate in both directions by a connection of our own.
    pub(super) fn prove(&self, net: Net, stop: &Stop, events: Events<'_>) -> Result<(), SandboxError> {
        let Some(rate) = net.bytes_per_s else { return Ok(()) };
        let refuse = |reason: String| refused(net, reason, "correct the rate, or run without it");
        proof::once(&Domain::from(net).to_string(), events, || {
            let mut found = Vec::new();
            for (way, is_out) in [("to the server", false), ("from it", true)] {
                let mut outcome = Err(String::new());
                for _ in 0..TRIES {
                    let copied = self
                        .copied(is_out)
                        .map_err(|error| refuse(format!("no data came {way}: {error}")))?;
                    let words = format!("{copied:.0} bytes per second");
                    outcome = proof::judge(rate as f64, copied, BITES, words);
                    if outcome.is_ok() || stop.is_set() {
                        break;
                    }
                }
                let text = outcome.map_err(|reason| refuse(format!("{reason} {way}")))?;
                found.push(format!("{text} {way}"));
            }
            Ok(found.join(", "))
        })
    }

    /// Bytes per second of a connection into the namespace, or out of it.
    fn copied(&self, is_out: bool) -> io::Result<f64> {
        let (file, address) = (File::open(namespace(&self.name))?, self.address);
        // A thread of its own, since it stays in the namespace.
        let listener =
            std::thread::spawn(move || enter_network(&file).and_then(|()| TcpListener::bind((address, 0))));
        let listener = listener.join().unwrap_or_else(|_| Err(io::Error::other("a thread ended")))?;
        let outside = TcpStream::connect_timeout(&listener.local_addr()?, PATIENCE)?;
        let inside = listener.accept()?.0;
        let (from, to) = if is_out { (inside, outside) } else { (outside, inside) };
        std::thread::scope(|scope| {
            scope.spawn(|| send(&from));
            let rate = received(&to);
            let _ = to.shutdown(std::net::Shutdown::Both);
            rate
        })
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Until the other end has enough.
fn send(mut to: &TcpStream) {
    let piece = [0; 16 << 10];
    while to.write_all(&piece).is_ok() {}
}

fn received(mut from: &TcpStream) -> io::Result<f64> {
    from.set_read_timeout(Some(PATIENCE))?;
    let (mut piece, mut bytes) = (vec![0; 64 << 10], 0);
    let begun = monotonic();
    let mut counted = begun;
    loop {
        let count = from.read(&mut piece)?;
        let now = monotonic();
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if Duration::from(now - begun) < WARM_UP {
            counted = now;
        } else {
            bytes += count;
        }
        if Duration::from(now - counted) >= TRIED {
            return Ok(bytes as f64 / (now - counted).as_secs_f64());
        }
    }
}

fn refused(net: Net, reason: String, hint: &'static str) -> SandboxError {
    SandboxError::Limit { what: Domain::from(net).to_string(), reason, hint }
}

fn namespace(name: &str) -> PathBuf {
    Path::new("/run/netns").join(name)
}

fn ip(words: &str) -> Result<String, String> {
    run("ip", words)
}

fn run(program: &str, words: &str) -> Result<String, String> {
    let words: Vec<&OsStr> = words.split_whitespace().map(OsStr::new).collect();
    tools::run(program, &words)
        .map_err(|error| format!("{error} ({program} {})", words.join(OsStr::new(" ")).display()))
}

/// Holds what leaves an interface to a rate.
fn hold(device: &str, namespace: &str, rate: u64) -> Result<(), String> {
    let wire = rate * FRAME.0 / FRAME.1;
    // What may leave at once: 20 ms of it, so that a CPU that comes late loses nothing, and the largest packet that the kernel hands on.
    let burst = (wire / 50).max(64 << 10);
    run("tc", &format!("{namespace}qdisc add {device} root handle 1: htb default 1"))?;
    run(
        "tc",
        &format!(
            "{namespace}class add {device} parent 1: classid 1:1 htb rate {wire}bps burst {burst} cburst {burst} quantum 65536"
        ),
    )?;
    Ok(())
}

/// Makes the bridge where there is none; its network, a /24.
fn bridge() -> Result<Ipv4Addr, String> {
    if !Path::new("/sys/class/net").join(BRIDGE).exists() {
        let used = ip("-4 route show table all")?;
        let is_free = |second: &u8| {
            !used.contains("10.0.0.0/8")
                && !used.contains(&format!(" 10.{second}."))
                && !used.contains(&format!("\n10.{second}."))
        };
        let second = (200..=250).find(is_free).ok_or("this machine uses all of 10.0.0.0/8")?;
        // Else it has the lowest address of its members, and connections stall whenever those change.
        ip(&format!("link add {BRIDGE} address {BRIDGE_ADDRESS} type bridge"))?;
        ip(&format!("address add 10.{second}.77.1/24 dev {BRIDGE}"))?;
        ip(&format!("link set {BRIDGE} up"))?;
    }
    let text = ip(&format!("-4 -o address show dev {BRIDGE}"))?;
    let address = text.split_whitespace().skip_while(|word| *word != "inet").nth(1);
    let address = address.and_then(|word| word.split('/').next()?.parse::<Ipv4Addr>().ok());
    let address = address
        .ok_or_else(|| format!("the bridge {BRIDGE} has no address; remove it: ip link del {BRIDGE}"))?;
    Ok(Ipv4Addr::from(u32::from(address) & !0xff))
}

/// That of a sandbox that is up, by its interface; `None` where it has none of its own.
pub(super) fn address(member: &str) -> Option<Ipv4Addr> {
    fs::read_to_string(format!("/sys/class/net/{member}/ifalias")).ok()?.trim().parse().ok()
}

/// Addresses of all members.
fn members() -> Vec<Ipv4Addr> {
    ports().iter().filter_map(|name| address(name)).collect()
}

/// Names of all members.
fn ports() -> Vec<String> {
    let entries = fs::read_dir(format!("/sys/class/net/{BRIDGE}/brif")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Removes what a member has, as far as it is there.
pub(super) fn remove(name: &str) {
    let is_there = namespace(name).exists() || Path::new("/sys/class/net").join(name).exists();
    if is_there {
        let script = format!("{REMOVE}remove_net \"$1\"");
        let words = [OsStr::new("-c"), OsStr::new(&script), OsStr::new("evenkeel-net"), OsStr::new(name)];
        let _ = tools::run("/bin/sh", &words);
    }
}
