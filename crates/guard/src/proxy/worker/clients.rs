//! Clients from the moment that they arrive until their session has a server.

use super::{Slot, Worker};
use crate::proxy::arrivals;
use crate::proxy::arrivals::Refusal;
use crate::proxy::link::Link;
use crate::proxy::pair::Pair;
use crate::proxy::session::{Event, Session};
use crate::proxy::shared::session_id;
use evenkeel_core::Nanos;
use evenkeel_os::{Interest, Listener, Socket};
use std::io;
use std::sync::Arc;

/// Clients accepted before those who are in have their turn again.
const ACCEPTS: usize = 64;
/// Time to wait for free descriptors when there are none.
const PAUSE: Nanos = Nanos::from_millis(100);
/// A login older than this gives way where there is no room for another client.
const LOGIN_SPARED: Nanos = Nanos::from_secs(1);

impl Worker {
    /// Takes those who wait at a listener, some at a time.
    pub(super) fn accept(&mut self, listener: usize) -> io::Result<()> {
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
        if !shared.has_room() && !self.has_made_room() {
            return arrivals::turn_away(&client, &Refusal::TooManyClients, &shared.stats);
        }
        let Ok(server) = shared.backend.socket() else {
            return arrivals::turn_away(&client, &Refusal::NoDescriptors, &shared.stats);
        };
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let found = &mut self.slots[place];
        found.generation = found.generation.wrapping_add(1);
        let id = session_id(self.thread, place, found.generation);
        let now = shared.clock.now();
        let session = Session::new(id, local, now);
        let pair = Pair::new(session, client, server, shared.backend.attempt());
        let added = self.poller.add(&pair.client, place as u64 * 2, Interest::Read);
        found.pair = Some(Box::new(pair));
        found.armed = [false, true];
        found.watched = true;
        match added {
            Ok(()) => self.connect(place),
            Err(error) => self.serve(place, |pair, desk| pair.happens(Event::Unreachable(error), desk)),
        }
    }

    /// Whether a login that takes long has given way to who comes now.
    fn has_made_room(&mut self) -> bool {
        let now = self.shared.clock.now();
        let since = |place: &Slot| place.pair.as_ref().and_then(|pair| pair.session.login_since());
        let waiting = self.slots.iter().enumerate().filter_map(|(place, found)| Some((since(found)?, place)));
        let Some((_, place)) = waiting.min().filter(|(since, _)| now - *since >= LOGIN_SPARED) else {
            return false;
        };
        self.serve(place, |pair, desk| pair.happens(Event::GiveWay, desk));
        true
    }

    /// Tries the addresses that are left, until one of them may answer.
    pub(super) fn connect(&mut self, place: usize) {
        let shared = Arc::clone(&self.shared);
        let Some(pair) = &mut self.slots[place].pair else { return };
        let (endpoints, mut failed) = (Arc::clone(&pair.attempt.endpoints), io::ErrorKind::TimedOut.into());
        while let Some(endpoint) = endpoints.get(pair.attempt.tried) {
            let connected = Socket::connect(endpoint);
            pair.attempt.full = matches!(&connected, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
            if pair.attempt.full {
                return;
            }
            pair.attempt.tried += 1;
            pair.attempt.since = shared.clock.now();
            let watched = connected.and_then(|socket| {
                self.poller.add(&socket, place as u64 * 2 + 1, Interest::ReadWrite).map(|()| socket)
            });
            match watched {
                Ok(socket) => {
                    pair.server = Link::new(socket);
                    self.slots[place].armed[1] = true;
                    return;
                }
                Err(error) => failed = error,
            }
        }
        self.serve(place, |pair, desk| pair.happens(Event::Unreachable(failed), desk));
    }

    /// A connection to the server was made or refused.
    pub(super) fn connected(&mut self, place: usize) {
        let shared = Arc::clone(&self.shared);
        let Some(pair) = &mut self.slots[place].pair else { return };
        let prepared =
            pair.server.socket().connected().and_then(|()| shared.greet(&pair.client, &mut pair.server));
        match prepared {
            Ok(()) => {
                let server = shared.arrived(&pair.attempt);
                self.serve(place, |pair, desk| pair.happens(Event::Connected { server }, desk));
            }
            Err(error) if pair.attempt.tried >= pair.attempt.endpoints.len() => {
                self.serve(place, |pair, desk| pair.happens(Event::Unreachable(error), desk));
            }
            Err(_) => self.connect(place),
        }
    }
}
