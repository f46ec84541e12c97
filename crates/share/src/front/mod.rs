//! Where I/Os come from.

mod fuse;
pub(crate) mod nbd;

pub use fuse::{FuseDisk, FuseError, FuseFront};

use super::handle::Crowd;
use super::{Answer, Request};
use evenkeel_core::Nanos;
use evenkeel_os::{Poller, Ready};
use std::io;

/// A front whose sockets are waited for by the engine: what is ready is read, what was answered is sent, and nothing waits.
///
/// A front with threads of its own has no need of this: it hands its requests to a [`Handle`](super::Handle).
pub(crate) trait Front: Send {
    /// Watches its sockets. All tokens that it uses are [`TOKENS`] or above.
    fn watch(&mut self, poller: &Poller) -> io::Result<()>;

    /// One of its sockets is ready, which it keeps in mind until [`Front::take`].
    fn ready(&mut self, ready: Ready);

    /// Adds what clients ask for, as far as the memory for it goes; the rest stays in the sockets.
    fn take(&mut self, poller: &Poller, now: Nanos, requests: &mut Vec<Request>);

    /// When [`Front::take`] has something to do though no socket is ready.
    fn due(&self) -> Nanos;

    /// Keeps the answer for its client; a client that is gone needs none.
    fn answer(&mut self, connection: u64, cookie: u64, answer: Answer);

    /// Sends what was answered, as far as the sockets take it.
    fn push(&mut self, poller: &Poller);

    /// Whether [`Front::take`] would find more without a socket that becomes ready.
    fn has_more(&self) -> bool;

    /// Takes no more clients and nothing more from those it has; answers still go out.
    fn close(&mut self);

    /// Whether answers are left that the sockets did not take.
    fn has_unsent(&self) -> bool;

    fn clients(&self) -> usize;

    /// Disks and connections of clients that went since this was asked and had requests in the engine, which nobody wants any
    /// more. Each request is still answered.
    fn gone(&mut self) -> Vec<(usize, u64)>;

    /// Clients that found no room.
    fn crowd(&self) -> &Crowd;
}

/// The least token of a front.
pub(crate) const TOKENS: u64 = 1 << 32;
