//! A client on its way from one process to another: it notices nothing.

use super::{Connection, Phase};
use crate::front::nbd::memory::Memory;
use crate::front::nbd::stream::Stream;
use evenkeel_os::Socket;
use evenkeel_wire::nbd::{Agreed, RequestReader};

/// All that there is to know of a client that has no request under way.
pub(crate) struct Guest {
    pub socket: Socket,
    /// Name of its disk.
    pub disk: String,
    pub agreed: Agreed,
    /// It has said that it goes.
    pub over: bool,
    /// What came of it and was not taken: the begin of a request, one that waited for memory, and what is behind it.
    pub unread: Vec<u8>,
    /// Answers that it has not taken.
    pub unsent: Vec<u8>,
}

impl Connection {
    /// Gives it away, with the place of its disk; not one that has no disk yet, or uses TLS, whose keys stay here.
    pub fn hand_over(mut self, memory: &mut Memory) -> Option<(usize, Guest)> {
        let mut unread = self.payload.unread();
        unread.extend(self.stalled.iter().flat_map(|request| request.encode()));
        let (unsent, over) = (self.output.unsent(), self.over);
        let passed = match &self.phase {
            Phase::Serving { disk, agreed, reader } => {
                unread.extend(reader.kept());
                unread.append(&mut self.pending);
                self.stream.take().and_then(Stream::into_plain).map(|socket| (*disk, *agreed, socket))
            }
            Phase::Choosing(..) => None,
        };
        self.part(memory);
        let (place, agreed, socket) = passed?;
        Some((place, Guest { socket, disk: String::new(), agreed, over, unread, unsent }))
    }

    /// One that another process had, on the disk at this place.
    pub fn resume(guest: Guest, disk: usize, arrival: u64) -> Self {
        let reader = RequestReader::new(guest.agreed);
        let phase = Phase::Serving { disk, agreed: guest.agreed, reader };
        let mut connection = Self::with(guest.socket, phase, arrival);
        connection.output.say(guest.unsent);
        (connection.pending, connection.over) = (guest.unread, guest.over);
        connection
    }
}
