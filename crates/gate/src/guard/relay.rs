//! A session after its login: commands that wait or go, replies that end them.

use super::account::{self, names_socket_plugin};
use super::login;
use super::refusal::Refusal;
use super::shared::Desk;
use crate::admission::{Admission, Ended, Rejection, SessionId, TenantId};
use crate::policy::{self, Passage};
use evenkeel_core::Nanos;
use evenkeel_wire::command;
use evenkeel_wire::packet::{HEADER_BYTES, PAYLOAD_MAX};
use evenkeel_wire::relay::{Command, CommandKind, CommandReader, Dialect, Expect, Reply, ReplyReader, Step};
use evenkeel_wire::relay::{hello, sql};

/// Most bytes kept of the answer to a question of the guard's own.
const ANSWER_MAX: usize = 64 << 10;

/// A session's standing with the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    None,
    Waiting,
    Held,
    Lent,
}

/// A command of the guard's own, whose answer the client does not see.
#[derive(Debug)]
enum Question {
    /// How the account authenticates; then the client is told that its login was accepted.
    Account { accepted: Vec<u8>, answer: Vec<u8> },
    /// Back to the state after login, for a client that is gone.
    Reset,
}

/// What the caller has to do next.
#[derive(Debug, Default)]
pub struct Todo {
    /// To be sent to the server, before what follows.
    pub server: Vec<u8>,
    /// To be sent to the client.
    pub client: Vec<u8>,
    /// The command at the front of what is left was refused.
    pub refused: Option<Rejection>,
    /// The client has left, and the server has forgotten it.
    pub finished: bool,
}

/// The state of a session.
pub struct Relay {
    pub id: SessionId,
    commands: CommandReader,
    replies: ReplyReader,
    dialect: Dialect,
    policy: policy::Session,
    tenant: TenantId,
    pub permit: Permit,
    /// What the client sent and may not go yet.
    pub held: Vec<u8>,
    /// Whether `held` waits for something else than more bytes.
    parked: bool,
    /// What is held is to be looked at again before more is read.
    pub look_again: bool,
    question: Option<Box<Question>>,
    reply: policy::Reply,
    results: u32,
    /// Since when nothing has been in flight.
    idle_since: Nanos,
    /// Since when something has, and how long that was before in this transaction.
    busy_since: Nanos,
    busy: Nanos,
    /// The client said goodbye itself.
    quit: bool,
    equal_channels: bool,
    checks_account: bool,
    /// Number of the packet that would tell the client of an error.
    pub error_number: u8,
}

impl Relay {
    pub fn new(
        id: SessionId,
        tenant: TenantId,
        accepted: &login::Accepted,
        administrator: bool,
        now: Nanos,
    ) -> Self {
        Self {
            id,
            commands: CommandReader::new(),
            replies: ReplyReader::new(accepted.dialect),
            dialect: accepted.dialect,
            policy: policy::Session::new(accepted.status, administrator),
            tenant,
            permit: Permit::None,
            held: Vec::new(),
            parked: false,
            look_again: false,
            error_number: 1,
            question: None,
            reply: policy::Reply::default(),
            results: 0,
            idle_since: now,
            busy_since: now,
            busy: Nanos::ZERO,
            quit: false,
            equal_channels: accepted.equal,
            checks_account: false,
        }
    }

    /// Whether so many bytes of a command are still to come that a large buffer pays.
    pub fn is_in_long_command(&self) -> bool {
        self.commands.left() > 0 || !self.commands.is_between()
    }

    /// Whether the client may be read: nothing of it waits.
    pub fn takes_commands(&self) -> bool {
        !self.parked && self.question.is_none()
    }

    /// Whether what is held is to be looked at before more is read; then it will have been.
    pub fn looks_again(&mut self) -> bool {
        std::mem::take(&mut self.look_again)
    }

    /// Looks at what the client sent: how many bytes may go to the server now. What is left waits.
    pub fn take(&mut self, input: &[u8], desk: &mut Desk<'_>, todo: &mut Todo) -> Result<usize, Refusal> {
        let mut at = 0;
        loop {
            match self.commands.next(&input[at..])? {
                Step::Pass(count) => at += count,
                Step::More => break,
                Step::Wait => {
                    self.parked = true;
                    break;
                }
                Step::Command(command) => {
                    if !self.decide(&command, desk, todo)? {
                        self.parked = true;
                        break;
                    }
                }
            }
        }
        Ok(at)
    }

    /// Whether the command may go now.
    fn decide(
        &mut self,
        command: &Command<'_>,
        desk: &mut Desk<'_>,
        todo: &mut Todo,
    ) -> Result<bool, Refusal> {
        if self.replies.is_full() {
            return Ok(false);
        }
        let seen = self.policy.look(&policy::Command {
            code: command.head.first().copied().unwrap_or_default(),
            text: sql(command, self.dialect),
            whole: command.is_whole(),
            statement: command.statement(),
        });
        let passage = self.policy.passage(&seen);
        if passage != Passage::Bypass && !self.enter(passage, desk, todo) {
            return Ok(false);
        }
        if command.kind == CommandKind::ChangeUser {
            let plugin = hello::plugin_of_change(command.head, self.dialect).unwrap_or(b"of a long name");
            login::check_plugin(plugin, self.equal_channels || plugin == b"caching_sha2_password")?;
        }
        self.quit |= command.kind == CommandKind::Quit;
        if self.policy.in_flight() == 0 {
            self.busy_since = desk.now;
        }
        self.policy.sent(seen);
        self.commands.accept(command);
        self.replies.expect(command.kind);
        desk.shared.stats.commands.add();
        Ok(true)
    }

    /// Whether the session has a permit, or gets one at once.
    fn enter(&mut self, passage: Passage, desk: &mut Desk<'_>, todo: &mut Todo) -> bool {
        match (self.permit, passage) {
            (Permit::Held, _) => return true,
            (Permit::Waiting, _) => return false,
            (Permit::Lent, _) => desk.resume(self.id),
            (Permit::None, Passage::Unqueued) => desk.enter(self.id, self.tenant),
            // The answer to a refusal would overtake theirs.
            (Permit::None, _) if self.replies.pending() > 0 => return false,
            (Permit::None, _) => match desk.ask(self.id, self.tenant) {
                Admission::Admitted => {}
                Admission::Queued => {
                    self.permit = Permit::Waiting;
                    return false;
                }
                Admission::Rejected(rejection) => {
                    todo.refused = Some(rejection);
                    return false;
                }
            },
        }
        self.permit = Permit::Held;
        true
    }

    fn unpark(&mut self) {
        self.parked = false;
        self.look_again = !self.held.is_empty();
    }

    /// What the client said before the session was there comes first.
    pub fn begin_with(&mut self, early: Vec<u8>) {
        self.held = early;
        self.unpark();
    }

    /// The gate has admitted the session, if it waits still.
    pub fn admitted(&mut self) {
        if self.permit == Permit::Waiting {
            self.permit = Permit::Held;
            self.unpark();
        }
    }

    /// The gate has refused what waits. False where nothing does.
    pub fn rejected(&mut self) -> bool {
        let waited = self.permit == Permit::Waiting;
        if waited {
            self.permit = Permit::None;
        }
        waited
    }

    /// Takes the command that was refused from the front of what is held. False where it is not all there.
    pub fn drop_refused(&mut self) -> bool {
        let [a, b, c, _, ..] = self.held[..] else { return false };
        let length = HEADER_BYTES + u32::from_le_bytes([a, b, c, 0]) as usize;
        let whole = length < HEADER_BYTES + PAYLOAD_MAX && self.held.len() >= length;
        if whole {
            self.held.drain(..length);
            self.unpark();
        }
        whole
    }

    /// Reads what the server sent: the range of it that is for the client.
    pub fn understand(
        &mut self,
        bytes: &[u8],
        desk: &mut Desk<'_>,
        todo: &mut Todo,
    ) -> Result<std::ops::Range<usize>, Refusal> {
        let (mut rest, mut range) = (bytes, 0..bytes.len());
        while let Some(reply) = self.replies.next(&mut rest)? {
            let at = bytes.len() - rest.len();
            if self.question.is_some() {
                if reply.is_end() {
                    self.answered(reply, &bytes[range.start..at], desk, todo)?;
                    range.start = at;
                }
                continue;
            }
            // The reader has let go of the command already.
            let changes_user = self.checks_account && reply.is_end() && self.commands.is_login();
            self.learn(reply, desk)?;
            if changes_user && matches!(reply, Reply::Result { .. }) {
                self.ask_account(bytes[range.start..at].to_vec(), todo);
                range.start = at;
            }
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

    fn learn(&mut self, reply: Reply, desk: &mut Desk<'_>) -> Result<(), Refusal> {
        match reply {
            Reply::Result { status, .. } => {
                self.reply.status = Some(status);
                self.results += 1;
                self.reply.many = self.results > 1;
            }
            Reply::Error { code } => self.reply.error = Some(code),
            Reply::Prepared { statement } => self.reply.statement = Some(statement),
            Reply::FileRequest => {
                self.commands.file_follows()?;
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
            Reply::Text | Reply::Farewell { .. } => {}
        }
        if reply.is_end() {
            self.ended(desk);
        }
        Ok(())
    }

    /// The oldest command has its answer.
    fn ended(&mut self, desk: &mut Desk<'_>) {
        self.commands.login_ended();
        let reply = std::mem::take(&mut self.reply);
        self.results = 0;
        let after = self.policy.replied(&reply);
        self.busy += desk.now - self.busy_since;
        self.busy_since = desk.now;
        let busy = self.busy;
        if after.ended.is_some() || !after.open {
            self.busy = Nanos::ZERO;
        }
        let ended = after.ended.map(|outcome| Ended { outcome, digest: after.digest, busy });
        let had = matches!(self.permit, Permit::Held | Permit::Lent);
        if had && (after.ended.is_some() || !after.open) || !had && after.open {
            desk.settle(self.id, self.tenant, ended, after.open);
            self.permit = if after.open { Permit::Held } else { Permit::None };
        }
        self.idle_since = desk.now;
        if self.permit != Permit::Waiting {
            self.unpark();
        }
    }

    /// Asks the server how the account authenticates, before the client is told that it is in.
    pub fn ask_account(&mut self, accepted: Vec<u8>, todo: &mut Todo) {
        self.checks_account = true;
        self.error_number = accepted.get(3).copied().unwrap_or(1);
        command::query(&mut todo.server, account::QUESTION);
        self.replies.expect(CommandKind::Query);
        self.question = Some(Box::new(Question::Account { accepted, answer: Vec::new() }));
    }

    fn answered(
        &mut self,
        reply: Reply,
        bytes: &[u8],
        desk: &mut Desk<'_>,
        todo: &mut Todo,
    ) -> Result<(), Refusal> {
        match self.question.take().map(|question| *question) {
            Some(Question::Account { accepted, mut answer }) => {
                answer.extend_from_slice(bytes);
                match reply {
                    Reply::Error { code } => return Err(Refusal::UnknownAccount(code)),
                    _ if names_socket_plugin(&answer) => return Err(Refusal::SocketAccount),
                    _ => todo.client.extend_from_slice(&accepted),
                }
                self.error_number = 1;
                self.unpark();
            }
            Some(Question::Reset) => {
                self.give_back(desk);
                todo.finished = true;
            }
            None => {}
        }
        Ok(())
    }

    /// The client has left: what becomes of its session. What it had not finished to say is never completed.
    pub fn leave(&mut self, desk: &mut Desk<'_>, todo: &mut Todo) -> Leave {
        (self.held, self.parked) = (Vec::new(), true);
        if self.permit == Permit::Waiting {
            self.give_back(desk);
        }
        let login_hangs = self.replies.answers() == Some(Expect::Login);
        match () {
            () if self.commands.is_stream() => Leave::Close,
            () if self.quit => Leave::AwaitEnd,
            () if !self.commands.is_between() || login_hangs => Leave::EndServer,
            () if self.replies.pending() > 0 => Leave::Drain,
            () if self.permit == Permit::None && !self.policy.hold().is_any() => Leave::Close,
            () => {
                desk.shared.stats.resets.add();
                command::reset(&mut todo.server);
                self.replies.expect(CommandKind::ResetConnection);
                self.question = Some(Box::new(Question::Reset));
                Leave::Drain
            }
        }
    }

    /// The permit, or the place in the queue, goes back to the gate.
    pub fn give_back(&mut self, desk: &mut Desk<'_>) {
        if self.permit != Permit::None {
            desk.cancel(self.id);
            self.permit = Permit::None;
        }
    }

    /// Whether a command of the client's has not been sent on.
    pub fn is_waiting(&self) -> bool {
        self.replies.pending() == 0 && !self.held.is_empty()
    }

    /// Whether nothing is due from the server.
    pub fn is_quiet(&self) -> bool {
        self.replies.pending() == 0 && self.question.is_none()
    }

    /// Whether the session could end now without anybody noticing: nothing in flight, no transaction.
    pub fn is_idle(&self) -> bool {
        // A dump never ends by itself; its replica goes on from where it was.
        let between = self.is_quiet() && self.commands.is_between() && self.held.is_empty();
        self.commands.is_stream() || between && self.permit == Permit::None && !self.policy.hold().is_any()
    }

    /// Whether an error packet would be understood as the answer to the command that waits.
    pub fn awaits_answer(&self) -> bool {
        self.replies.is_between() && (self.replies.pending() > 0 || !self.held.is_empty())
    }

    /// A transaction that has been idle for long lends its permit.
    pub fn lend_if_idle(&mut self, desk: &mut Desk<'_>) {
        let idle = self.replies.pending() == 0 && self.commands.is_between() && self.held.is_empty();
        let long = desk.now - self.idle_since >= desk.shared.plan.lend_after;
        if self.permit == Permit::Held && idle && long && desk.lend(self.id) {
            self.permit = Permit::Lent;
        }
    }
}

/// What to do when a client has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Nothing is left to wait for.
    Close,
    /// Read on until the server has answered everything.
    Drain,
    /// The server waits for something that does not come: tell it so, and wait for its end.
    EndServer,
    /// The server was told by the client; wait for its end.
    AwaitEnd,
}
