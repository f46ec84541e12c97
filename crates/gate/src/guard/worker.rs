//! One thread: its sockets, its sessions, its mail.

use super::session::{Context, Flow, Session};
use super::shared::{Desk, PLACES_MAX, Shared, place_of, session_id, session_of};
use crate::admission::Notice;
use crate::sys::{Interest, Listener, Poller, Ready, Socket};
use evenkeel_core::Nanos;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The largest read; one buffer for all sessions of a thread.
const BUFFER: usize = 64 << 10;
/// Time between two looks at what time alone brings about.
const TICK: Nanos = Nanos::from_millis(50);
/// Clients accepted before those who are in have their turn again.
const ACCEPTS: usize = 64;
/// Time to wait for free descriptors when there are none.
const PAUSE: Nanos = Nanos::from_millis(100);

/// Tokens of the mailbox and the timer; listeners are numbered down from the one below them. Sessions have small ones.
const WAKE: u64 = u64::MAX;
const TIMER: u64 = WAKE - 1;
const LISTENERS: u64 = TIMER - 1;
/// Sides of a session in its tokens.
const CLIENT: u64 = 0;
const SERVER: u64 = 1;

/// A place for a session.
#[derive(Default)]
struct Place {
    session: Option<Box<Session>>,
    generation: u32,
    /// It has to be looked at from time to time.
    watched: bool,
    /// Whether each side waits for room, as the poller knows it.
    armed: [bool; 2],
}

/// A thread of a guard.
pub struct Worker {
    shared: Arc<Shared>,
    thread: usize,
    poller: Poller,
    listeners: Arc<Vec<Listener>>,
    listening: bool,
    /// When to listen again.
    paused_until: Nanos,
    places: Vec<Place>,
    free: Vec<usize>,
    /// Places that were left in this round: an event of the old session may still be in it.
    left: Vec<usize>,
    again: Vec<usize>,
    /// The timer has fired.
    ticks: bool,
    notices: Vec<Notice>,
    buffer: Box<[u8]>,
}

impl Worker {
    pub fn new(shared: Arc<Shared>, thread: usize, listeners: Arc<Vec<Listener>>) -> io::Result<Self> {
        let poller = Poller::new(TICK, TIMER)?;
        poller.add(&shared.mailbox(thread).wake, WAKE, Interest::Read)?;
        let mut worker = Self {
            shared,
            thread,
            poller,
            listeners,
            listening: false,
            paused_until: Nanos::ZERO,
            places: Vec::new(),
            free: Vec::new(),
            left: Vec::new(),
            again: Vec::new(),
            ticks: false,
            notices: Vec::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
        };
        worker.listen(true)?;
        Ok(worker)
    }

    fn listen(&mut self, listening: bool) -> io::Result<()> {
        if listening != self.listening {
            for (index, listener) in self.listeners.iter().enumerate() {
                match listening {
                    true => self.poller.add(listener, LISTENERS - index as u64, Interest::Accept)?,
                    false => self.poller.remove(listener)?,
                }
            }
            self.listening = listening;
        }
        Ok(())
    }

    /// Serves until the guard stops: then until every session has come to the end of its transaction, or
    /// until the deadline.
    pub fn run(mut self) -> io::Result<()> {
        loop {
            let ready = self.poller.wait(self.again.is_empty())?;
            for index in 0..ready {
                self.handle(self.poller.ready(index))?;
            }
            for place in std::mem::take(&mut self.again) {
                self.serve(place, Session::pump);
            }
            self.deliver();
            self.free.append(&mut self.left);
            if self.ticks && self.tick()? {
                return Ok(());
            }
        }
    }

    fn handle(&mut self, ready: Ready) -> io::Result<()> {
        if ready.token == WAKE {
            let mut notices = std::mem::take(&mut self.notices);
            self.shared.mailbox(self.thread).take(&mut notices);
            self.notices = notices;
            self.ticks |= self.shared.stop.load(Ordering::Relaxed);
            return Ok(());
        }
        if ready.token == TIMER {
            self.ticks = true;
            return Ok(());
        }
        if ready.token >= PLACES_MAX as u64 * 2 {
            return self.accept((LISTENERS - ready.token) as usize);
        }
        let place = (ready.token / 2) as usize;
        let Some(session) = self.places.get_mut(place).and_then(|place| place.session.as_mut()) else {
            return Ok(());
        };
        let is_server = ready.token % 2 == SERVER;
        if is_server && session.is_connecting() {
            if ready.write {
                self.connected(place);
            }
            return Ok(());
        }
        let link = if is_server { &mut session.server } else { &mut session.client };
        if ready.read {
            link.set_readable(ready.ended);
        }
        // A link that cannot be written to any more says so when it is read or written next.
        if ready.write && link.flush().is_err() {
            link.set_readable(true);
        }
        self.serve(place, Session::pump);
        Ok(())
    }

    fn accept(&mut self, listener: usize) -> io::Result<()> {
        let Some(local) = self.listeners.get(listener).map(Listener::is_local) else { return Ok(()) };
        for _ in 0..ACCEPTS {
            match self.listeners[listener].accept() {
                Ok(client) => self.open(client, local),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Out of descriptors or memory: the client waits in the kernel's queue until there are some.
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM)
                    ) =>
                {
                    self.paused_until = self.shared.clock.now() + PAUSE;
                    return self.listen(false);
                }
                // A client that left before it was accepted.
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, client: Socket, local: bool) {
        let shared = Arc::clone(&self.shared);
        shared.stats.accepted.add();
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() - 1
        });
        let found = &mut self.places[place];
        found.generation = found.generation.wrapping_add(1);
        let id = session_id(self.thread, place, found.generation);
        let Some((server, attempts, failed)) = connect(&shared) else {
            shared.stats.closed.add();
            return self.free.push(place);
        };
        let mut session = Session::new(id, client, server, local, shared.clock.now());
        session.attempts = attempts;
        found.session = Some(Box::new(session));
        found.armed = [false, failed.is_none()];
        found.watched = true;
        let token = place as u64 * 2;
        let Some(session) = &found.session else { return };
        let interest = if failed.is_none() { Interest::ReadWrite } else { Interest::Read };
        let added = self
            .poller
            .add(&session.client, token + CLIENT, Interest::Read)
            .and_then(|()| self.poller.add(&session.server, token + SERVER, interest));
        if let Err(error) = added.and(failed.map_or(Ok(()), Err)) {
            self.serve(place, |session, cx| session.unreachable(error, cx));
        }
    }

    /// A connection to the server was made or refused.
    fn connected(&mut self, place: usize) {
        let shared = Arc::clone(&self.shared);
        let Some(session) = &mut self.places[place].session else { return };
        let Err(mut error) = session.connected() else { return self.serve(place, Session::pump) };
        let endpoints = shared.backend.endpoints();
        while let Some(endpoint) = endpoints.get(session.attempts) {
            session.attempts += 1;
            let again = Socket::connect(endpoint).and_then(|socket| {
                self.poller.add(&socket, place as u64 * 2 + SERVER, Interest::ReadWrite).map(|()| socket)
            });
            match again {
                Ok(socket) => {
                    session.server = super::link::Link::new(socket);
                    return;
                }
                Err(failed) => error = failed,
            }
        }
        self.serve(place, |session, cx| session.unreachable(error, cx));
    }

    /// Lets a session do something, and does what follows for its place.
    fn serve(&mut self, place: usize, act: impl FnOnce(&mut Session, &mut Context<'_>) -> Flow) {
        let Some(found) = self.places.get_mut(place) else { return };
        let Some(session) = &mut found.session else { return };
        let desk = Desk {
            shared: &self.shared,
            thread: self.thread,
            now: self.shared.clock.now(),
            notices: &mut self.notices,
        };
        let mut cx = Context { desk, buffer: &mut self.buffer };
        let flow = act(session, &mut cx);
        if flow == Flow::Closed {
            found.session = None;
            self.left.push(place);
            self.shared.stats.closed.add();
            return;
        }
        if flow == Flow::Again {
            self.again.push(place);
        }
        found.watched = session.is_watched();
        for (side, link) in [&session.client, &session.server].into_iter().enumerate() {
            let blocked = link.is_blocked() || side as u64 == SERVER && session.is_connecting();
            if blocked != found.armed[side] {
                let interest = if blocked { Interest::ReadWrite } else { Interest::Read };
                // A socket that cannot be watched is closed: the poller reports that as well.
                if self.poller.change(link, place as u64 * 2 + side as u64, interest).is_ok() {
                    found.armed[side] = blocked;
                }
            }
        }
    }

    /// Tells sessions what the gate has decided, and what follows from that, and so on.
    fn deliver(&mut self) {
        while !self.notices.is_empty() {
            for notice in std::mem::take(&mut self.notices) {
                let id = session_of(notice);
                let place = place_of(id);
                let session = self.places.get(place).and_then(|place| place.session.as_ref());
                if session.is_some_and(|session| session.id == id) {
                    self.serve(place, |session, cx| tell(session, notice, cx));
                }
            }
        }
    }

    /// What time alone brings about; true when the guard stops and all is done.
    fn tick(&mut self) -> io::Result<bool> {
        self.ticks = false;
        self.poller.rearm();
        let now = self.shared.clock.now();
        let stops = self.shared.stop.load(Ordering::Relaxed);
        if self.thread == 0 {
            let desk = &mut Desk { shared: &self.shared, thread: 0, now, notices: &mut self.notices };
            desk.tick();
        }
        for place in 0..self.places.len() {
            if self.places[place].watched && self.places[place].session.is_some() {
                self.serve(place, Session::tick);
            }
        }
        self.deliver();
        if !self.listening && now >= self.paused_until && !stops {
            self.listen(true)?;
        }
        if stops { self.stop() } else { Ok(false) }
    }

    /// Whether the last session is gone, or the deadline is.
    fn stop(&mut self) -> io::Result<bool> {
        self.listen(false)?;
        self.listeners.iter().for_each(Listener::close);
        let late = self.shared.is_past_deadline();
        for place in &mut self.places {
            let Some(session) = &place.session else { continue };
            let idle = session.is_idle();
            if late || idle {
                self.shared.cut.fetch_add(usize::from(!idle), Ordering::Relaxed);
                place.session = None;
                self.shared.stats.closed.add();
            }
        }
        Ok(self.places.iter().all(|place| place.session.is_none()))
    }
}

fn tell(session: &mut Session, notice: Notice, cx: &mut Context<'_>) -> Flow {
    match notice {
        // One that left meanwhile has given its permit back by itself.
        Notice::Admitted(..) => {
            session.admitted();
            session.pump(cx)
        }
        Notice::Rejected(_, rejection) => session.rejected(rejection, cx),
        Notice::Close(_) => session.close_idle(cx),
    }
}

/// Starts to connect to the first address that can be tried: the socket, how many addresses
/// were tried, and the error where none could be. `None` where there is not even a socket.
fn connect(shared: &Shared) -> Option<(Socket, usize, Option<io::Error>)> {
    let mut failed = None;
    let endpoints = shared.backend.endpoints();
    for (index, endpoint) in endpoints.iter().enumerate() {
        match Socket::connect(endpoint) {
            Ok(socket) => return Some((socket, index + 1, None)),
            Err(error) => failed = Some(error),
        }
    }
    let unconnected = endpoints.first().and_then(|endpoint| Socket::unconnected(endpoint).ok())?;
    Some((unconnected, endpoints.len(), failed))
}
