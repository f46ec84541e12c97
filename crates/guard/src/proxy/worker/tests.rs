//! A thread of the guard in the middle of a defect: a session that panics ends alone.

use super::*;
use crate::proxy::plan::Plan;
use evenkeel_core::admission::{Census, Keeper, Options};
use evenkeel_os::Endpoint;
use evenkeel_os::address::Address;
use evenkeel_os::tls::{BackendTls, ClientTls, TlsSetup};
use evenkeel_wire::packet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Longer than any machine stands still.
const PATIENCE: Duration = Duration::from_secs(60);

const GREETING: &[u8] = b"\x0a10.11.6-test\0\x07\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x80\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";
/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, TRANSACTIONS.
const CAPABILITIES: u32 = 1 << 9 | 1 << 15 | 1 << 19 | 1 << 13;

/// The way of sessions to the gate, on which the next one falls that goes it for itself, once the trap is armed. The thread
/// itself has another.
struct Trap {
    way: Arc<ThreadDoor>,
    armed: AtomicBool,
}

impl Door for Trap {
    fn reach(&self, own: Option<&mut Vec<Notice>>, act: &mut dyn FnMut(&mut Keeper, Nanos)) {
        assert!(own.is_none() || !self.armed.swap(false, Ordering::SeqCst), "a session fell into the trap");
        self.way.reach(own, act);
    }
}

/// One end of a connection that says and hears packets.
struct Wire(TcpStream);

impl Wire {
    fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    fn say(&mut self, number: u8, payload: &[u8]) {
        let mut out = Vec::new();
        packet::put(&mut out, &mut number.clone(), |out| out.extend_from_slice(payload));
        self.0.write_all(&out).unwrap();
    }

    /// The next packet's payload; none at the end.
    fn hear(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 4];
        self.0.read_exact(&mut header).ok()?;
        let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.0.read_exact(&mut payload).ok()?;
        Some(payload)
    }

    fn log_in(port: u16) -> Self {
        let mut wire = Self::new(TcpStream::connect(("127.0.0.1", port)).unwrap());
        assert!(wire.hear().is_some_and(|greeting| greeting.first() == Some(&10)));
        let hello = [&CAPABILITIES.to_le_bytes()[..], &[0, 0, 0, 64, 45], &[0; 23], b"app\0\0\0"];
        wire.say(1, &hello.concat());
        wire
    }

    fn asks(&mut self, text: &str) {
        self.say(0, format!("\x03{text}").as_bytes());
    }

    /// Whether the next that it hears is that something was done.
    fn hears_ok(&mut self) -> bool {
        self.hear().is_some_and(|payload| payload.first() == Some(&0))
    }
}

/// A server that says yes to everything, and that a transaction is open after a BEGIN.
fn serve(stream: TcpStream) {
    let mut wire = Wire::new(stream);
    wire.say(0, GREETING);
    let mut number = 2;
    while let Some(said) = wire.hear() {
        let open = said.starts_with(b"\x03BEGIN");
        wire.say(number, &[0, 0, 0, if open { 3 } else { 2 }, 0, 0, 0]);
        number = 1;
    }
}

fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || serve(stream.unwrap()));
        }
    });
    port
}

/// A worker with a trap, which lets one transaction run at a time, and where it listens.
fn worker() -> (Worker, Arc<Trap>, u16) {
    let at = |port| Address::Tcp { host: "127.0.0.1".into(), port };
    let mut plan = Plan::new(at(0), at(server()));
    plan.options = Options { long_min: Nanos::from_secs(3_600), ..Options::default() };
    let listener = Listener::bind(&at(0)).unwrap();
    let port = listener.port().unwrap();
    let tls = TlsSetup::new(&ClientTls::default(), &BackendTls::default(), "localhost").unwrap();
    let backend = Endpoint::resolve(&plan.backend).unwrap();
    let gate = Keeper::new([1; 2], plan.options);
    let shared = Arc::new(Shared::new(plan, backend, tls, gate, 1).unwrap());
    let mut worker = Worker::new(shared, 0, Arc::new(vec![listener])).unwrap();
    let trap = Arc::new(Trap { way: Arc::clone(&worker.way), armed: AtomicBool::new(false) });
    worker.door = trap.clone();
    (worker, trap, port)
}

fn census(shared: &Shared) -> Census {
    shared.with_gate(None, &mut Vec::new(), |gate| gate.census(shared.clock.now()))
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("not in a minute: {what}");
}

#[test]
fn a_session_that_panics_ends_alone_and_its_permit_goes_to_the_next() {
    let (worker, trap, port) = worker();
    let shared = Arc::clone(&worker.shared);
    let thread = std::thread::spawn(|| worker.run());
    let [mut holder, mut waiter, mut idle] = [(); 3].map(|()| Wire::log_in(port));
    assert!([&mut holder, &mut waiter, &mut idle].into_iter().all(Wire::hears_ok));
    holder.asks("BEGIN");
    assert!(holder.hears_ok());
    waiter.asks("SELECT a FROM t");
    eventually("one runs and one waits", || (census(&shared).running(), census(&shared).waiting()) == (1, 1));

    trap.armed.store(true, Ordering::SeqCst);
    holder.asks("COMMIT");
    assert_eq!(holder.hear(), None, "the session that panicked is closed");
    assert!(waiter.hears_ok(), "the permit went to who waited for it");
    idle.asks("SELECT 2");
    assert!(idle.hears_ok(), "others go on");
    assert_eq!((shared.stats.panics.get(), shared.stats.closed.get()), (1, 1));

    // A login may panic as well, and the place of a session is used again.
    trap.armed.store(true, Ordering::SeqCst);
    assert_eq!(Wire::log_in(port).hear(), None);
    let mut last = Wire::log_in(port);
    assert!(last.hears_ok());
    last.asks("SELECT 3");
    assert!(last.hears_ok() && shared.stats.panics.get() == 2);
    let left = census(&shared);
    assert_eq!((left.running(), left.aside, left.waiting()), (0, 0, 0), "{left:?}");

    shared.stop_by(Nanos::ZERO);
    assert!(thread.join().unwrap().is_ok(), "the thread ends as it was told to");
    assert_eq!(shared.stats.accepted.get(), shared.stats.closed.get());
}
