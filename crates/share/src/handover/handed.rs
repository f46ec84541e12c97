//! What an engine gives to its successor.

use crate::front::nbd::Guest;
use evenkeel_os::Listener;
use evenkeel_os::address::Address;

/// Sockets, and what clients have asked at them.
#[derive(Default)]
pub struct Handed {
    pub(crate) doors: Vec<HandedDoor>,
    pub(crate) clients: Vec<Guest>,
    /// Clients that could not go along: they use TLS, or have not said which disk they want.
    pub cut: usize,
}

impl Handed {
    /// Clients that go on and notice nothing.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }
}

/// A place where clients arrive.
pub(crate) struct HandedDoor {
    pub listener: Listener,
    pub address: Address,
    /// Name of the only disk that is there.
    pub disk: Option<String>,
}
