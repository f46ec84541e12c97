//! A session after its login, the server's side: replies, and what follows from each.

use super::login;
use super::relay::{Question, Relay};
use super::{Context, Refusal, Side};
use crate::proxy::account;
use crate::proxy::seat::Standing;
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Ended, First};
use evenkeel_wire::command;
use evenkeel_wire::relay::{CommandKind, Expect, Reply, hello};
use std::ops::Range;

/// Most bytes kept of the answer to a question of the guard's own.
const ANSWER_MAX: usize = 64 << 10;

impl Relay {
    /// Reads what the server sent: the range of it that is for the client.
    pub fn understand(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<Range<usize>, Refusal> {
        self.goes_on_reading(cx);
        let (mut rest, mut range, mut heard) = (bytes, 0..bytes.len(), 0);
        while !rest.is_empty() {
            let due = self.replies.answers();
            let Some(reply) = self.replies.next(&mut rest)? else { break };
            let at = bytes.len() - rest.len();
            if self.question.is_some() {
                heard = at;
                if reply.is_end() {
                    self.answered(reply, &bytes[range.start..at], cx)?;
                    range.start = at;
                }
                continue;
            }
            if let Some(tape) = &mut self.tape {
                tape.heard(at - heard);
                tape.reply(reply);
            }
            heard = at;
            self.learn(reply, due, cx)?;
            let logged_in = due == Some(Expect::Login) && matches!(reply, Reply::Result { .. });
            if logged_in && self.has_to_ask(cx) {
                self.ask_account(bytes[range.start..at].to_vec(), cx);
                range.start = at;
            }
        }
        if let Some(tape) = self.tape.as_mut().filter(|_| self.question.is_none()) {
            tape.heard(bytes.len() - heard);
        }
        if let Some(question) = &mut self.question {
            if let Question::Account { answer, .. } = question.as_mut() {
                let room = ANSWER_MAX.saturating_sub(answer.len());
                answer.extend_from_slice(&bytes[range.start..][..room.min(bytes.len() - range.start)]);
            }
            range.start = bytes.len();
        }
        Ok(range)
    }

    fn learn(&mut self, reply: Reply, due: Option<Expect>, cx: &mut Context<'_>) -> Result<(), Refusal> {
        match reply {
            Reply::Result { status, .. } => {
                self.reply.status = Some(status);
                self.results += 1;
                self.reply.many = self.results > 1;
            }
            Reply::Error { code } => self.reply.error = Some(code),
            Reply::Prepared { statement } => self.reply.statement = Some(statement),
            Reply::FileRequest => {
                self.commands.file_follows(self.replies.number())?;
                self.unpark();
            }
            Reply::LoginRequest => {
                let plugin = match hello::verdict(self.replies.head()) {
                    Ok(hello::Verdict::Switch(plugin)) => plugin,
                    _ => b"caching_sha2_password",
                };
                self.error_number = self.replies.number();
                login::check_plugin(plugin, self.equal_channels)?;
                self.unpark();
            }
            Reply::StreamBegins => {
                self.commands.stream_begins();
                self.unpark();
            }
            Reply::Text | Reply::Farewell { .. } => {}
        }
        if reply.is_end() {
            self.ended(reply, due, cx);
        }
        Ok(())
    }

    /// The oldest command has its answer, of the kind that was due.
    fn ended(&mut self, reply: Reply, due: Option<Expect>, cx: &mut Context<'_>) {
        match due {
            Some(Expect::Login) => self.commands.login_ended(),
            Some(Expect::Stream) => self.commands.stream_refused(),
            _ => {}
        }
        let said = std::mem::take(&mut self.reply);
        self.results = 0;
        let after = self.policy.replied(&said);
        if after.killed {
            match said.error {
                None => self.seat.has_killed(cx.notices),
                Some(_) => self.seat.has_not_killed(),
            }
        }
        let took = cx.now - self.busy_since;
        // What stands aside uses nothing.
        if self.runs() {
            self.busy += took;
            self.used += took;
        }
        self.busy_since = cx.now;
        let busy = self.busy;
        if after.ended.is_some() || !after.open {
            self.busy = Nanos::ZERO;
        }
        let ended = after.ended.map(|outcome| Ended { outcome, digest: after.digest, busy });
        self.settle(ended, after.open, cx);
        if self.policy.hold().is_solid() || !self.policy.hold().is_any() {
            self.seat.end_exemption();
        }
        if due == Some(Expect::Login) {
            self.became(reply, cx);
        }
        self.idle_since = cx.now;
        if self.standing() != Some(Standing::Waiting) {
            self.unpark();
        }
    }

    fn settle(&mut self, ended: Option<Ended>, open: bool, cx: &mut Context<'_>) {
        match self.standing() {
            Some(Standing::Held | Standing::Free | Standing::Aside) => {
                // The statement that slept is over, and its transaction goes on.
                if open && !self.idles {
                    self.step_back(cx);
                }
                if ended.is_some() || !open || self.standing() == Some(Standing::Free) {
                    self.permit =
                        self.permit.take().and_then(|permit| permit.settle(ended, open, cx.notices));
                }
            }
            // It began what needs a permit without having one. What a server says before its end, and is read behind it, begins
            // nothing.
            None if open && !self.server_leaves => {
                self.permit = Some(self.seat.enter(First::default(), cx.notices))
            }
            // What waits has nothing in flight that could have been answered.
            _ => {}
        }
        // Its server answers, whatever new logins found: it is no server of the past, and its work counts; unless the
        // operator has left that server.
        if self.permit.is_none() && self.seat.server() != cx.server && self.seat.server() >= cx.led {
            self.seat.count_at(cx.server);
        }
    }

    /// A change of user was accepted or refused: from here on its rules hold.
    fn became(&mut self, reply: Reply, cx: &mut Context<'_>) {
        let accepted = matches!(reply, Reply::Result { .. });
        if let Some((user, database)) = self.becomes.take().filter(|_| accepted) {
            self.seat.set_tenant(cx.tenant(&user, &database));
            self.policy.set_administrator(cx.is_administrator(&user));
            self.named = (user, database);
        }
    }

    /// Whether what the client says of itself is not enough: the server knows as whom it let him in.
    pub fn has_to_ask(&self, cx: &Context<'_>) -> bool {
        cx.has_to_know_accounts() || self.policy.is_administrator()
    }

    /// Asks the server how the account authenticates, before the client hears that it is in.
    pub fn ask_account(&mut self, accepted: Vec<u8>, cx: &mut Context<'_>) {
        self.error_number = accepted.get(3).copied().unwrap_or(1);
        let mut out = Vec::new();
        command::query(&mut out, account::QUESTION);
        cx.send(Side::Server, out);
        self.replies.expect(CommandKind::Query);
        self.question = Some(Box::new(Question::Account { accepted, answer: Vec::new() }));
    }

    fn answered(&mut self, reply: Reply, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Refusal> {
        match self.question.take().map(|question| *question) {
            Some(Question::Account { accepted, mut answer }) => {
                answer.extend_from_slice(bytes);
                match reply {
                    Reply::Error { code } if cx.has_to_know_accounts() => {
                        return Err(Refusal::UnknownAccount(code));
                    }
                    _ => {}
                }
                if let Some(refusal) = cx.objection(&answer) {
                    return Err(refusal);
                }
                // An anonymous account lets in whoever calls himself an administrator.
                let known = account::user_of(&answer).is_some_and(|user| cx.is_administrator(&user));
                self.policy.set_administrator(self.policy.is_administrator() && known);
                cx.send(Side::Client, accepted);
                self.error_number = 1;
                self.unpark();
            }
            Some(Question::Reset) => {
                self.permit = None;
                self.finished = true;
            }
            None => {}
        }
        Ok(())
    }
}
