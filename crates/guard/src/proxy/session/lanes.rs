//! The lane that somebody has chosen for a transaction, and statements that run for longer than the operator bears.

use super::Context;
use super::relay::Relay;
use crate::proxy::arrivals::Runaway;
use crate::proxy::seat::{Permit, Standing};
use evenkeel_core::admission::First;
use evenkeel_core::gate::{Lane, lane_of_comment};
use evenkeel_core::policy::Seen;

impl Relay {
    /// What the gate is told of a command that may begin a transaction.
    pub(super) fn first(&self, seen: &Seen, text: Option<&[u8]>, cx: &Context<'_>) -> First {
        if self.standing() == Some(Standing::Held) && !self.unsaid {
            return First::default();
        }
        let (user, database) = &self.named;
        let ruled = || cx.terms.plan.lanes.lane(user, database, seen.digest());
        let lane = lane_of_comment(text.unwrap_or_default()).or_else(ruled);
        First { digest: if seen.only_begins() { 0 } else { seen.digest() }, lane, reads: false }
    }

    /// The first statement behind a mere BEGIN says the lane.
    pub(super) fn says_lane(&mut self, first: First, cx: &mut Context<'_>) {
        if std::mem::take(&mut self.unsaid) && first.lane == Some(Lane::Long) {
            self.permit.iter_mut().for_each(|permit| Permit::go_on_long(permit, cx.notices));
        }
    }

    /// Time has passed: a statement that lasts too long is told of, once.
    pub(super) fn tell_runaway(&mut self, cx: &Context<'_>) {
        let (Some(most), Some(statement)) = (cx.terms.plan.runaway_max, self.policy.at_server()) else {
            return;
        };
        let lasted = cx.now - self.busy_since;
        if lasted >= most && self.told_since != Some(self.busy_since) {
            self.told_since = Some(self.busy_since);
            cx.stats.count_runaway(Runaway {
                user: String::from_utf8_lossy(&self.named.0).into_owned(),
                thread: self.seat.thread(),
                digest: statement.digest,
                lasted,
            });
        }
    }
}
