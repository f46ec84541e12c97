//! Where I/Os come from.

use super::{Answer, Request};
use crate::sys::{Poller, Ready};
use std::io;

/// A front whose sockets are waited for by the engine: what is ready is read, what was answered is sent, and nothing waits.
///
/// A front with threads of its own has no need of this: it hands its requests to a [`Handle`](super::Handle).
pub(crate) trait Front: Send {
    /// Watches its sockets. All tokens that it uses are [`TOKENS`] or above.
    fn watch(&mut self, poller: &Poller) -> io::Result<()>;

    /// One of its sockets is ready: adds what clients ask for. `room` is how many bytes of buffers it may take; what is
    /// beyond that stays in the sockets until [`Front::more`].
    fn ready(&mut self, poller: &Poller, ready: Ready, room: usize, requests: &mut Vec<Request>);

    /// Buffers were given back: reads on where it had to stop.
    fn more(&mut self, poller: &Poller, room: usize, requests: &mut Vec<Request>);

    /// Keeps the answer for its client; a client that is gone needs none.
    fn answer(&mut self, connection: u64, cookie: u64, answer: Answer);

    /// Sends what was answered, as far as the sockets take it.
    fn push(&mut self, poller: &Poller);

    /// Takes no more clients and nothing more from those it has; answers still go out.
    fn close(&mut self, poller: &Poller);

    /// Clients connected.
    fn clients(&self) -> usize;
}

/// The least token of a front.
pub(crate) const TOKENS: u64 = 1 << 32;
