//! What the threads of a guard share: the gate, the way to one another, and what was planned.

use super::arrivals;
use super::arrivals::Stats;
use super::link::Link;
use super::pair::Attempt;
use super::plan::Plan;
use super::seat::Door;
use super::session::Terms;
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Keeper, Notice, SessionId};
use evenkeel_os::address::Address;
use evenkeel_os::clock::Clock;
use evenkeel_os::tls::TlsSetup;
use evenkeel_os::{Endpoint, Socket, Wake};
use evenkeel_wire::relay::put_proxy_header;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A server that its sessions have not heard for so long may be gone, if logins say so too.
const SILENT: Nanos = Nanos::from_secs(1);

pub struct Shared {
    pub terms: Terms,
    pub backend: Backend,
    pub tls: TlsSetup,
    pub clock: Clock,
    pub stats: Stats,
    pub stop: AtomicBool,
    /// Sessions that were ended at the deadline, in the middle of something.
    pub cut: AtomicUsize,
    deadline: AtomicU64,
    clients_max: usize,
    /// The server that logins reach, by its address and by the gate's count, and when it was heard last.
    present: Mutex<Option<Arc<str>>>,
    server: AtomicU32,
    /// Sessions at servers below this number are at one that the operator has left.
    led: AtomicU32,
    heard: AtomicU64,
    gate: Mutex<Keeper>,
    mailboxes: Vec<Mailbox>,
}

#[derive(Debug)]
pub struct Mailbox {
    notices: Mutex<Vec<Notice>>,
    pub wake: Wake,
}

/// A panic while the lock was held left counts that are whole: every call finishes or changes nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new(
        plan: Plan,
        backend: Vec<Endpoint>,
        tls: TlsSetup,
        gate: Keeper,
        threads: usize,
    ) -> std::io::Result<Self> {
        let mailbox = |_| Ok(Mailbox { notices: Mutex::default(), wake: Wake::new()? });
        let clients_max = arrivals::bound(plan.clients_max, evenkeel_os::open_files());
        let (tls_offered, backend_tls) = (tls.is_offered(), tls.backend);
        let address = plan.backend.clone();
        Ok(Self {
            terms: Terms { plan, tls_offered, backend_tls },
            clients_max,
            present: Mutex::new(None),
            server: AtomicU32::new(gate.server()),
            led: AtomicU32::new(0),
            heard: AtomicU64::new(0),
            backend: Backend::new(address, backend),
            tls,
            clock: Clock::start(),
            stats: Stats::default(),
            stop: AtomicBool::new(false),
            cut: AtomicUsize::new(0),
            deadline: AtomicU64::new(0),
            gate: Mutex::new(gate),
            mailboxes: (0..threads).map(mailbox).collect::<std::io::Result<_>>()?,
        })
    }

    /// Whether there is room for the client that was counted last.
    pub fn has_room(&self) -> bool {
        self.stats.accepted.get().saturating_sub(self.stats.closed.get()) <= self.clients_max as u64
    }

    /// Says to a server that has just been reached who its client is, where that was asked for.
    pub fn greet(&self, client: &Link<Socket>, server: &mut Link<Socket>) -> io::Result<()> {
        server.socket().watch(self.terms.plan.silence_max)?;
        if !self.terms.plan.proxy_protocol {
            return Ok(());
        }
        let addresses = client.socket().peer().zip(client.socket().local());
        let mut header = Vec::new();
        put_proxy_header(&mut header, addresses);
        server.send(&header)
    }

    /// The server that logins reach now, as the gate counts them.
    pub fn server(&self) -> u32 {
        self.server.load(Ordering::Relaxed)
    }

    pub fn led(&self) -> u32 {
        self.led.load(Ordering::Relaxed)
    }

    pub fn last_heard(&self) -> Nanos {
        Nanos(self.heard.load(Ordering::Relaxed))
    }

    /// A session heard its server.
    pub fn heard(&self, server: Option<u32>, now: Nanos) {
        if server == Some(self.server()) {
            self.heard.store(now.0, Ordering::Relaxed);
        }
    }

    /// A connection was made to the last address that was tried: the number of its server. It is another server, whose
    /// gate is empty, where the one before could not be reached, or is not among the addresses any more, and none of its
    /// sessions has heard of it lately. Addresses that all answer count as one server.
    pub fn arrived(&self, attempt: &Attempt) -> u32 {
        let (endpoints, now) = (&attempt.endpoints, self.clock.now());
        let Some(here) = endpoints.get(attempt.tried.saturating_sub(1)).map(|endpoint| &endpoint.label)
        else {
            return self.server();
        };
        let mut present = lock(&self.present);
        let led = self.led();
        if attempt.led != led {
            return led.wrapping_sub(1);
        }
        if let Some(label) = present.as_ref().filter(|label| *label != here) {
            let at = endpoints.iter().position(|endpoint| endpoint.label == *label);
            let untried = at.is_some_and(|at| at >= attempt.tried);
            if untried || now - Nanos(self.heard.load(Ordering::Relaxed)) < SILENT {
                return self.server();
            }
            self.stats.failovers.add();
            let number = self.with_gate(None, &mut Vec::new(), |gate| gate.new_server(now));
            self.server.store(number, Ordering::Relaxed);
        }
        if present.as_ref() != Some(here) {
            *present = Some(Arc::clone(here));
            self.heard.store(now.0, Ordering::Relaxed);
        }
        self.server()
    }

    /// Sessions that begin from now on go to another server, whose gate is empty. The old one may answer on: its sessions do not count.
    pub fn lead_to(&self, address: Address, endpoints: Vec<Endpoint>) {
        let now = self.clock.now();
        let mut present = lock(&self.present);
        *present = None;
        self.stats.failovers.add();
        let number = self.with_gate(None, &mut Vec::new(), |gate| gate.new_server(now));
        self.server.store(number, Ordering::Relaxed);
        self.led.store(number, Ordering::Relaxed);
        *self.backend.0.write().unwrap_or_else(PoisonError::into_inner) =
            Way { address, endpoints: Arc::new(endpoints), led: number };
    }

    pub fn mailbox(&self, thread: usize) -> &Mailbox {
        &self.mailboxes[thread]
    }

    /// Asks the threads to end: at the end of their transactions, and at the deadline in any case.
    pub fn stop_by(&self, deadline: Nanos) {
        self.deadline.store(deadline.0, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
        self.mailboxes.iter().for_each(|mailbox| mailbox.wake.wake());
    }

    pub fn is_past_deadline(&self) -> bool {
        self.clock.now().0 >= self.deadline.load(Ordering::Relaxed)
    }

    /// Does something with the gate, and passes what follows from it for their sessions on to the threads. Those of
    /// the thread `own` come back in `local`.
    pub fn with_gate<T>(
        &self,
        own: Option<usize>,
        local: &mut Vec<Notice>,
        act: impl FnOnce(&mut Keeper) -> T,
    ) -> T {
        let mut gate = lock(&self.gate);
        let result = act(&mut gate);
        while let Some(notice) = gate.notice() {
            let thread = thread_of(session_of(notice));
            if Some(thread) == own {
                local.push(notice);
            } else if let Some(mailbox) = self.mailboxes.get(thread) {
                lock(&mailbox.notices).push(notice);
                mailbox.wake.wake();
            }
        }
        result
    }
}

impl Mailbox {
    /// Takes what has arrived.
    pub fn take(&self, into: &mut Vec<Notice>) {
        into.append(&mut lock(&self.notices));
    }
}

/// The session that a notice is for.
pub fn session_of(notice: Notice) -> SessionId {
    match notice {
        Notice::Admitted(session, _) | Notice::Rejected(session, _) => session,
    }
}

/// A session's number: its thread, its place there, and how often that was used before.
pub fn session_id(thread: usize, place: usize, generation: u32) -> SessionId {
    SessionId(u64::from(generation) << 32 | (thread as u64) << 24 | place as u64)
}

/// Most sessions of one thread.
pub const PLACES_MAX: usize = 1 << 24;

pub fn thread_of(session: SessionId) -> usize {
    (session.0 >> 24) as usize & 0xff
}

pub fn place_of(session: SessionId) -> usize {
    session.0 as usize & (PLACES_MAX - 1)
}

/// The way to the gate from one thread.
pub struct ThreadDoor {
    shared: Arc<Shared>,
    thread: usize,
    /// What the thread's clock said when it began to serve its present session: reading it again at each step would
    /// cost a tenth of what a request costs here.
    now: AtomicU64,
}

impl ThreadDoor {
    pub fn new(shared: &Arc<Shared>, thread: usize) -> Self {
        Self { shared: Arc::clone(shared), thread, now: AtomicU64::new(0) }
    }

    /// The thread serves a session at this moment.
    pub fn set_now(&self, now: Nanos) {
        self.now.store(now.0, Ordering::Relaxed);
    }
}

impl Door for ThreadDoor {
    fn reach(&self, own: Option<&mut Vec<Notice>>, act: &mut dyn FnMut(&mut Keeper, Nanos)) {
        match own {
            Some(own) => {
                let now = Nanos(self.now.load(Ordering::Relaxed));
                self.shared.with_gate(Some(self.thread), own, |gate| act(gate, now));
            }
            // Who drops a permit is in the middle of something else: its thread hears of it as the others do.
            None => {
                let now = self.shared.clock.now();
                self.shared.with_gate(None, &mut Vec::new(), |gate| act(gate, now));
            }
        }
    }
}

/// The server's address and what it is resolved to; both change while the guard runs.
pub struct Backend(RwLock<Way>);

struct Way {
    address: Address,
    endpoints: Arc<Vec<Endpoint>>,
    /// The first server by the gate's count that this way leads to.
    led: u32,
}

impl Backend {
    /// With what was found at the start.
    fn new(address: Address, endpoints: Vec<Endpoint>) -> Self {
        Self(RwLock::new(Way { address, endpoints: Arc::new(endpoints), led: 0 }))
    }

    // Nobody panics while he holds it: it is only read and replaced.
    pub fn address(&self) -> Address {
        self.0.read().unwrap_or_else(PoisonError::into_inner).address.clone()
    }

    /// For a session that begins.
    pub fn attempt(&self) -> Attempt {
        let way = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Attempt { endpoints: Arc::clone(&way.endpoints), led: way.led, ..Attempt::default() }
    }

    /// A socket for the first of them, connected to nobody yet.
    pub fn socket(&self) -> std::io::Result<Socket> {
        match self.attempt().endpoints.first() {
            Some(endpoint) => Socket::unconnected(endpoint),
            None => Err(std::io::ErrorKind::AddrNotAvailable.into()),
        }
    }

    /// What the address is resolved to now, unless another one has taken its place.
    pub fn replace(&self, address: &Address, endpoints: Vec<Endpoint>) {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if held.address == *address {
            held.endpoints = Arc::new(endpoints);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_os::tls::{BackendTls, ClientTls};

    fn endpoints(ports: &[u16]) -> Vec<Endpoint> {
        let of = |port: &u16| Endpoint::resolve(&Address::Tcp { host: "127.0.0.1".into(), port: *port });
        ports.iter().flat_map(|port| of(port).expect("a number has an address")).collect()
    }

    fn shared(ports: &[u16]) -> Shared {
        let address = Address::Tcp { host: "127.0.0.1".into(), port: ports[0] };
        let plan = Plan::new(address.clone(), address);
        let tls =
            TlsSetup::new(&ClientTls::default(), &BackendTls::default(), "localhost").expect("no files");
        let gate = Keeper::new([1; 2], plan.options);
        let shared = Shared::new(plan, endpoints(ports), tls, gate, 1).expect("a mailbox");
        Shared { clock: Clock::by_hand(), ..shared }
    }

    fn reached(ports: &[u16], tried: usize) -> Attempt {
        Attempt { endpoints: Arc::new(endpoints(ports)), tried, ..Attempt::default() }
    }

    #[test]
    fn after_a_failover_the_new_server_begins_with_an_empty_gate() {
        let shared = shared(&[1, 2]);
        assert_eq!(shared.arrived(&reached(&[1, 2], 1)), 0);
        shared.clock.set(Nanos::from_secs(5));
        // The first does not answer any more, and the second one does.
        assert_eq!(shared.arrived(&reached(&[1, 2], 2)), 1);
        shared.clock.set(Nanos::from_secs(9));
        // The name leads to a machine that was not there before.
        assert_eq!((shared.arrived(&reached(&[3], 1)), shared.server()), (2, 2));
        assert_eq!(shared.stats.failovers.get(), 2);
    }

    #[test]
    fn a_server_that_the_operator_chose_is_another_one_though_the_old_one_still_answers() {
        let shared = shared(&[1]);
        assert_eq!(shared.arrived(&reached(&[1], 1)), 0);
        shared.heard(Some(0), shared.clock.now());
        let new = Address::Tcp { host: "127.0.0.1".into(), port: 2 };
        let (begun, label) = (reached(&[1], 1), endpoints(&[2])[0].label.clone());
        shared.lead_to(new, endpoints(&[2]));
        assert_eq!(shared.arrived(&begun), 0, "it began before, and is at the old one");
        let next = Attempt { tried: 1, ..shared.backend.attempt() };
        assert_eq!(
            (next.endpoints[0].label.clone(), shared.arrived(&next), shared.server()),
            (label.clone(), 1, 1)
        );
        // What the old name was being resolved to meanwhile is not taken.
        shared.backend.replace(&Address::Tcp { host: "127.0.0.1".into(), port: 1 }, endpoints(&[1]));
        assert_eq!(shared.backend.attempt().endpoints[0].label, label);
        assert_eq!(shared.stats.failovers.get(), 1);
    }

    #[test]
    fn a_server_that_still_answers_its_sessions_is_not_replaced_by_a_slow_login() {
        let shared = shared(&[1, 2]);
        assert_eq!(shared.arrived(&reached(&[1, 2], 1)), 0);
        shared.clock.set(Nanos::from_secs(60));
        shared.heard(Some(0), Nanos::from_millis(59_500));
        assert_eq!((shared.arrived(&reached(&[1, 2], 2)), shared.arrived(&reached(&[3], 1))), (0, 0));
        assert_eq!(shared.stats.failovers.get(), 0);
    }

    #[test]
    fn addresses_that_change_places_are_one_server() {
        let shared = shared(&[1, 2]);
        assert_eq!(shared.arrived(&reached(&[1, 2], 1)), 0);
        shared.clock.set(Nanos::from_secs(60));
        assert_eq!((shared.arrived(&reached(&[2, 1], 1)), shared.arrived(&reached(&[1, 2], 1))), (0, 0));
    }
}
