//! The server closes a session that says nothing for its `wait_timeout`, and cannot know of a command that waits here. So
//! a session in the queue tells it now and then to close a prepared statement that there is not. That has no answer that
//! could come too late, and leaves ROW_COUNT() as it was, where a ping would make it 0.

use super::relay::Relay;
use super::{Context, Side};
use crate::proxy::seat::Standing;
use evenkeel_core::Nanos;
use evenkeel_wire::command;

/// Time that a server hears nothing of a session in the queue. The shortest `wait_timeout` is a second, and a session is
/// looked at every quarter of one.
const QUIET_MAX: Nanos = Nanos::from_millis(400);
/// Servers count their statements from 1.
const NO_STATEMENT: u32 = 0;

impl Relay {
    /// What waits in the queue has nothing in flight, and the server is between two commands.
    pub fn keep_awake(&mut self, cx: &mut Context<'_>) {
        if self.standing() != Some(Standing::Waiting) || cx.now - self.idle_since < QUIET_MAX {
            return;
        }
        let mut close = Vec::new();
        command::close(&mut close, NO_STATEMENT);
        cx.send(Side::Server, close);
        cx.stats.kept_awake.add();
        self.idle_since = cx.now;
    }
}
