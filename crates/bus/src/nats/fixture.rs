//! Tests have a real server of NATS, on a port of this host.

use super::{Login, Nats, Plan};
use crate::{Bus, BusError, patient};
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub struct Server {
    port: u16,
    flags: Vec<String>,
    child: Option<Child>,
}

impl Server {
    /// One that runs, with these flags.
    pub fn start(flags: &[&str]) -> Self {
        let mut server = Self::absent(flags);
        server.begin();
        server
    }

    /// A server that is not started yet.
    pub fn absent(flags: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        Self { port, flags: flags.iter().map(|flag| (*flag).to_owned()).collect(), child: None }
    }

    /// Starts it, again where it ran before, and waits until it listens.
    pub fn begin(&mut self) {
        let program = ["/usr/sbin/nats-server", "/usr/bin/nats-server"];
        let program = program.into_iter().find(|path| std::path::Path::new(path).exists());
        let mut command = Command::new(program.unwrap_or("nats-server"));
        command.args(["-a", "127.0.0.1", "-p", &self.port.to_string()]).args(&self.flags);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().expect("nats-server is installed"));
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills the server and waits until it is gone.
    pub fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().and_then(|()| child.wait()).expect("it was ours");
        }
    }

    /// `STOP`, `CONT`. Returns when all its threads stand still, or may go on: one that runs just then may still answer.
    pub fn signal(&self, name: &str) {
        let id = self.child.as_ref().expect("it runs").id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().expect("kill").success());
        while name == "STOP" && !stands_still(&id) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// How a member reaches it.
    pub fn plan(&self, member: &str) -> Plan {
        Plan {
            servers: vec![format!("nats://127.0.0.1:{}", self.port)],
            array: "test".to_owned(),
            member: member.to_owned(),
            login: Login::Open,
            authorities: None,
            waits: false,
        }
    }

    /// A member on it, with the bounds of users.
    pub fn join(&self, member: &str, period: Nanos, clock: Clock) -> Result<Bus, BusError> {
        Bus::open(Box::new(Nats::open(&self.plan(member))?), member, period, clock)
    }

    /// A member on it while it works: its messages come back, however slow the machine is.
    pub fn join_patiently(&self, member: &str, period: Nanos, clock: Clock) -> Result<Bus, BusError> {
        Bus::open_with(Box::new(Nats::open(&self.plan(member))?), member, (period, patient), clock)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether every thread of a process is stopped.
fn stands_still(id: &str) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).expect("it runs").flatten();
    let state = |path: std::path::PathBuf| std::fs::read_to_string(path.join("stat")).unwrap_or_default();
    // The state follows the name, which is in brackets. A thread that has gone since is no worry.
    threads.map(|thread| state(thread.path())).all(|stat| stat.is_empty() || stat.contains(") T "))
}
