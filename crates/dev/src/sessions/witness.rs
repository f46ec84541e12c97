//! What can be seen of logins on the two wires of a session, and the rule that holds for them: where the operator's terms
//! want an account to be looked at, nothing of the client's gets to the server, and the client does not hear that it is in,
//! between the server's OK and its answer to the guard's question.
//!
//! The witness takes nothing from the session that it watches. A check that the guard forgets is a check that was due.

use evenkeel_guard::proxy::parts::{QUESTION, is_bound_to_host, names_socket_plugin, user_of};
use evenkeel_guard::proxy::session::Terms;
use evenkeel_wire::packet::{HEADER_BYTES, PacketReader};
use evenkeel_wire::relay::hello::{self, ClientHello, ServerHello, Verdict};
use evenkeel_wire::relay::{CommandKind, CommandReader, Expect, Reply, ReplyReader, Step};
use std::ops::Range;

/// How far the check of an account is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// No account waits for one.
    None,
    /// The server has let somebody in, and its answer to the guard's question is not there yet.
    Due,
    /// The account may not come in.
    Failed,
}

enum Stage {
    Greeting,
    /// The server has greeted, and was told who wants to come in, or not yet.
    Login(ServerHello, Option<ClientHello>),
    Session(Box<Commands>),
    /// A side has said what is not the protocol.
    Broken,
}

/// What goes on between a client and its server after the login.
struct Commands {
    commands: CommandReader,
    replies: ReplyReader,
    /// User of the last change of user, where its head shows one.
    becomes: Option<Vec<u8>>,
}

/// Whoever sees what goes over the wires of one session.
pub struct Witness {
    terms: Terms,
    stage: Stage,
    packets: PacketReader,
    check: Check,
    /// The next that the server hears has to be the guard's question.
    question_due: bool,
    answer: Vec<u8>,
    /// The server's OK to who wants to come in, until the client has heard it: nobody else may say one.
    accepted: bool,
    /// The client has called itself by an administrator's name, and the server did not contradict.
    administrator: bool,
}

impl Witness {
    pub fn new(terms: Terms) -> Self {
        Self {
            terms,
            stage: Stage::Greeting,
            packets: PacketReader::new(hello::PACKET_MAX),
            check: Check::None,
            question_due: false,
            answer: Vec::new(),
            accepted: false,
            administrator: false,
        }
    }

    pub fn is_in(&self) -> bool {
        matches!(self.stage, Stage::Session(_))
    }

    /// The server says bytes: the part of them that the client must not hear as it is.
    pub fn server_says(&mut self, bytes: &[u8]) -> Range<usize> {
        match (&self.stage, self.check) {
            (_, Check::Failed) | (Stage::Broken, Check::Due) => 0..bytes.len(),
            (Stage::Broken, Check::None) => 0..0,
            (Stage::Session(_), _) => self.read_replies(bytes),
            (Stage::Greeting | Stage::Login(..), _) => {
                self.read_login(bytes);
                0..0
            }
        }
    }

    fn read_login(&mut self, mut bytes: &[u8]) {
        loop {
            let payload = match self.packets.next(&mut bytes) {
                Ok(Some((_, payload))) => payload,
                Ok(None) => return,
                Err(_) => return self.stage = Stage::Broken,
            };
            self.stage = match std::mem::replace(&mut self.stage, Stage::Broken) {
                Stage::Greeting => match ServerHello::parse(payload) {
                    Ok(hello) => Stage::Login(hello, None),
                    Err(_) => Stage::Broken,
                },
                Stage::Login(hello, Some(client)) => match hello::verdict(&payload) {
                    Ok(Verdict::Accepted { .. }) => return self.begin(hello, &client, bytes.is_empty()),
                    Ok(Verdict::Switch(_) | Verdict::More) => Stage::Login(hello, Some(client)),
                    Ok(Verdict::Refused) | Err(_) => Stage::Broken,
                },
                _ => Stage::Broken,
            };
        }
    }

    /// A server that says more than its OK before it is asked anything breaks the protocol.
    fn begin(&mut self, mut hello: ServerHello, client: &ClientHello, alone: bool) {
        hello.restrict(true);
        let replies = ReplyReader::new(client.dialect(&hello));
        let mut session = Commands { commands: CommandReader::new(), replies, becomes: None };
        self.accepted = true;
        self.let_in(Some(&client.user), &mut session);
        self.stage = if alone { Stage::Session(Box::new(session)) } else { Stage::Broken };
    }

    /// The server has let somebody in: do the terms want the account to be looked at?
    fn let_in(&mut self, user: Option<&[u8]>, session: &mut Commands) {
        if let Some(user) = user {
            self.administrator = self.is_administrator(user);
        }
        if self.administrator || self.knows_accounts() {
            (self.check, self.question_due, self.accepted) = (Check::Due, true, true);
            self.answer.clear();
            session.replies.expect(CommandKind::Query);
        }
    }

    fn is_administrator(&self, user: &[u8]) -> bool {
        self.terms.plan.administrators.iter().any(|name| name.as_bytes() == user)
    }

    fn knows_accounts(&self) -> bool {
        self.terms.plan.backend.is_local() || self.terms.plan.refuse_host_accounts
    }

    fn read_replies(&mut self, bytes: &[u8]) -> Range<usize> {
        let Stage::Session(mut session) = std::mem::replace(&mut self.stage, Stage::Broken) else {
            return 0..0;
        };
        let waits = self.check == Check::Due;
        let (mut rest, mut hidden) = (bytes, if waits { 0..bytes.len() } else { 0..0 });
        loop {
            let (due, from) = (session.replies.answers(), bytes.len() - rest.len());
            let reply = session.replies.next(&mut rest);
            let at = bytes.len() - rest.len();
            if self.check == Check::Due {
                self.answer.extend_from_slice(&bytes[from..at]);
            }
            let Ok(reply) = reply else { return hidden };
            let Some(reply) = reply else { break };
            match self.check {
                Check::Due if reply.is_end() => {
                    self.judge_account(reply);
                    hidden.end = if self.check == Check::None { at } else { bytes.len() };
                }
                Check::Due | Check::Failed => {}
                Check::None => {
                    if session.learn(reply, due).is_none() {
                        return hidden;
                    }
                    if due == Some(Expect::Login) && matches!(reply, Reply::Result { .. }) {
                        let user = session.becomes.take();
                        self.let_in(user.as_deref(), &mut session);
                        // Without its last byte the OK is none yet.
                        hidden = if self.check == Check::Due { at - 1..bytes.len() } else { hidden };
                    }
                }
            }
        }
        self.stage = Stage::Session(session);
        hidden
    }

    fn judge_account(&mut self, reply: Reply) {
        let plan = &self.terms.plan;
        let unknown = matches!(reply, Reply::Error { .. }) && self.knows_accounts();
        let socket = plan.backend.is_local() && names_socket_plugin(&self.answer);
        let bound = plan.refuse_host_accounts && is_bound_to_host(&self.answer);
        self.check = if unknown || socket || bound { Check::Failed } else { Check::None };
        self.administrator &= user_of(&self.answer).is_some_and(|user| self.is_administrator(&user));
    }

    /// Bytes go to the server: what must not be with them.
    pub fn goes_to_server(&mut self, bytes: &[u8]) -> Result<(), String> {
        if bytes.is_empty() {
            return Ok(());
        }
        let asks = bytes.get(HEADER_BYTES + 1..) == Some(QUESTION);
        if self.question_due && asks {
            self.question_due = false;
            return Ok(());
        }
        if self.check != Check::None {
            return Err(format!("{} bytes go to the server, and the account was not checked", bytes.len()));
        }
        match &mut self.stage {
            Stage::Greeting => Err("the server is told something before it has greeted".into()),
            Stage::Login(_, client) => {
                let payload = bytes.get(HEADER_BYTES..).unwrap_or_default();
                if client.is_none() && !hello::is_tls_request(payload) {
                    *client = ClientHello::parse(payload).ok();
                }
                Ok(())
            }
            Stage::Session(session) => session.goes_to_server(bytes),
            Stage::Broken => Err("the server is told something after the protocol was broken".into()),
        }
    }

    /// The guard says something to the client: only an error, where the client is not in yet; and that it is in, only after
    /// the server has said so, once.
    pub fn guard_says(&mut self, bytes: &[u8]) -> Result<(), String> {
        let says = |first: u8| bytes.get(HEADER_BYTES) == Some(&first);
        if self.check != Check::None && !says(0xff) {
            return Err("the client is told that it is in, and the account was not checked".into());
        }
        match says(0) && !std::mem::take(&mut self.accepted) {
            true => Err("the client is told that it is in, and the server did not let it in".into()),
            false => Ok(()),
        }
    }
}

impl Commands {
    /// What an answer means for what the client may say next; none where it breaks the protocol.
    fn learn(&mut self, reply: Reply, due: Option<Expect>) -> Option<()> {
        match reply {
            Reply::FileRequest => return self.commands.file_follows(self.replies.number()).ok(),
            Reply::StreamBegins => self.commands.stream_begins(),
            _ => {}
        }
        match due.filter(|_| reply.is_end()) {
            Some(Expect::Login) => self.commands.login_ended(),
            Some(Expect::Stream) => self.commands.stream_refused(),
            _ => {}
        }
        Some(())
    }

    fn goes_to_server(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        loop {
            match self.commands.next(bytes) {
                Ok(Step::Pass(count)) => bytes = &bytes[count..],
                Ok(Step::More) if bytes.is_empty() => return Ok(()),
                Ok(Step::Command(command)) => {
                    if command.kind == CommandKind::ChangeUser {
                        self.becomes = hello::names_of_change(command.head).map(|(user, _)| user.to_vec());
                    }
                    self.commands.accept(&command);
                    self.replies.expect(command.kind);
                }
                Ok(Step::Wait) => return Err("a command goes to the server during a login".into()),
                Ok(Step::More) => return Err("a part of a command goes to the server undecided".into()),
                Err(error) => return Err(format!("the server is told what is no protocol: {error}")),
            }
        }
    }
}
