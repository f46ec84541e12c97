//! Everything of a simulation: sessions with their clients and connections, the gate, the network and its troubles.

mod kills;
mod serve;

use super::client::Client;
use super::door::Gateway;
use super::ledger::Ledger;
use super::locks::Locks;
use super::pipe::{Conduit, Plug};
use super::script;
use super::server::Connection;
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Keeper, Options, SessionId};
use evenkeel_core::random::Random;
use evenkeel_guard::proxy::parts::{Attempt, Door, Pair};
use evenkeel_guard::proxy::session::{Event, Session, Side, Terms};
use evenkeel_guard::proxy::{Plan, Stats};
use evenkeel_os::address::Address;
use evenkeel_os::tls::{BackendTls, ClientTls, TlsMode, TlsSetup};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

pub const SLOTS: usize = 6;
/// Bytes on their way in one direction of a wide connection.
const WIDE: usize = 40_000;
/// One read of a session, as the guard's buffer.
pub const BUFFER: usize = 2_048;
const TICK: Nanos = Nanos::from_millis(50);
/// Of a thousand steps so many disturb a session: in rough histories few of them live long, in calm ones their clients
/// get to take and to give back several locks.
const ROUGH: u64 = 18;
const CALM: u64 = 2;
/// Virtual time after which everything is at rest once everybody has left.
const REST: Nanos = Nanos::from_secs(60);

/// A place for one session after the other: a client, the guard's session for it and its connection, and what is known
/// of them.
pub struct Slot {
    pub id: SessionId,
    pub pair: Pair<Plug>,
    pub client: Client,
    pub connection: Connection,
    pub ledger: Ledger,
    pub near: Rc<RefCell<Conduit>>,
    pub far: Rc<RefCell<Conduit>>,
    /// Since when its client's end has been there to be seen.
    pub left: Option<Nanos>,
    /// When the guard dropped it.
    pub closed: Option<Nanos>,
    /// Of each end of a wait that it was told, whether a KILL was its reason.
    pub ends: Vec<bool>,
    /// Since when it waits, and how many waits have ended before.
    pub waits: Option<(Nanos, usize)>,
}

impl Slot {
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }
}

/// A KILL QUERY that the server has done, for a session that waited before it was sent.
pub struct Kill {
    killer: SessionId,
    /// The killer's client knows that it is done once it has heard so much.
    answered: usize,
    victim: SessionId,
    /// How many waits of the victim had ended before this one.
    wait: usize,
}

pub struct World {
    random: Random,
    pub now: Rc<Cell<Nanos>>,
    ticked: Nanos,
    looked: Nanos,
    pub gateway: Arc<Gateway>,
    door: Arc<dyn Door>,
    pub terms: Terms,
    tls: TlsSetup,
    stats: Stats,
    pub locks: Locks,
    pub slots: Vec<Slot>,
    sessions: u64,
    buffer: Vec<u8>,
    /// Of a thousand steps so many disturb a session.
    disturbances: u64,
    /// Nobody comes any more.
    ending: bool,
    pub kills: Vec<Kill>,
    /// What was found wrong and not yet told.
    pub wrong: Option<String>,
}

/// What the operator of this history chose: bounds of everything, some of them tight.
fn options(random: &mut Random) -> Options {
    let most = SLOTS as u64;
    let mut some =
        |chance: f64, low: u64, high: u64| random.chance(chance).then(|| random.uniform(low, high));
    Options {
        queue_max: some(0.4, 0, 1).map(|most| 3 * most as usize),
        wait_max: some(0.3, 50, 500).map(Nanos::from_millis),
        named_max: some(0.25, 0, 2).unwrap_or(most) as usize,
        // Only that bound counts here: it is known to whoever judges a wait.
        named_min: SLOTS,
        aside_max: some(0.3, 0, 2).unwrap_or(most) as usize,
        ..Options::default()
    }
}

impl World {
    pub fn new(mut random: Random) -> Self {
        let options = options(&mut random);
        let gateway =
            Arc::new(Gateway::new(Keeper::new([(); 2].map(|()| random.uniform(1, 4) as usize), options)));
        // The guard asks for each account on a socket, and for administrators everywhere.
        let backend = match random.chance(0.5) {
            true => Address::Unix(PathBuf::from("/model")),
            false => Address::Tcp { host: "model".to_owned(), port: 3306 },
        };
        let mut plan = Plan::new(Address::Unix(PathBuf::from("/guard")), backend);
        plan.options = options;
        plan.administrators = vec![script::ADMINISTRATOR.to_owned()];
        let tls = TlsSetup::new(&ClientTls::default(), &BackendTls::default(), "localhost");
        let disturbances = if random.chance(0.5) { ROUGH } else { CALM };
        let mut world = Self {
            random,
            now: Rc::new(Cell::new(Nanos::ZERO)),
            ticked: Nanos::ZERO,
            looked: Nanos::ZERO,
            door: gateway.clone(),
            gateway,
            terms: Terms { plan, tls_offered: false, backend_tls: TlsMode::Disabled },
            tls: tls.unwrap_or_else(|error| unreachable!("TLS without files can be set up: {error}")),
            stats: Stats::default(),
            locks: Locks::default(),
            slots: Vec::new(),
            sessions: 0,
            buffer: vec![0; BUFFER],
            disturbances,
            ending: false,
            kills: Vec::new(),
            wrong: None,
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
        let session = Session::new(id, false, self.now.get());
        Slot {
            id,
            pair: Pair::new(session, plug(&near), plug(&far), Attempt::default()),
            client: Client::new(&mut self.random),
            connection: Connection::new(self.sessions as usize),
            ledger: Ledger::new(self.now.get()),
            near,
            far,
            left: None,
            closed: None,
            ends: Vec::new(),
            waits: None,
        }
    }

    pub fn step(&mut self) -> Result<(), String> {
        let at = self.random.uniform(0, SLOTS as u64 - 1) as usize;
        self.pass_time()?;
        match self.random.uniform(0, 999) {
            0..=219 => self.let_client_act(at)?,
            220..=429 => self.let_server_act(at)?,
            430..=431 => self.govern(),
            other if other >= 1_000 - self.disturbances => self.disturb(at),
            _ => self.carry(at),
        }
        self.replace(at);
        self.see_waits();
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
            self.judge(at)?;
        }
        self.judge_tenants()?;
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

    pub fn reach(&self, act: &mut dyn FnMut(&mut Keeper, Nanos)) {
        self.gateway.reach(None, act);
    }

    fn replace(&mut self, at: usize) {
        let slot = &self.slots[at];
        let over = slot.is_closed() && (slot.client.is_gone() || slot.near.borrow().broken);
        if over && slot.connection.is_closed() && !self.ending {
            self.slots[at] = self.arrival();
        }
    }

    fn let_client_act(&mut self, at: usize) -> Result<(), String> {
        let other = self.someone();
        let slot = &mut self.slots[at];
        let (was_gone, was_broken) = (slot.client.is_gone(), slot.near.borrow().broken);
        let was_told = slot.ledger.last_words.is_some();
        (slot.ledger.now, slot.ledger.other) = (self.now.get(), other);
        slot.client.act(&mut slot.near.borrow_mut(), &mut slot.ledger, &mut self.random)?;
        if slot.client.was_let_in() && slot.ledger.pending() == 0 {
            slot.ledger.login = None;
        }
        self.judge_ending(&self.slots[at], was_gone, was_told)?;
        self.judge_kills()?;
        if !was_gone && !was_broken {
            // Room that it made, and the end that it told, are seen.
            self.room(at, Side::Client);
        }
        Ok(())
    }

    fn let_server_act(&mut self, at: usize) -> Result<(), String> {
        let slot = &mut self.slots[at];
        slot.ledger.now = self.now.get();
        let was_reset = slot.ledger.reset;
        let begun = slot.connection.act(
            &mut slot.far.borrow_mut(),
            &mut self.locks,
            &mut slot.ledger,
            &mut self.random,
        )?;
        if slot.ledger.reset && !was_reset {
            Self::judge_reset(slot)?;
        }
        let killed = self.locks.killed.take();
        let reachable = !slot.far.borrow().broken && slot.far.borrow().vanished.is_none();
        if let Some(command) = begun.filter(|_| reachable) {
            Self::judge_work(slot, &command)?;
        }
        if let Some((number, connection)) = killed {
            self.kill(at, number, connection);
        }
        self.room(at, Side::Server);
        Ok(())
    }

    /// Something happens to one session that neither side of it wanted.
    fn disturb(&mut self, at: usize) {
        let (now, slot) = (self.now.get(), &mut self.slots[at]);
        match self.random.uniform(0, 99) {
            0..=39 => slot.client.stalled = !slot.client.stalled,
            40..=54 => slot.client.silent = !slot.client.silent,
            55..=67 => {
                let resets = self.random.chance(0.5);
                slot.client.leave(&mut slot.near.borrow_mut(), resets);
                self.arrived(at, true, false);
            }
            // Says nothing more and goes on reading.
            68..=79 => {
                let mut near = slot.near.borrow_mut();
                near.end();
                near.end_said.get_or_insert(now);
            }
            80..=86 => {
                slot.ledger.server_ends.get_or_insert(now);
                slot.far.borrow_mut().broken = true;
                self.ready(at, Side::Server, true, true);
            }
            87..=89 => {
                slot.ledger.server_ends.get_or_insert(now);
                slot.far.borrow_mut().vanished.get_or_insert(now);
            }
            _ => {}
        }
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

    /// Everybody leaves; whatever was wrong with the network is over. All has to come to rest.
    pub fn come_to_rest(&mut self, steps: &mut u64) -> Result<(), String> {
        self.ending = true;
        let end = self.now.get() + REST;
        let open = |slot: &&Slot| !slot.is_closed() || slot.connection.is_busy();
        while let Some(slot) = self.slots.iter().find(open) {
            if self.now.get() > end {
                let (said, standing) = (slot.ledger.last(), slot.pair.session.standing());
                return Err(format!("no rest for a client, behind {said:?}, with {standing:?}"));
            }
            *steps += 1;
            self.set_time(self.now.get() + Nanos::from_millis(2));
            for at in 0..SLOTS {
                self.finish(at)?;
            }
            self.pass_time()?;
        }
        self.judge_rest()
    }

    fn finish(&mut self, at: usize) -> Result<(), String> {
        let slot = &mut self.slots[at];
        slot.client.finish(&mut slot.ledger);
        for (is_near, to_guard) in [(true, true), (true, false), (false, true), (false, false)] {
            let conduit = if is_near { &self.slots[at].near } else { &self.slots[at].far };
            let moved = conduit.borrow_mut().carry(to_guard, 4_000);
            if moved {
                self.arrived(at, is_near, to_guard);
            }
        }
        self.let_client_act(at)?;
        self.let_server_act(at)?;
        self.judge(at)
    }
}
