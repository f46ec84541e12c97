//! Everything of a simulation, and what is judged after each step.

mod act;
mod chosen;
mod disturb;
mod ends;
mod judge;
mod network;
mod queue;
mod rest;
mod serve;
mod slot;
mod tenure;

use super::client::Client;
use super::door::Gateway;
use super::ledger::Ledger;
use super::locks::Locks;
use super::pipe::{Conduit, Plug};
use super::server::Connection;
use chosen::{backend, options};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_guard::admission::{Gate, SessionId};
use evenkeel_guard::proxy::parts::{Attempt, Door, Kinds, Pair};
use evenkeel_guard::proxy::session::{Arrival, Event, Session, Terms};
use evenkeel_guard::proxy::{Plan, Stats};
use evenkeel_os::address::Address;
use evenkeel_os::tls::{BackendTls, ClientTls, TlsMode, TlsSetup};
use evenkeel_wire::packet::HEADER_BYTES;
use evenkeel_wire::relay::HEAD_MAX;
use slot::{SLOTS, Slot};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use tenure::Tenure;

/// Bytes on their way in one direction of a wide connection.
const WIDE: usize = 40_000;
/// One read of a session, as the guard's buffer.
const BUFFER: usize = 2_048;
/// Most bytes of its client's that a session may keep: a read, and before it the head of a command that was not all there.
const HELD_MAX: usize = BUFFER + HEAD_MAX + HEADER_BYTES;
/// What may wait for a server that does not read: what was read of the client's, and what had been kept of it before.
const FOR_SERVER_MAX: usize = BUFFER + HELD_MAX + 100;
/// Commands that are refused in one turn, whatever was said ahead, and the longest error of the guard's.
const REFUSALS_MAX: usize = 16;
const ERROR_MAX: usize = 120;
/// From one tick to the next.
const TICK: Nanos = Nanos::from_millis(50);
/// Of a thousand steps so many disturb a session: in rough histories few of them live long, in calm ones their clients
/// get to take and to give back several locks.
const ROUGH: u64 = 18;
const CALM: u64 = 2;
/// Virtual time after which everything is at rest once everybody has left.
const REST: Nanos = Nanos::from_secs(60);

pub struct World {
    random: Random,
    now: Rc<Cell<Nanos>>,
    ticked: Nanos,
    looked: Nanos,
    gateway: Arc<Gateway>,
    door: Arc<dyn Door>,
    terms: Terms,
    tls: TlsSetup,
    stats: Stats,
    kinds: Kinds,
    locks: Locks,
    slots: Vec<Slot>,
    sessions: u64,
    buffer: Vec<u8>,
    /// Of a thousand steps so many disturb a session.
    disturbances: u64,
    /// The share of clients that take locks.
    lockers: f64,
    /// Nobody comes any more.
    ending: bool,
    /// What was found wrong and not yet told.
    wrong: Option<String>,
    /// What happened, where somebody wants to read it.
    pub story: Option<Vec<String>>,
}

impl World {
    pub fn new(mut random: Random) -> Self {
        let crowd = random.chance(0.3);
        let options = options(crowd, &mut random);
        let limit = random.uniform(1, if crowd { 2 } else { 4 }) as usize;
        let gateway = Arc::new(Gateway::new(Gate::new(limit, options)));
        let mut plan = Plan::new(Address::Unix(PathBuf::from("/guard")), backend(&mut random));
        plan.options = options;
        plan.refuse_host_accounts = random.chance(0.3);
        plan.administrators = vec![super::script::ADMINISTRATOR.to_owned()];
        let tls = TlsSetup::new(&ClientTls::default(), &BackendTls::default(), "localhost");
        let disturbances = if random.chance(0.5) { ROUGH } else { CALM };
        let lockers = if crowd { 0.9 } else { 0.2 };
        let mut world = Self {
            random,
            disturbances,
            lockers,
            now: Rc::new(Cell::new(Nanos::ZERO)),
            ticked: Nanos::ZERO,
            looked: Nanos::ZERO,
            door: gateway.clone(),
            gateway,
            terms: Terms { plan, tls_offered: false, backend_tls: TlsMode::Disabled },
            tls: tls.unwrap_or_else(|error| unreachable!("TLS without files can be set up: {error}")),
            stats: Stats::default(),
            kinds: Kinds::default(),
            locks: Locks::default(),
            slots: Vec::new(),
            sessions: 0,
            buffer: vec![0; BUFFER],
            ending: false,
            wrong: None,
            story: None,
        };
        for _ in 0..SLOTS {
            let slot = world.arrival();
            world.slots.push(slot);
        }
        world
    }

    fn arrival(&mut self) -> Slot {
        self.sessions += 1;
        let id = SessionId(self.sessions);
        let mut conduit = || {
            let narrow = self.random.uniform(200, 4_000) as usize;
            let room = if self.random.chance(0.2) { WIDE } else { narrow };
            Rc::new(RefCell::new(Conduit::new(room)))
        };
        let (near, far) = (conduit(), conduit());
        let plug =
            |conduit: &Rc<RefCell<Conduit>>| Plug { conduit: Rc::clone(conduit), now: Rc::clone(&self.now) };
        let spare = self.random.chance(0.05);
        let slow = self.random.chance(0.1);
        let session = Session::new(id, Arrival { local: false, spare }, self.now.get());
        let pair = Pair::new(session, plug(&near), plug(&far), Attempt::default());
        Slot {
            id,
            pair,
            server: None,
            client: Client::new(self.lockers, &mut self.random),
            connection: Connection::new(self.sessions as usize, self.barred(), slow),
            ledger: Ledger::new(self.now.get()),
            near,
            far,
            lent_at: None,
            tenure: Tenure::default(),
            outstayed: false,
            overstays: 0,
            pauses: false,
            exempt: false,
            soft_from: 0,
            left: None,
            spare,
            closed: None,
        }
    }

    /// Accounts that the operator's terms keep out: on a socket that of the system would be everybody's, and one of a host
    /// everybody's who comes through the guard.
    fn barred(&self) -> Vec<&'static str> {
        let plan = &self.terms.plan;
        let socket = plan.backend.is_local().then_some(super::script::SYSTEM);
        socket.into_iter().chain(plan.refuse_host_accounts.then_some(super::script::BOUND)).collect()
    }

    /// One thing happens.
    pub fn step(&mut self) -> Result<(), String> {
        let at = self.random.uniform(0, SLOTS as u64 - 1) as usize;
        self.pass_time()?;
        let done = self.happen(at);
        self.noted(at, done)
    }

    /// What must not have happened to a session stands in the story too.
    fn noted(&mut self, at: usize, done: Result<(), String>) -> Result<(), String> {
        if let Err(what) = &done {
            self.note(at, |_| what.clone());
        }
        done
    }

    fn happen(&mut self, at: usize) -> Result<(), String> {
        match self.random.uniform(0, 999) {
            0..=219 => self.let_client_act(at)?,
            220..=429 => self.let_server_act(at)?,
            430..=431 => self.govern(),
            other if other >= 1_000 - self.disturbances => self.disturb(at),
            _ => self.carry(at),
        }
        self.replace(at);
        self.judge(at)
    }

    fn pass_time(&mut self) -> Result<(), String> {
        let time = match self.random.uniform(0, 99) {
            0 => Nanos::from_millis(self.random.uniform(1, 120)),
            _ => Nanos::from_micros(self.random.uniform(0, 60)),
        };
        self.set_time(self.now.get() + time);
        if self.now.get() - self.ticked < TICK {
            return Ok(());
        }
        self.ticked = self.now.get();
        self.reach(&mut |gate, now| gate.tick(now));
        let looks = self.now.get() - self.looked >= Nanos::from_secs(1);
        for at in 0..SLOTS {
            self.serve(at, |pair, desk| pair.happens(Event::Tick, desk));
            if looks {
                self.look_for_server(at);
            }
            self.watch_end(at);
            let judged = self.judge(at).and_then(|()| self.judge_tenure(at));
            self.noted(at, judged)?;
        }
        self.judge_tenants()?;
        self.judge_shares()?;
        if looks {
            self.looked = self.now.get();
        }
        Ok(())
    }

    fn watch_end(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        if slot.near.borrow().end_is_there() || slot.near.borrow().broken {
            slot.left.get_or_insert(self.now.get());
        }
    }

    fn set_time(&mut self, now: Nanos) {
        self.now.set(now);
        self.gateway.set(now);
    }

    /// Notes what happens to a session, and what has come of it.
    fn note(&mut self, at: usize, what: impl FnOnce(&Slot) -> String) {
        if let Some(story) = &mut self.story {
            let slot = &self.slots[at];
            let standing = slot.pair.session.standing();
            story.push(format!("{:?} session {}: {} {standing:?}", self.now.get(), slot.id.0, what(slot)));
        }
    }

    fn reach(&self, act: &mut dyn FnMut(&mut Gate, Nanos)) {
        self.gateway.reach(None, act);
    }

    fn replace(&mut self, at: usize) {
        let slot = &self.slots[at];
        let over = slot.is_closed() && (slot.client.is_gone() || slot.near.borrow().broken);
        if over && slot.connection.is_closed() && !self.ending {
            self.slots[at] = self.arrival();
        }
    }
}
