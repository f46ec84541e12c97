//! A limit that an operator sets, as static pools and `max_connections` do.
//!
//! `L = const`.

use super::{Controller, Decision, Reason, Sample};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    limit: u32,
}

impl Fixed {
    pub fn new(limit: u32) -> Self {
        Self { limit: limit.max(1) }
    }
}

impl Controller for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn update(&mut self, _: &Sample) -> Decision {
        Decision { limit: self.limit, why: Reason::Fixed }
    }
}
