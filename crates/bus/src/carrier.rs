//! A carrier takes messages from member to member; this is what a bus asks of any of them.

use super::BusError;
use std::time::Duration;

/// A message as bytes that came, or that stand in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// The name under which it came ([`message::token`]), where the carrier knows one.
    pub sender: Option<String>,
}

/// What carries messages between members.
pub trait Carrier: Send {
    /// Takes the place from which this member sends from now on; `hello` is its first message. May wait.
    fn join(&mut self, hello: &[u8]) -> Result<(), BusError>;

    /// Sends a message in place of the one before.
    fn send(&mut self, report: &[u8]) -> Result<(), BusError>;

    /// The messages that came since the last call, or all that stand there. Where there are none, waits for one, but no
    /// longer than `patience`.
    fn hear(&mut self, patience: Duration) -> Result<Vec<Piece>, BusError>;

    /// Whether a message stays readable, also after its sender has ended.
    fn keeps(&self) -> bool;

    /// What an operator should know of how it carries.
    fn note(&self) -> Option<String> {
        None
    }
}
