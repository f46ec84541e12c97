//! Hosts report to each other, period by period, and there is no host above them.
//!
//! A [`Bus`] sends this member's reports and knows the latest of every other member, with its age by this host's clock: a
//! [`Message`] has a sequence number and no instant. A [`Carrier`] takes it to the others: a file of slots ([`slot`]), which
//! may lie on the storage itself, or NATS ([`nats`]). Neither waits longer than a bound, and a failure is a value.
//!
//! A member is a name, and each start of it is an incarnation. Before its first report a member listens: where its name is
//! live already it does not start. Should two of one name meet later, the younger one falls silent.
#![forbid(unsafe_code)]

mod alone;
mod bounded;
mod carrier;
mod error;
mod member;
pub mod message;
pub mod nats;
mod roster;
pub mod slot;
#[cfg(test)]
mod tests;

pub use alone::Alone;
pub use carrier::{Carrier, Piece};
pub use error::BusError;
pub use member::Bus;
#[cfg(any(test, feature = "fixture"))]
pub use member::patient;
pub use message::{Dropped, Message};
pub use roster::{Heard, Identity, SILENT_PERIODS};
