//! Everything of a simulation, and what is judged after each step.

mod chosen;
mod disturb;
mod ends;
mod judge;
mod queue;
mod rest;
mod serve;

use super::client::Client;
use super::door::Gateway;
use super::ledger::Ledger;
use super::locks::Locks;
use super::pipe::{Conduit, Plug};
use super::server::{Connection, Deed};
use crate::admission::{Gate, SessionId};
use crate::proxy::kinds::Kinds;
use crate::proxy::pair::{Attempt, Pair};
use crate::proxy::plan::Plan;
use crate::proxy::seat::Door;
use crate::proxy::session::{Arrival, Event, Session, Side, Terms};
use crate::proxy::stats::Stats;
use chosen::{backend, options};
use ends::Heard;
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_os::Ready;
use evenkeel_os::address::Address;
use evenkeel_os::tls::{BackendTls, ClientTls, TlsMode, TlsSetup};
use evenkeel_wire::packet::HEADER_BYTES;
use evenkeel_wire::relay::HEAD_MAX;
use queue::Tenure;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Sessions at a time.
const SLOTS: usize = 6;
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

struct Slot {
    id: SessionId,
    pair: Pair<Plug>,
    /// Which server it is connected to, once it is.
    server: Option<u32>,
    client: Client,
    connection: Connection,
    ledger: Ledger,
    near: Rc<RefCell<Conduit>>,
    far: Rc<RefCell<Conduit>>,
    /// Bytes that the guard had for the server when the session's permit was lent.
    lent_at: Option<u64>,
    /// For how long it has had permits, and whether its permit is lent because that was too long.
    tenure: Tenure,
    outstayed: bool,
    /// How often in turn it was found with a permit that it ought to have lent.
    overstays: u32,
    /// Its permit is lent for a pause.
    pauses: bool,
    /// It passed the queue for what costs nothing, and has held that and nothing else since.
    exempt: bool,
    /// Byte of the server's behind which everybody who has heard it knows that the session holds no more than that.
    soft_from: u64,
    /// Since when its client's end has been there to be seen.
    left: Option<Nanos>,
    /// It came beyond the bound of clients.
    spare: bool,
    /// When the guard dropped it.
    closed: Option<Nanos>,
}

impl Slot {
    /// Whether the guard has dropped it.
    fn is_closed(&self) -> bool {
        self.closed.is_some()
    }
}

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

    fn look_for_server(&mut self, at: usize) {
        let silence = self.terms.plan.silence_max;
        self.serve(at, |pair, desk| pair.look_for_server(silence, desk));
        // The kernel's own questions whether the other machine is there, which it asks where nothing else is on its way.
        let slot = &self.slots[at];
        let unheard = slot.far.borrow().vanished.is_some_and(|since| self.now.get() - since > silence);
        if unheard && slot.far.borrow().is_idle() && !slot.is_closed() {
            slot.far.borrow_mut().broken = true;
            self.ready(at, Side::Server, true, true);
        }
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

    /// The network brings some bytes nearer.
    fn carry(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        let (is_near, to_guard) = (self.random.chance(0.5), self.random.chance(0.6));
        let count = match self.random.uniform(0, 3) {
            0 => 1,
            1 => self.random.uniform(1, 40) as usize,
            _ => WIDE,
        };
        let conduit = if is_near { &slot.near } else { &slot.far };
        let moved = conduit.borrow_mut().carry(to_guard, count);
        if moved {
            self.arrived(at, is_near, to_guard);
        }
    }

    /// Something has come to where it was to go: the guard hears of it where it is for it, or where it broke the
    /// connection.
    fn arrived(&mut self, at: usize, is_near: bool, to_guard: bool) {
        let side = if is_near { Side::Client } else { Side::Server };
        let conduit = if is_near { &self.slots[at].near } else { &self.slots[at].far };
        let (broken, ended) = (conduit.borrow().broken, conduit.borrow().end_is_there());
        if to_guard || broken {
            self.ready(at, side, ended || broken, broken);
        }
    }

    /// The kernel tells the guard of a socket.
    fn ready(&mut self, at: usize, side: Side, ended: bool, write: bool) {
        let slot = &mut self.slots[at];
        if side == Side::Server && slot.pair.session.is_connecting() {
            return self.connect(at);
        }
        let ready = Ready { token: 0, read: true, write, ended, gone: false };
        self.serve(at, |pair, desk| pair.ready(side, ready, desk));
        self.note(at, |slot| {
            let (keeps, hears) = (slot.pair.session.held(), slot.pair.session.hears(Side::Client));
            format!(
                "{side:?} is ready, ended {ended}, room {write}; keeps {keeps}, hears the client {hears}:"
            )
        });
    }

    fn connect(&mut self, at: usize) {
        let mut server = 0;
        self.reach(&mut |gate, _| server = gate.server());
        self.slots[at].server = Some(server);
        self.serve(at, |pair, desk| pair.happens(Event::Connected { server }, desk));
        self.serve(at, |pair, desk| {
            pair.ready(
                Side::Server,
                Ready { token: 0, read: true, write: false, ended: false, gone: false },
                desk,
            )
        });
    }

    fn let_client_act(&mut self, at: usize) -> Result<(), String> {
        let slot = &mut self.slots[at];
        let (was_gone, was_broken) = (slot.client.is_gone(), slot.near.borrow().broken);
        let (sent, before) = (slot.ledger.sent_total(), Heard::of(slot));
        slot.ledger.reasons.now = self.now.get();
        slot.client.act(&mut slot.near.borrow_mut(), &mut slot.ledger, &mut self.random)?;
        if slot.ledger.sent_total() > sent {
            self.note(at, |slot| format!("the client says {:?}", slot.ledger.last()));
        }
        self.judge_ending(at, &before)?;
        if !was_gone && !was_broken {
            // Room that it made, and the end that it told, are seen.
            self.room(at, Side::Client);
        }
        Ok(())
    }

    fn room(&mut self, at: usize, side: Side) {
        let slot = &mut self.slots[at];
        let broken = match side {
            Side::Client => slot.near.borrow().broken,
            Side::Server => slot.far.borrow().broken,
        };
        if slot.pair.link(side).is_blocked() || broken {
            self.ready(at, side, broken, true);
        }
    }

    fn let_server_act(&mut self, at: usize) -> Result<(), String> {
        let slot = &mut self.slots[at];
        let now = self.now.get();
        let (was_reset, was_solid) = (slot.ledger.reset, slot.connection.is_solid());
        slot.ledger.reasons.now = now;
        let deed = slot.connection.act(
            &mut slot.far.borrow_mut(),
            &mut self.locks,
            &mut slot.ledger,
            (now, &mut self.random),
        )?;
        if slot.ledger.reset && !was_reset {
            Self::judge_reset(slot)?;
        }
        self.watch_exemption(at, was_solid);
        let slot = &self.slots[at];
        let reachable = !slot.far.borrow().broken && slot.far.borrow().vanished.is_none();
        if deed.is_some() {
            self.note(at, |_| format!("the server: {deed:?}"));
        }
        match deed {
            Some(Deed::Usurped(what)) => {
                return Err(format!("the server obeyed {what}, an account that may not come in"));
            }
            Some(Deed::Works { command, at: from }) if reachable => self.judge_work(at, &command, from)?,
            _ => {}
        }
        self.room(at, Side::Server);
        Ok(())
    }

    fn replace(&mut self, at: usize) {
        let slot = &self.slots[at];
        let over = slot.is_closed() && (slot.client.is_gone() || slot.near.borrow().broken);
        if over && slot.connection.is_closed() && !self.ending {
            self.slots[at] = self.arrival();
        }
    }
}
