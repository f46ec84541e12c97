//! Clients that come, and who goes for them where there is no room.

use super::connection::Connection;
use super::{CONNECTIONS, Door, Nbd};
use crate::sys::{Interest, Poller, Socket};
use std::io;

/// Most clients at a time; more wait to be accepted.
const CLIENTS_MAX: usize = 1_000;
/// Clients accepted before those who are in have their turn again.
const ACCEPTS: usize = 64;
/// Room for bytes on their way to a client on this machine.
const ROOM: usize = 2 << 20;

impl Nbd {
    pub(super) fn accept(&mut self, poller: &Poller) {
        self.knocked = false;
        for door in 0..self.doors.len() {
            for _ in 0..ACCEPTS {
                let full = self.clients >= CLIENTS_MAX;
                let goes = if full { self.oldest_chooser() } else { None };
                if full && goes.is_none() {
                    return;
                }
                match self.doors[door].listener.accept() {
                    Ok(socket) => {
                        goes.into_iter().for_each(|number| self.end(number));
                        self.open(poller, socket, door);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // Out of descriptors or memory: the client waits until somebody else goes.
                    Err(error) if is_short(&error) => return,
                    // A client that left before it was accepted.
                    Err(_) => self.knocked = true,
                }
            }
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
        self.keep(number, Connection::new(socket, kind, self.arrivals));
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

    pub(super) fn keep(&mut self, number: usize, connection: Connection) {
        self.connections[number] = Some(Box::new(connection));
        self.arrivals += 1;
        self.clients += 1;
        self.unsent.push(number);
    }

    /// The client that has been in the longest and has not said what it wants: it goes where there is no room for others.
    fn oldest_chooser(&self) -> Option<usize> {
        let since = |place: &Option<Box<Connection>>| place.as_ref()?.is_choosing_since();
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
