//! Clients that come, and who goes for them where there is no room.

use super::connection::Connection;
use super::{CONNECTIONS, Door, Nbd};
use evenkeel_core::Nanos;
use evenkeel_os::{self, Interest, Poller, Socket};
use std::io;

/// Of the places for clients, those that each place of arrival has for itself, however many come elsewhere.
const RESERVED: usize = 16;
/// Clients accepted before those who are in have their turn again.
const ACCEPTS: usize = 64;
/// Room for bytes on their way to a client on this machine.
const ROOM: usize = 2 << 20;
/// After this time the system is asked again for what it was short of, because it has no event for that.
const AGAIN: Nanos = Nanos::from_millis(1_000);

impl Nbd {
    pub(super) fn accept(&mut self, poller: &Poller) {
        self.knocked = false;
        for door in 0..self.doors.len() {
            self.accept_at(poller, door);
        }
    }

    fn accept_at(&mut self, poller: &Poller, door: usize) {
        for _ in 0..ACCEPTS {
            let goes = if self.has_room(door) { None } else { Some(self.who_goes(door)) };
            if goes == Some(None) {
                let clients = self.doors[door].clients;
                return self.note_crowd(door, format!("{clients} clients are connected"));
            }
            match self.doors[door].listener.accept() {
                Ok(socket) => {
                    goes.flatten().into_iter().for_each(|number| self.end(number));
                    self.open(poller, socket, door);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.doors[door].knocks = false;
                    return;
                }
                // Out of descriptors or memory: the client waits, and there will be no event for it again.
                Err(error) if is_short(&error) => {
                    self.knock_at = self.knock_at.min(self.now + AGAIN);
                    return self.note_crowd(door, error.to_string());
                }
                // A client that left before it was accepted.
                Err(_) => self.knocked = true,
            }
        }
    }

    /// Whether one more client may come here: all others keep the places that are theirs.
    fn has_room(&self, door: usize) -> bool {
        let reserved = self.reserved();
        if self.doors[door].clients < reserved {
            return self.clients < self.most;
        }
        let kept: usize = self.doors.iter().map(|other| reserved.saturating_sub(other.clients)).sum();
        self.clients + kept < self.most
    }

    fn reserved(&self) -> usize {
        RESERVED.min(self.most / (2 * self.doors.len().max(1)))
    }

    /// Who makes room for one more: one that came to the same place and has not said what it wants; where a place has not even what
    /// is kept for it, one that came anywhere.
    fn who_goes(&self, door: usize) -> Option<usize> {
        let has_own = self.doors[door].clients >= self.reserved();
        self.oldest_chooser(Some(door)).or_else(|| if has_own { None } else { self.oldest_chooser(None) })
    }

    /// Keeps in mind that somebody waits here, if somebody does.
    fn note_crowd(&mut self, door: usize, why: String) {
        let door = &mut self.doors[door];
        if std::mem::take(&mut door.knocks) {
            self.crowd.times += 1;
            self.crowd.last = format!("{}: {why}", door.address);
        }
    }

    fn open(&mut self, poller: &Poller, socket: Socket, door: usize) {
        let Door { listener, disk, .. } = &self.doors[door];
        let kind = (*disk, self.tls.is_some() && !listener.is_local());
        if listener.is_local() {
            socket.set_room(ROOM);
        }
        let number = self.number();
        if poller.add(&socket, CONNECTIONS + number as u64, Interest::Read).is_err() {
            return self.free.push(number);
        }
        self.keep(number, Connection::new(socket, kind, self.arrivals), Some(door));
        self.look_again();
        self.knocked = true;
    }

    /// A number that no connection has.
    pub(super) fn number(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        })
    }

    pub(super) fn keep(&mut self, number: usize, mut connection: Connection, door: Option<usize>) {
        connection.door = door;
        self.connections[number] = Some(Box::new(connection));
        if let Some(door) = door.and_then(|door| self.doors.get_mut(door)) {
            door.clients += 1;
        }
        self.arrivals += 1;
        self.clients += 1;
        self.unsent.push(number);
    }

    /// The client that has been in the longest and has not said what it wants, of those that came here, or of all: it goes where
    /// there is no room for others.
    fn oldest_chooser(&self, door: Option<usize>) -> Option<usize> {
        let since = |place: &Option<Box<Connection>>| {
            let connection = place.as_ref().filter(|connection| door.is_none() || connection.door == door)?;
            connection.is_choosing_since()
        };
        let choosers =
            self.connections.iter().enumerate().filter_map(|(number, one)| Some((since(one)?, number)));
        choosers.min().map(|(_, number)| number)
    }
}

/// Whether the system is out of something.
fn is_short(error: &io::Error) -> bool {
    let codes = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}
