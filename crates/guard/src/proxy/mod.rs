//! The data plane: clients in, the server behind, and between them the gate.
//!
//! A few threads, each with its own sockets and sessions; one client connection has one server connection, in
//! the same thread. Bytes pass unaltered through one buffer per thread: an idle session owns none. The only
//! thing that threads share is the gate, behind a lock that is held for a few comparisons.
//!
//! Compression is negotiated away: what is compressed cannot be read, and a guard stands near its server.

mod account;
mod arrivals;
mod link;
mod pair;
mod plan;
mod seat;
pub mod session;
mod shared;
mod worker;

/// What carries a session to its end, for whoever drives it without sockets.
pub mod parts {
    pub use super::account::{QUESTION, is_bound_to_host, names_socket_plugin, user_of};
    pub use super::link::Transport;
    pub use super::pair::{Attempt, Desk, Flow, Pair};
    pub use super::seat::{Door, Standing};
    pub use super::shared::session_of;
}

use crate::capture::Capture;
use crate::control::Reach;
pub use arrivals::{Count, Runaway, Stats};
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Census, Keeper};
pub use evenkeel_os::address::{Address, NoAddress};
use evenkeel_os::clock::Clock;
use evenkeel_os::tls::TlsSetup;
pub use evenkeel_os::tls::{BackendMode, BackendTls, ClientTls, Identity, TlsError, TlsMode};
use evenkeel_os::{Endpoint, Listener};
pub use plan::{Plan, TenantBy};
use shared::Shared;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;
use worker::Worker;

pub const THREADS_MAX: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    #[error("cannot listen at {address}: {source}")]
    Listen { address: Address, source: io::Error },
    #[error("server {address}: {source}")]
    Backend {
        address: Address,
        /// What is wrong with it.
        source: io::Error,
    },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    #[error("a thread of the guard ended: {0}")]
    Ended(io::Error),
}

/// A way to a guard that may be kept by whoever watches or controls it.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Handle {
    /// The clock of the gate.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    pub fn stats(&self) -> &Stats {
        &self.0.stats
    }

    /// What passes is written there, if it is.
    pub fn capture(&self) -> Option<&Capture> {
        self.0.terms.plan.capture.as_deref()
    }

    /// When a client's connection heard the server last; zero for never.
    pub fn heard(&self) -> Nanos {
        self.0.last_heard()
    }

    /// SHA-256 of the certificate that clients are shown, as openssl writes it, so that they can pin it.
    pub fn fingerprint(&self) -> Option<&str> {
        self.0.tls.fingerprint()
    }
}

impl Reach for Handle {
    fn reach(&self, act: &mut dyn FnMut(&mut Keeper)) {
        self.0.with_gate(None, &mut Vec::new(), |gate| act(gate));
    }
}

pub struct Guard {
    shared: Arc<Shared>,
    listeners: Arc<Vec<Listener>>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Guard {
    /// Listens and begins to serve. The server may come later: until then clients are refused, because it is not
    /// there.
    pub fn start(plan: Plan) -> Result<Self, GuardError> {
        evenkeel_os::allow_descriptors();
        let backend = Endpoint::resolve(&plan.backend)
            .map_err(|source| GuardError::Backend { address: plan.backend.clone(), source })?;
        let host = match &plan.backend {
            Address::Tcp { host, .. } => host.as_str(),
            Address::Unix(_) => "localhost",
        };
        let tls = TlsSetup::new(&plan.client_tls, &plan.backend_tls, host)?;
        let listen = |address: &Address| {
            let listener =
                Listener::bind(address).and_then(|listener| listener.open_to_all().map(|()| listener));
            listener.map_err(|source| GuardError::Listen { address: address.clone(), source })
        };
        let listeners = Arc::new(plan.listen.iter().map(listen).collect::<Result<Vec<_>, _>>()?);
        let threads = plan.threads.clamp(1, THREADS_MAX);
        let gate = Keeper::new([plan.limit; 2], plan.options);
        let shared = Arc::new(Shared::new(plan, backend, tls, gate, threads).map_err(GuardError::Thread)?);
        follow(&shared).map_err(GuardError::Thread)?;
        let mut guard = Self { shared, listeners, threads: Vec::new() };
        for thread in 0..threads {
            guard.start_thread(thread).map_err(GuardError::Thread)?;
        }
        Ok(guard)
    }

    fn start_thread(&mut self, thread: usize) -> io::Result<()> {
        let worker = Worker::new(self.shared.clone(), thread, self.listeners.clone())?;
        let builder = std::thread::Builder::new().name(format!("guard-{thread}"));
        self.threads.push(builder.spawn(|| worker.run())?);
        Ok(())
    }

    pub fn ports(&self) -> Vec<u16> {
        self.listeners.iter().filter_map(Listener::port).collect()
    }

    pub fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }

    pub fn stats(&self) -> &Stats {
        &self.shared.stats
    }

    pub fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    /// Does something with the gate: limits, weights, figures. What follows for sessions is done.
    pub fn with_gate<T>(&self, act: impl FnOnce(&mut Keeper, Nanos) -> T) -> T {
        let now = self.now();
        self.shared.with_gate(None, &mut Vec::new(), |gate| act(gate, now))
    }

    /// Leads clients that come from now on to another server; sessions that are there stay with theirs.
    /// Errors: its name has no address.
    pub fn lead_to(&self, address: &Address) -> Result<(), GuardError> {
        let found = Endpoint::resolve(address)
            .map_err(|source| GuardError::Backend { address: address.clone(), source })?;
        self.shared.lead_to(address.clone(), found);
        Ok(())
    }

    pub fn census(&self) -> Census {
        self.with_gate(|gate, now| gate.census(now))
    }

    /// Takes no more clients, lets transactions come to their end, closes connections that are idle, and at
    /// the deadline all others: how many that were.
    pub fn stop(mut self, patience: Nanos) -> Result<usize, GuardError> {
        self.shared.stop_by(self.now() + patience);
        self.join().map(|()| self.shared.cut.load(Ordering::Relaxed))
    }

    /// Whether a thread has ended, which none does before [`Guard::stop`] unless the system fails it.
    pub fn has_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    fn join(&mut self) -> Result<(), GuardError> {
        let mut result = Ok(());
        for thread in std::mem::take(&mut self.threads) {
            let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")));
            result = result.and(ended.map_err(GuardError::Ended));
        }
        result
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.stop_by(Nanos::ZERO);
        // Whoever drops a guard without asking does not want to know.
        let _ = self.join();
    }
}

/// Time between two looks at whether the server could be reached.
const NAP: Duration = Duration::from_secs(1);
/// Naps after which the name is looked up in any case.
const NAPS: u32 = 30;

/// Looks the name of the server up again, as it leads elsewhere after a failover, from a thread of its own, since the system's resolver
/// waits. It ends by itself soon after the guard.
fn follow(shared: &Arc<Shared>) -> io::Result<()> {
    let shared = Arc::downgrade(shared);
    std::thread::Builder::new().name("names".into()).spawn(move || look_up(&shared)).map(drop)
}

fn look_up(shared: &Weak<Shared>) {
    let (mut naps, mut failed) = (0, 0);
    loop {
        std::thread::sleep(NAP);
        naps += 1;
        let Some((failures, address)) =
            shared.upgrade().map(|shared| (shared.stats.unreachable.get(), shared.backend.address()))
        else {
            return;
        };
        if !is_name(&address) || failures == failed && naps < NAPS {
            continue;
        }
        (naps, failed) = (0, failures);
        // A name that cannot be resolved now leaves what was known.
        if let (Ok(found), Some(shared)) = (Endpoint::resolve(&address), shared.upgrade()) {
            shared.backend.replace(&address, found);
        }
    }
}

fn is_name(address: &Address) -> bool {
    matches!(address, Address::Tcp { host, .. } if host.parse::<IpAddr>().is_err())
}
