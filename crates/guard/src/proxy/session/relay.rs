//! A session after its login, the client's side: commands that wait or go, and what becomes of it when its client
//! leaves. What the server says is in `understand`.

use super::login::{self, Accepted};
use super::{Context, Refusal};
use crate::capture::Tape;
use crate::proxy::seat::{Asked, Permit, Seat, Standing};
use evenkeel_core::Nanos;
use evenkeel_core::admission::{First, Rejection};
use evenkeel_core::policy::{self, Passage};
use evenkeel_wire::relay::{Command, CommandKind, CommandReader, Dialect, Expect, ReplyReader, Step};
use evenkeel_wire::relay::{hello, sql};

#[derive(Debug)]
pub enum Question {
    /// How the account authenticates; then the client hears that its login was accepted.
    Account { accepted: Vec<u8>, answer: Vec<u8> },
    /// Back to the state after login, for a client that is gone.
    Reset,
}

/// Commands that a client may have under way before its next one waits for the answers.
pub(super) const TURN: u32 = 16;

/// What came of looking at bytes of the client's.
#[derive(Debug, Default)]
pub struct Taken {
    /// So many may go to the server now; what is left waits.
    pub passed: usize,
    /// The command at the front of what is left was refused.
    pub refused: Option<Rejection>,
}

pub struct Relay {
    pub(super) commands: CommandReader,
    pub(super) replies: ReplyReader,
    pub(super) dialect: Dialect,
    pub(super) policy: policy::Session,
    pub(super) seat: Seat,
    pub(super) tape: Option<Box<Tape>>,
    pub(super) permit: Option<Permit>,
    /// It stands aside because nothing of it is to be done at the server, not because a statement sleeps there.
    pub(super) idles: bool,
    /// What the client sent and may not go yet.
    pub held: Vec<u8>,
    /// Whether `held` waits for something else than more bytes.
    pub(super) parked: bool,
    /// The command that passes was refused: it is thrown away.
    pub(super) refused: Option<Rejection>,
    /// Commands refused in this turn, and whether what is held waits for the next one.
    pub(super) refusals: u32,
    pub(super) paced: bool,
    /// What is held is to be looked at again before more is read.
    pub look_again: bool,
    pub(super) question: Option<Box<Question>>,
    pub(super) reply: policy::Reply,
    pub(super) results: u32,
    /// Since when nothing has been in flight, or when the server was kept awake last.
    pub(super) idle_since: Nanos,
    /// When the client said something last.
    pub(super) heard: Nanos,
    /// Since when something has been in flight, and how long that was before in this transaction.
    pub(super) busy_since: Nanos,
    pub(super) busy: Nanos,
    /// The same under the present permit.
    pub(super) used: Nanos,
    /// Commands under the present permit.
    turn: u32,
    /// The client said goodbye itself.
    pub(super) quit: bool,
    /// The command that was sent last will be answered.
    pub(super) answered: bool,
    /// The server has announced its end: nothing goes to it any more.
    pub(super) server_leaves: bool,
    pub(super) finished: bool,
    pub(super) equal_channels: bool,
    /// User and database of the login, and such as a change of user asks for.
    pub(super) named: (Vec<u8>, Vec<u8>),
    pub(super) becomes: Option<(Vec<u8>, Vec<u8>)>,
    /// Its transaction has begun by a statement that says nothing of it.
    pub(super) unsaid: bool,
    /// When the statement began that was told of as a runaway last.
    pub(super) told_since: Option<Nanos>,
    /// Number of the packet with which an error would go to the client.
    pub error_number: u8,
}

impl Relay {
    pub fn new(seat: Seat, accepted: &Accepted, cx: &Context<'_>) -> Self {
        let administrator = cx.is_administrator(&accepted.client.user);
        Self {
            commands: CommandReader::new(),
            replies: ReplyReader::new(accepted.dialect),
            dialect: accepted.dialect,
            policy: policy::Session::new(accepted.status, administrator),
            seat,
            tape: Tape::begin(
                cx.terms.plan.capture.as_ref(),
                (&accepted.client.user, &accepted.client.database),
            ),
            permit: None,
            idles: false,
            held: Vec::new(),
            parked: false,
            refused: None,
            refusals: 0,
            paced: false,
            look_again: false,
            error_number: 1,
            question: None,
            reply: policy::Reply::default(),
            results: 0,
            idle_since: cx.now,
            heard: cx.now,
            busy_since: cx.now,
            busy: Nanos::ZERO,
            used: Nanos::ZERO,
            turn: 0,
            quit: false,
            answered: false,
            server_leaves: false,
            finished: false,
            equal_channels: accepted.equal,
            named: (accepted.client.user.clone(), accepted.client.database.clone()),
            becomes: None,
            unsaid: false,
            told_since: None,
        }
    }

    pub fn server(&self) -> u32 {
        self.seat.server()
    }

    pub fn standing(&self) -> Option<Standing> {
        self.permit.as_ref().map(Permit::standing)
    }

    /// Whether what it has at the server runs, in a place or as a trifle.
    pub(super) fn runs(&self) -> bool {
        matches!(self.standing(), Some(Standing::Held | Standing::Free))
    }

    /// Whether it has to hear of time that passes.
    pub fn is_watched(&self) -> bool {
        let sleeps = self.standing() == Some(Standing::Aside) && self.policy.in_flight() > 0;
        self.runs() || sleeps || self.paced || self.is_in_login()
    }

    /// Whether so many bytes of a command are still to come that a large buffer pays.
    pub fn is_in_long_command(&self) -> bool {
        self.commands.left() > 0 || !self.commands.is_between()
    }

    /// Whether the client may be read: nothing of it waits.
    pub fn takes_commands(&self) -> bool {
        !self.parked && self.question.is_none()
    }

    /// Whether what is held is to be looked at now; then it will have been.
    pub fn looks_again(&mut self) -> bool {
        self.takes_commands() && std::mem::take(&mut self.look_again)
    }

    /// The client says something: it goes on with what it had begun.
    pub fn heard(&mut self, cx: &mut Context<'_>) {
        self.heard = cx.now;
        if self.held.is_empty() {
            self.refusals = 0;
        }
        if self.idles && !self.commands.is_between() {
            self.step_back(cx);
        }
    }

    /// Looks at what the client sent: what may go to the server now.
    pub fn take(&mut self, input: &[u8], cx: &mut Context<'_>) -> Result<Taken, Refusal> {
        let mut taken = Taken::default();
        if self.server_leaves {
            self.parked = true;
            return Ok(taken);
        }
        while taken.passed < input.len() {
            match self.commands.next(&input[taken.passed..])? {
                Step::Pass(count) => {
                    let bytes = &input[taken.passed..][..count];
                    self.tape.iter_mut().for_each(|tape| tape.passed(bytes, self.commands.is_between()));
                    taken.passed += count;
                }
                Step::More => break,
                Step::Wait => {
                    self.parked = true;
                    break;
                }
                Step::Command(command) => {
                    if !self.decide(&command, &mut taken, cx)? {
                        self.parked = true;
                        break;
                    }
                }
            }
        }
        Ok(taken)
    }

    /// Whether the command may go now.
    fn decide(
        &mut self,
        command: &Command<'_>,
        taken: &mut Taken,
        cx: &mut Context<'_>,
    ) -> Result<bool, Refusal> {
        // Another user's commands are not answered by the rules of the one before.
        let changes = command.kind == CommandKind::ChangeUser;
        if self.replies.is_full() || changes && self.replies.pending() > 0 {
            return Ok(false);
        }
        let text = sql(command, self.dialect);
        let seen = self.policy.look(&policy::Command {
            code: command.head.first().copied().unwrap_or_default(),
            text,
            whole: command.is_whole(),
            statement: command.statement(),
        });
        let passage = self.policy.passage(&seen);
        if seen.kills().is_some() && self.seat.kills() {
            return Ok(false);
        }
        if passage != Passage::Bypass {
            let mut first = self.first(&seen, text, cx);
            first.reads = passage == Passage::Queued && seen.reads() && self.policy.commits_by_itself();
            if !self.enter((passage, first), taken, cx) {
                return Ok(false);
            }
            self.turn = self.turn.saturating_add(1);
        }
        if changes {
            self.change_user(command.head)?;
        }
        self.quit |= command.kind == CommandKind::Quit;
        self.answered = command.kind.expect() != Expect::Nothing;
        if self.policy.in_flight() == 0 {
            self.busy_since = cx.now;
        }
        if let Some(thread) = seen.kills() {
            self.seat.begin_kill(thread, cx.notices);
        }
        self.policy.sent(seen, passage);
        self.commands.accept(command);
        self.replies.expect(command.kind);
        self.tape.iter_mut().for_each(|tape| tape.command(command.kind));
        cx.stats.commands.add();
        self.sleep(cx);
        Ok(true)
    }

    fn change_user(&mut self, head: &[u8]) -> Result<(), Refusal> {
        let plugin = hello::plugin_of_change(head, self.dialect).unwrap_or(b"of a long name");
        login::check_plugin(plugin, self.equal_channels || plugin == b"caching_sha2_password")?;
        self.becomes =
            hello::names_of_change(head).map(|(user, database)| (user.to_vec(), database.to_vec()));
        Ok(())
    }

    /// Whether the session has a permit, or gets one at once.
    fn enter(&mut self, entry: (Passage, First), taken: &mut Taken, cx: &mut Context<'_>) -> bool {
        match self.standing() {
            Some(Standing::Held) if self.has_had_its_turn() => false,
            Some(Standing::Held) => {
                self.says_lane(entry.1, cx);
                true
            }
            // What is said behind a trifle asks for itself, once that is answered.
            Some(Standing::Waiting | Standing::Free) => false,
            // The next statement behind one that sleeps does not sleep.
            Some(Standing::Aside) if self.replies.pending() > 0 && !self.policy.hold().is_any() => false,
            Some(Standing::Aside) => {
                self.step_back(cx);
                true
            }
            Some(Standing::Over) | None => self.ask(entry, taken, cx),
        }
    }

    /// Whoever says more ahead than this, and holds nothing, asks anew: under one permit without end he would keep it.
    fn has_had_its_turn(&self) -> bool {
        self.turn >= TURN && self.replies.pending() > 0 && !self.policy.hold().is_any()
    }

    fn ask(&mut self, (passage, first): (Passage, First), taken: &mut Taken, cx: &mut Context<'_>) -> bool {
        (self.turn, self.used) = (0, Nanos::ZERO);
        self.unsaid = first.digest == 0 && first.lane.is_none();
        if passage == Passage::Unqueued && self.may_pass_the_queue(cx) {
            self.permit = Some(self.seat.enter(first, cx.notices));
            return true;
        }
        // The answer to a refusal would overtake theirs.
        if self.replies.pending() > 0 {
            return false;
        }
        match self.seat.ask(first, cx.notices) {
            Asked::Permit(permit) => self.permit = Some(permit),
            Asked::Rejected(rejection) => taken.refused = Some(rejection),
        }
        self.runs()
    }

    /// Named locks cost their holder nothing, neither do others that texts take or seem to take, nor a text that cannot be
    /// read: whoever uses them for it could pass the queue with all of his sessions. There is a bound.
    fn may_pass_the_queue(&mut self, cx: &mut Context<'_>) -> bool {
        self.policy.hold().is_solid() || self.seat.is_exempt(cx.notices)
    }

    pub(super) fn unpark(&mut self) {
        self.parked = self.server_leaves;
        self.look_again = !self.held.is_empty();
    }

    /// What the client said before the session was there comes first.
    pub fn begin_with(&mut self, held: Vec<u8>) {
        self.held = held;
        self.unpark();
    }

    /// The gate has admitted the session, if it waits still.
    pub fn admitted(&mut self, cx: &mut Context<'_>) -> Option<Rejection> {
        let waits = |relay: &Self| relay.standing() == Some(Standing::Waiting);
        if waits(self) {
            let refused = self.permit.as_mut().and_then(|permit| permit.admitted(cx.notices));
            if refused.is_some() {
                self.permit = None;
                return refused;
            }
            if !waits(self) {
                self.unpark();
            }
        }
        None
    }

    /// The gate has refused what waits. False where nothing does.
    pub fn rejected(&mut self, cx: &mut Context<'_>) -> bool {
        let waited = self.permit.as_mut().is_some_and(|permit| permit.rejected(cx.notices));
        if waited {
            self.permit = None;
        }
        waited
    }

    /// The server has announced its end: nothing of this session runs there any more.
    pub fn server_leaves(&mut self) {
        (self.server_leaves, self.parked) = (true, true);
        self.permit = None;
    }

    /// Whether a command of the client's has not been sent on.
    pub fn is_waiting(&self) -> bool {
        self.replies.pending() == 0 && (!self.held.is_empty() || self.is_discarding())
    }

    pub fn is_quiet(&self) -> bool {
        self.replies.pending() == 0 && self.question.is_none()
    }

    /// Whether anything is due from the server: an answer, its end, or what a permit stands for.
    pub fn awaits_server(&self) -> bool {
        self.quit || self.permit.is_some() || !self.is_quiet()
    }

    /// Whether a change of user is under way.
    pub fn is_in_login(&self) -> bool {
        self.replies.answers() == Some(Expect::Login)
    }

    /// Whether it takes longer than a login may.
    pub fn is_late(&self, cx: &Context<'_>) -> bool {
        self.is_in_login() && cx.now - self.busy_since >= cx.terms.plan.login_max
    }

    /// Whether a stream passes, of which nothing is looked at.
    pub fn is_stream(&self) -> bool {
        self.commands.is_stream()
    }

    /// The client has left, and the server has forgotten it.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether the session could end now without anybody noticing: nothing in flight, no transaction.
    pub fn is_idle(&self) -> bool {
        // A dump never ends by itself; its replica goes on from where it was.
        let between = self.is_quiet() && self.commands.is_between() && self.held.is_empty();
        self.commands.is_stream() || between && self.permit.is_none() && !self.policy.hold().is_any()
    }

    /// Whether an error packet would be understood as the answer to the command that waits.
    pub fn awaits_answer(&self) -> bool {
        self.replies.is_between() && (self.replies.pending() > 0 || self.is_waiting())
    }
}
