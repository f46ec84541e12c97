//! A pause that goes on, as it stands among the others.

use evenkeel_core::Nanos;

/// The end of one pause. It is void once the epoch of the slot has moved on: the request was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pausing {
    pub at: Nanos,
    pub slot: u32,
    pub epoch: u32,
}
