//! A connection of the virtual network: bytes are on their way, then there; ends and breaks too.

use evenkeel_core::Nanos;
use evenkeel_guard::proxy::parts::Transport;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::rc::Rc;

/// One direction of a connection: what is on the way, and what is there to be read.
#[derive(Debug, Default)]
pub struct Pipe {
    on_the_way: VecDeque<u8>,
    there: VecDeque<u8>,
    ended: bool,
    end_is_there: bool,
}

impl Pipe {
    fn send(&mut self, bytes: &[u8], room: usize) -> usize {
        let free = room.saturating_sub(self.on_the_way.len() + self.there.len());
        let count = bytes.len().min(free);
        self.on_the_way.extend(&bytes[..count]);
        count
    }

    /// Brings so many bytes nearer, and the end behind the last of them; false where nothing was on its way.
    fn carry(&mut self, count: usize) -> bool {
        let moved = count.min(self.on_the_way.len());
        self.there.extend(self.on_the_way.drain(..moved));
        let ends = self.ended && self.on_the_way.is_empty() && !self.end_is_there;
        self.end_is_there |= ends;
        moved > 0 || ends
    }

    fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let count = buffer.len().min(self.there.len());
        for (to, from) in buffer.iter_mut().zip(self.there.drain(..count)) {
            *to = from;
        }
        (count > 0 || self.end_is_there && !buffer.is_empty()).then_some(count)
    }
}

/// A connection between somebody and the guard.
#[derive(Debug)]
pub struct Conduit {
    pub to_guard: Pipe,
    pub to_other: Pipe,
    room: usize,
    /// It was reset by the other side or by the network.
    pub broken: bool,
    /// The other machine has been gone since then, and nobody says so.
    pub vanished: Option<Nanos>,
    /// When the other side said its end, and when the guard did.
    pub end_said: Option<Nanos>,
    pub guard_ended: Option<Nanos>,
    /// The other side has closed its socket: what still comes there, its kernel answers with a reset.
    closed: bool,
}

impl Conduit {
    pub fn new(room: usize) -> Self {
        Self {
            to_guard: Pipe::default(),
            to_other: Pipe::default(),
            room,
            broken: false,
            vanished: None,
            end_said: None,
            guard_ended: None,
            closed: false,
        }
    }

    /// The other side says so many of these bytes; none where there is no room, or behind its end.
    pub fn say(&mut self, bytes: &[u8]) -> usize {
        if self.to_guard.ended {
            return 0;
        }
        self.to_guard.send(bytes, self.room)
    }

    /// The other side hears what is there: `None` at the moment nothing, empty at the end.
    pub fn hear(&mut self, most: usize) -> Option<Vec<u8>> {
        let mut buffer = vec![0; most];
        let count = self.to_other.take(&mut buffer)?;
        buffer.truncate(count);
        Some(buffer)
    }

    /// The other side says nothing more.
    pub fn end(&mut self) {
        self.to_guard.ended = true;
    }

    /// The other side closes its socket: it neither says nor hears anything more.
    pub fn close(&mut self) {
        self.end();
        self.closed = true;
        self.broken |= !self.to_other.there.is_empty();
    }

    /// Bytes of the guard's that the other side has not heard, and of the other side's that the guard may read.
    pub fn waiting(&self) -> (usize, usize) {
        (self.to_other.on_the_way.len() + self.to_other.there.len(), self.to_guard.there.len())
    }

    /// Whether the other side has said its end, wherever that is by now.
    pub fn has_ended(&self) -> bool {
        self.to_guard.ended
    }

    pub fn is_idle(&self) -> bool {
        self.to_other.on_the_way.is_empty()
    }

    /// Whether the guard can see that the other side has ended.
    pub fn end_is_there(&self) -> bool {
        self.to_guard.end_is_there
    }

    pub fn carry(&mut self, to_guard: bool, count: usize) -> bool {
        if self.vanished.is_some() || self.broken {
            return false;
        }
        if to_guard {
            return self.to_guard.carry(count);
        }
        let moved = self.to_other.carry(count);
        self.broken |= self.closed && !self.to_other.there.is_empty();
        moved
    }
}

/// The guard's end of a conduit.
pub struct Plug {
    pub conduit: Rc<RefCell<Conduit>>,
    pub now: Rc<Cell<Nanos>>,
}

impl Drop for Plug {
    fn drop(&mut self) {
        self.end();
    }
}

impl Write for Plug {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut conduit = self.conduit.borrow_mut();
        // Behind its own end nobody can say anything.
        if conduit.broken || conduit.to_other.ended {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = conduit.room;
        match conduit.to_other.send(bytes, room) {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Plug {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut conduit = self.conduit.borrow_mut();
        if conduit.broken {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        conduit.to_guard.take(buffer).ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }
}

impl Transport for Plug {
    fn end(&self) {
        let mut conduit = self.conduit.borrow_mut();
        conduit.to_other.ended = true;
        conduit.guard_ended.get_or_insert(self.now.get());
    }

    fn is_lost(&self, silence: Nanos) -> bool {
        self.conduit.borrow().vanished.is_some_and(|since| self.now.get() - since >= silence)
    }
}
