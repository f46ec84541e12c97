//! Disks over the NBD protocol: unix sockets and TCP, read and answered by the engine's thread.
//!
//! A connection reads no further when it has taken its part of the memory, or when too many of its answers are not sent.
//! All of them serve the same disks, and what one has written and flushed all the others read.

mod arrivals;
mod connection;
mod memory;
mod output;
mod patience;
mod payload;

use super::TOKENS;
use crate::front::Front;
use crate::handle::Crowd;
use crate::{Answer, ListenAddress, NbdPlan, Request, ShareError};
use connection::{Connection, Context, Flow};
use evenkeel_core::Nanos;
use evenkeel_os::address::Address;
use evenkeel_os::{Interest, Listener, Poller, Ready};
use evenkeel_wire::nbd::Export;
use memory::Memory;
use output::Sent;
use patience::{LOOK, Owes};
use rustls::ServerConfig;
use std::io;
use std::sync::Arc;

/// Bytes read at once besides what a write carries, which goes where it belongs without a copy.
const SCRATCH: usize = 64 << 10;

/// Tokens of connections; those of listeners are below.
const CONNECTIONS: u64 = TOKENS + (1 << 16);

/// Most clients at a time; more wait to be accepted.
const CLIENTS_MAX: usize = 1_000;
/// Descriptors that are kept from clients: for disks, 64 clients of the metrics page, the bus and files of configuration.
const DESCRIPTORS_KEPT: usize = 96;

pub(crate) struct Nbd {
    doors: Vec<Door>,
    exports: Vec<Export>,
    /// Who comes over TCP has to use it.
    tls: Option<Arc<ServerConfig>>,
    /// Connections by number, and the numbers that are free.
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    clients: usize,
    arrivals: u64,
    /// When clients are looked at next; never, while none owes anything.
    look_at: Nanos,
    now: Nanos,
    memory: Memory,
    scratch: Box<[u8]>,
    most: usize,
    /// Somebody may wait to be accepted; where the system had nothing for him, it is asked again at this instant.
    knocked: bool,
    knock_at: Nanos,
    crowd: Crowd,
    /// Disks and numbers of clients that went and have requests in the engine.
    gone: Vec<(usize, u64)>,
    /// Connections to read from; those that wait for memory; those that have something to send.
    again: Vec<usize>,
    waiting: Vec<usize>,
    /// Clients that ever began to wait.
    turns: u64,
    unsent: Vec<usize>,
    /// What follows from an answer.
    following: Vec<Request>,
}

impl Nbd {
    /// Listens at all the addresses. `memory` is how many bytes clients may hold.
    pub fn bind(plan: &NbdPlan, exports: Vec<Export>, memory: usize) -> Result<Self, ShareError> {
        Ok(Self {
            doors: plan.listen.iter().map(Door::bind).collect::<Result<_, _>>()?,
            exports,
            tls: plan.tls.clone(),
            connections: Vec::new(),
            free: Vec::new(),
            clients: 0,
            arrivals: 0,
            look_at: Nanos::MAX,
            now: Nanos::ZERO,
            memory: Memory::new(memory),
            scratch: vec![0; SCRATCH].into_boxed_slice(),
            most: most_clients(),
            knocked: false,
            knock_at: Nanos::MAX,
            crowd: Crowd::default(),
            gone: Vec::new(),
            again: Vec::new(),
            waiting: Vec::new(),
            turns: 0,
            unsent: Vec::new(),
            following: Vec::new(),
        })
    }

    /// Ports it listens at, where the system chose them too.
    pub fn ports(&self) -> Vec<u16> {
        self.doors.iter().filter_map(|door| door.listener.port()).collect()
    }

    fn look_again(&mut self) {
        self.look_at = self.look_at.min(self.now + LOOK);
    }

    /// Ends those who have held memory or a place and not moved for too long.
    fn look(&mut self) {
        self.look_at = Nanos::MAX;
        let is_short = self.memory.is_short();
        for number in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[number] else { continue };
            let hungry = is_short && self.waiting.iter().any(|other| *other != number);
            if connection.is_over_due(hungry) {
                self.end(number);
            } else if connection.owes() != Owes::Nothing {
                self.look_again();
            }
        }
    }

    /// A client is gone. Its number stays taken until the engine has answered all that it asked.
    fn end(&mut self, number: usize) {
        let Some(connection) = self.connections.get_mut(number).and_then(Option::as_mut) else { return };
        if connection.socket().is_some() {
            connection.part(&mut self.memory);
            self.clients -= 1;
            self.knocked = true;
            if let Some(door) = connection.door.and_then(|door| self.doors.get_mut(door)) {
                door.clients -= 1;
            }
            let waits = connection.disk().filter(|_| connection.outstanding() > 0);
            self.gone.extend(waits.map(|disk| (disk, number as u64)));
        }
        if connection.outstanding() == 0 {
            self.connections[number] = None;
            self.free.push(number);
        }
    }

    fn read(&mut self, number: usize, requests: &mut Vec<Request>) {
        let Some(connection) = self.connections.get_mut(number).and_then(Option::as_mut) else { return };
        let had_unsent = connection.has_unsent();
        let flow = connection.read(&mut Context {
            exports: &self.exports,
            tls: self.tls.as_ref(),
            memory: &mut self.memory,
            requests,
            scratch: &mut self.scratch,
            connection: number as u64,
        });
        if !had_unsent && connection.has_unsent() {
            self.unsent.push(number);
        }
        let (done, interesting) = (connection.is_done(), connection.owes() != Owes::Nothing);
        match flow {
            Flow::More => self.again.push(number),
            Flow::Waits => {
                connection.waits = true;
                if connection.turn.is_none() {
                    connection.turn = Some(self.turns);
                    self.turns += 1;
                }
                self.waiting.push(number);
            }
            Flow::Broken => self.end(number),
            Flow::Empty if done => self.end(number),
            Flow::Empty => {}
        }
        if interesting {
            self.look_again();
        }
    }

    fn send(&mut self, poller: &Poller, number: usize) {
        let Some(connection) = self.connections.get_mut(number).and_then(Option::as_mut) else { return };
        let sent = connection.flush(&mut self.memory);
        let full = match sent {
            Ok(sent) => sent == Sent::Full,
            Err(_) => return self.end(number),
        };
        if connection.is_done() {
            return self.end(number);
        }
        if connection.armed != full
            && let Some(socket) = connection.socket()
        {
            let interest = if full { Interest::ReadWrite } else { Interest::Read };
            if poller.change(socket, CONNECTIONS + number as u64, interest).is_err() {
                return self.end(number);
            }
            connection.armed = full;
        }
        if full {
            self.look_again();
        }
    }

    /// Who holds nothing goes first, then who has waited longest.
    fn wake_waiting(&mut self) {
        if !self.memory.was_released() {
            return;
        }
        let connections = &self.connections;
        self.waiting.sort_by_key(|number| {
            connections[*number].as_ref().map(|connection| (connection.holds() > 0, connection.turn))
        });
        for number in self.waiting.drain(..) {
            if let Some(connection) = &mut self.connections[number] {
                connection.waits = false;
                self.again.push(number);
            }
        }
    }
}

/// How many clients there may be at a time, by the descriptors that this process may have.
fn most_clients() -> usize {
    evenkeel_os::allow_descriptors();
    let descriptors = usize::try_from(evenkeel_os::open_files()).unwrap_or(usize::MAX);
    descriptors.saturating_sub(DESCRIPTORS_KEPT).clamp(1, CLIENTS_MAX)
}

impl Front for Nbd {
    fn watch(&mut self, poller: &Poller) -> io::Result<()> {
        let mut doors = self.doors.iter().zip(TOKENS..);
        doors.try_for_each(|(door, token)| poller.add(&door.listener, token, Interest::Read))
    }

    fn ready(&mut self, ready: Ready) {
        let Some(number) = ready.token.checked_sub(CONNECTIONS) else {
            self.knocked = true;
            let door = self.doors.get_mut((ready.token - TOKENS) as usize);
            door.into_iter().for_each(|door| door.knocks = true);
            return;
        };
        let number = number as usize;
        if ready.gone {
            // Nobody is left to hear an answer: what was asked is no longer wanted.
            return self.end(number);
        }
        let Some(connection) = self.connections.get_mut(number).and_then(Option::as_mut) else { return };
        if ready.read {
            connection.set_readable(ready.ended);
            if !connection.waits {
                self.again.push(number);
            }
        }
        if ready.write && connection.armed {
            self.unsent.push(number);
        }
    }

    fn take(&mut self, poller: &Poller, now: Nanos, requests: &mut Vec<Request>) {
        self.now = now;
        if now >= self.look_at {
            self.look();
        }
        if now >= self.knock_at {
            (self.knocked, self.knock_at) = (true, Nanos::MAX);
        }
        if self.knocked {
            self.accept(poller);
        }
        requests.append(&mut self.following);
        self.wake_waiting();
        for number in std::mem::take(&mut self.again) {
            self.read(number, requests);
        }
    }

    fn answer(&mut self, connection: u64, cookie: u64, answer: Answer) {
        let number = connection as usize;
        let Some(client) = self.connections.get_mut(number).and_then(Option::as_mut) else { return };
        let had_unsent = client.has_unsent();
        self.following.extend(client.answer(connection, cookie, answer, &mut self.memory));
        if client.socket().is_none() {
            self.end(number);
        } else if !had_unsent && client.has_unsent() {
            self.unsent.push(number);
        }
    }

    fn push(&mut self, poller: &Poller) {
        for number in std::mem::take(&mut self.unsent) {
            self.send(poller, number);
        }
        self.wake_waiting();
    }

    fn due(&self) -> Nanos {
        self.look_at.min(self.knock_at)
    }

    fn gone(&mut self) -> Vec<(usize, u64)> {
        std::mem::take(&mut self.gone)
    }

    fn crowd(&self) -> &Crowd {
        &self.crowd
    }

    fn has_more(&self) -> bool {
        self.knocked || !self.again.is_empty() || !self.following.is_empty()
    }

    fn close(&mut self) {
        self.doors.iter().for_each(|door| door.listener.close());
        self.doors.clear();
        for number in 0..self.connections.len() {
            let Some(connection) = self.connections[number].as_mut() else { continue };
            connection.stop(&mut self.memory);
            if connection.is_done() {
                self.end(number);
            }
        }
    }

    fn has_unsent(&self) -> bool {
        self.connections.iter().flatten().any(|connection| connection.has_unsent())
    }

    fn clients(&self) -> usize {
        self.clients
    }
}

/// Where clients arrive.
struct Door {
    listener: Listener,
    address: Address,
    disk: Option<usize>,
    /// Clients that came here and are still there.
    clients: usize,
    /// Somebody came since this was looked at.
    knocks: bool,
}

impl Door {
    fn bind(place: &ListenAddress) -> Result<Self, ShareError> {
        let ListenAddress { address, disk, access } = place.clone();
        let failed = |source| ShareError::Listen { address: place.address.clone(), source };
        let listener = Listener::bind_for(&address, access).map_err(failed)?;
        Ok(Self { listener, address, disk, clients: 0, knocks: false })
    }
}
