//! The places of a lane, as an atomic number: who finds one free takes no lock that others share.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// How many run, their limit, and whether the gate has to be asked: 24 bits, 24 bits, and two flags.
///
/// While nobody waits, sessions come and go by one atomic step. From the moment on that somebody waits the front is shut: then
/// every place that is given back goes through the gate, which passes it on in the order of its queue.
#[derive(Debug, Default)]
pub struct Front(AtomicU64);

/// Greatest limit.
pub const LIMIT_MAX: usize = 0xff_ffff;
const RUNNING: u64 = 0xff_ffff;
const LIMIT_AT: u32 = 24;
const WATCH: u64 = 1 << 62;
const SHUT: u64 = 1 << 63;

/// What came of asking at the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtFront {
    Free,
    /// In, above the limit, since nobody is held back.
    WouldWait,
    /// The gate decides.
    Shut,
}

impl Front {
    fn change(&self, change: impl Fn(u64) -> Option<u64>) -> Result<u64, u64> {
        self.0.fetch_update(SeqCst, SeqCst, change)
    }

    /// Takes a place where one is free and nobody waits.
    pub fn enter(&self) -> AtFront {
        let full = |now: u64| now & RUNNING >= (now >> LIMIT_AT) & RUNNING;
        let entered = self.change(|now| {
            let may = now & WATCH != 0 || now & SHUT == 0 && !full(now);
            may.then_some(now + 1)
        });
        match entered {
            Ok(before) if full(before) => AtFront::WouldWait,
            Ok(_) => AtFront::Free,
            Err(_) => AtFront::Shut,
        }
    }

    /// Takes a place, if need be above the limit.
    pub fn enter_above(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    /// Gives a place back; whether somebody may be waiting for it, so that the gate has to be asked.
    pub fn leave(&self) -> bool {
        let left = self.change(|now| Some(if now & RUNNING == 0 { now } else { now - 1 }));
        left.unwrap_or_else(|now| now) & SHUT != 0
    }

    /// Whether somebody may be waiting.
    pub fn is_shut(&self) -> bool {
        self.0.load(SeqCst) & SHUT != 0
    }

    pub fn running(&self) -> usize {
        (self.0.load(SeqCst) & RUNNING) as usize
    }

    pub(super) fn set_limit(&self, limit: usize, watch: bool) {
        let limit = limit.clamp(1, LIMIT_MAX) as u64;
        let flags = if watch { WATCH } else { 0 };
        let _ = self.change(|now| Some(now & (SHUT | RUNNING) | limit << LIMIT_AT | flags));
    }

    /// Nobody runs or waits any more.
    pub(super) fn empty(&self) {
        let _ = self.change(|now| Some(now & !(SHUT | RUNNING)));
    }

    pub(super) fn set_shut(&self, shut: bool) {
        let _ = self.change(|now| Some(if shut { now | SHUT } else { now & !SHUT }));
    }
}
