//! A place for one session after the other.

use super::super::client::Client;
use super::super::ledger::Ledger;
use super::super::pipe::{Conduit, Plug};
use super::super::server::Connection;
use super::tenure::Tenure;
use evenkeel_core::Nanos;
use evenkeel_guard::admission::SessionId;
use evenkeel_guard::proxy::parts::Pair;
use std::cell::RefCell;
use std::rc::Rc;

/// Sessions at a time.
pub(super) const SLOTS: usize = 6;

/// One client, the guard's session for it and its connection, and what is known of them.
pub(super) struct Slot {
    pub id: SessionId,
    pub pair: Pair<Plug>,
    /// Which server it is connected to, once it is.
    pub server: Option<u32>,
    pub client: Client,
    pub connection: Connection,
    pub ledger: Ledger,
    pub near: Rc<RefCell<Conduit>>,
    pub far: Rc<RefCell<Conduit>>,
    /// Bytes that the guard had for the server when the session's permit was lent.
    pub lent_at: Option<u64>,
    /// For how long it has had permits, and whether its permit is lent because that was too long.
    pub tenure: Tenure,
    pub outstayed: bool,
    /// How often in turn it was found with a permit that it ought to have lent.
    pub overstays: u32,
    /// Its permit is lent for a pause.
    pub pauses: bool,
    /// It passed the queue for what costs nothing, and has held that and nothing else since.
    pub exempt: bool,
    /// Byte of the server's behind which everybody who has heard it knows that the session holds no more than that.
    pub soft_from: u64,
    /// Since when its client's end has been there to be seen.
    pub left: Option<Nanos>,
    /// It came beyond the bound of clients.
    pub spare: bool,
    /// When the guard dropped it.
    pub closed: Option<Nanos>,
}

impl Slot {
    /// Whether the guard has dropped it.
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }
}
