//! All clients and the places where they arrive, from one process to another.

use super::connection::Connection;
use super::door::Door;
use super::{CONNECTIONS, Frozen, Nbd};
use crate::handover::{Handed, HandedDoor};
use crate::{NbdPlan, ShareError};
use evenkeel_core::Nanos;
use evenkeel_os::{Interest, Listener, Poller};
use evenkeel_wire::nbd::Export;
use std::io;

/// How long clients may go on that have not chosen a disk yet: as long as several answers and questions take.
const CHOICE: Nanos = Nanos::from_millis(1_000);

impl Nbd {
    /// As [`Nbd::bind`], with the sockets of a predecessor. Until [`Nbd::own`] it can be dropped, and the other one goes on.
    pub fn adopt(
        plan: &NbdPlan,
        exports: Vec<Export>,
        memory: usize,
        mut handed: Handed,
    ) -> Result<Self, ShareError> {
        let plan_without = NbdPlan { listen: Vec::new(), tls: plan.tls.clone() };
        let mut this = Self::bind(&plan_without, exports, memory)?;
        for place in &plan.listen {
            let name = place.disk.map(|disk| this.exports[disk].name.clone());
            let is_it = |door: &HandedDoor| door.address == place.address && door.disk == name;
            let door = match handed.doors.iter().position(is_it) {
                Some(found) => {
                    let HandedDoor { address, listener, .. } = handed.doors.swap_remove(found);
                    let opened = listener.set_access(place.access);
                    opened.map_err(|source| ShareError::Listen { address: address.clone(), source })?;
                    Door::new(listener, address, place.disk)
                }
                None => Door::bind(place)?,
            };
            this.doors.push(door);
        }
        this.unwanted = handed.doors.into_iter().map(|door| door.listener).collect();
        for guest in handed.clients {
            let place = this.exports.iter().position(|export| export.name == guest.disk);
            if let Some(disk) = place {
                let number = this.number();
                let connection = Connection::resume(guest, disk, this.arrivals);
                let door = this.door_of(disk);
                this.keep(number, connection, door);
            }
        }
        Ok(this)
    }

    /// Where a client of this disk most likely came to.
    fn door_of(&self, disk: usize) -> Option<usize> {
        let own = self.doors.iter().position(|door| door.disk == Some(disk));
        own.or_else(|| self.doors.iter().position(|door| door.disk.is_none()))
    }

    /// From now on nobody else has its sockets.
    pub fn own(&mut self) {
        let doors = self.doors.iter_mut().map(|door| &mut door.listener);
        doors.chain(&mut self.unwanted).for_each(|listener| listener.set_stays(false));
        self.unwanted.iter().for_each(Listener::close);
        self.unwanted.clear();
    }

    /// Clients that came with the sockets; what they had said before is taken first.
    pub(super) fn watch_guests(&mut self, poller: &Poller) -> io::Result<()> {
        for (number, connection) in self.connections.iter().enumerate() {
            let Some(socket) = connection.as_ref().and_then(|connection| connection.socket()) else {
                continue;
            };
            poller.add(socket, CONNECTIONS + number as u64, Interest::Read)?;
            self.again.push(number);
        }
        Ok(())
    }

    pub(super) fn begin_freeze(&mut self, now: Nanos) {
        self.frozen = Some(Frozen { aside: Vec::new(), late: false });
        self.look_at = now + CHOICE;
    }

    pub(super) fn end_freeze(&mut self) {
        if let Some(frozen) = self.frozen.take() {
            self.again.extend(frozen.aside);
            self.knocked = true;
            self.look_again();
        }
    }

    /// While nothing is taken: those who have chosen wait.
    pub(super) fn set_aside(&mut self) {
        let Some(frozen) = &mut self.frozen else { return };
        let is_choosing = |number: &usize| {
            let connection = self.connections.get(*number).and_then(Option::as_ref);
            connection.is_some_and(|connection| connection.is_choosing_since().is_some())
        };
        let (goes_on, waits) = std::mem::take(&mut self.again).into_iter().partition(is_choosing);
        (self.again, frozen.aside) = (goes_on, [std::mem::take(&mut frozen.aside), waits].concat());
    }

    pub(super) fn is_quiet(&self) -> bool {
        let is_late = self.frozen.as_ref().is_some_and(|frozen| frozen.late);
        let is_done = |connection: &Connection| {
            connection.outstanding() == 0 && (is_late || connection.is_choosing_since().is_none())
        };
        self.following.is_empty() && self.connections.iter().flatten().all(|connection| is_done(connection))
    }

    pub(super) fn give_away(&mut self) -> Handed {
        let mut handed = Handed::default();
        for mut door in std::mem::take(&mut self.doors) {
            door.listener.set_stays(true);
            let disk = door.disk.map(|disk| self.exports[disk].name.clone());
            handed.doors.push(HandedDoor { listener: door.listener, address: door.address, disk });
        }
        for connection in std::mem::take(&mut self.connections).into_iter().flatten() {
            match connection.hand_over(&mut self.memory) {
                Some((place, mut guest)) => {
                    guest.disk.clone_from(&self.exports[place].name);
                    handed.clients.push(guest);
                }
                None => handed.cut += 1,
            }
        }
        handed
    }
}
