//! A model of a database server: accounts, transactions, row locks, named locks, errors. It takes its time.

mod ends;
mod login;
mod work;

use super::ledger::Ledger;
use super::locks::Locks;
use super::pipe::Conduit;
use super::script::{ADMINISTRATOR, Command, LAST_PREPARED, SYSTEM, packet};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_guard::proxy::parts::QUESTION;
use evenkeel_wire::packet::{HEADER_BYTES, PacketReader};
use std::collections::BTreeMap;

#[derive(Debug, PartialEq)]
enum Phase {
    Greeting,
    Login,
    /// A proof is awaited, for the login or a change of user.
    Proof {
        user: String,
        login: bool,
    },
    Ready,
    Busy {
        command: Command,
        since: Nanos,
        until: Nanos,
    },
    /// It says no more, and waits for the other side to end.
    Leaving,
    File,
    Stream,
    Closed,
}

/// What a connection was seen to do, for the judge.
#[derive(Debug, PartialEq)]
pub enum Deed {
    /// It began to work for a command of the client's, which begins at this byte of all that it was told.
    Works { command: Command, at: u64 },
    /// It obeyed a client as an account that may not come in through this guard.
    Usurped(String),
    /// The connection was closed.
    Closed,
}

/// One connection of the model.
#[derive(Debug)]
pub struct Connection {
    who: usize,
    phase: Phase,
    packets: PacketReader,
    unread: Vec<u8>,
    unsaid: Vec<u8>,
    /// Bytes that it was told.
    heard: u64,
    user: String,
    /// Who it was that logged in first.
    first_user: String,
    /// Accounts that may not come in through the guard.
    barred: Vec<&'static str>,
    prepared: BTreeMap<u32, Command>,
    /// Statements that were prepared, which is the number of the last.
    prepared_total: u32,
    in_transaction: bool,
    /// It takes its time to look at a login, while its client may say a lot.
    slow: bool,
    ended: bool,
    /// How much of what is unsaid is not for the ledger, and all that was ever to be said.
    aside: usize,
    said_total: u64,
    /// Number of the next packet of an answer that has several results.
    next_number: u8,
    /// Nobody has told it anything since somebody was let in.
    fresh: bool,
    /// Its last answer leaves open whether a transaction goes on, for whoever only reads answers.
    doubtful: bool,
}

impl Connection {
    /// One that has accounts that are not to come in; a `slow` one takes its time for a login.
    pub fn new(who: usize, barred: Vec<&'static str>, slow: bool) -> Self {
        Self {
            who,
            phase: Phase::Greeting,
            packets: PacketReader::new(1 << 20),
            unread: Vec::new(),
            unsaid: Vec::new(),
            heard: 0,
            user: String::new(),
            first_user: String::new(),
            barred,
            prepared: BTreeMap::new(),
            prepared_total: 0,
            in_transaction: false,
            slow,
            ended: false,
            aside: 0,
            said_total: 0,
            next_number: 0,
            fresh: true,
            doubtful: false,
        }
    }

    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Its number, by which locks are held.
    pub fn number(&self) -> usize {
        self.who
    }

    /// Whether it is logged in as somebody whose commands never wait.
    pub fn is_administrator(&self) -> bool {
        self.user == ADMINISTRATOR
    }

    /// Whether it was an administrator who logged in.
    pub fn came_as_administrator(&self) -> bool {
        self.first_user == ADMINISTRATOR
    }

    /// The account that it obeys, which is nobody's before a login.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Whether that may not come in through the guard.
    pub fn is_barred(&self) -> bool {
        self.barred.contains(&self.user.as_str())
    }

    /// Whether it was such a one who logged in.
    pub fn came_barred(&self) -> bool {
        self.barred.contains(&self.first_user.as_str())
    }

    /// Bytes that it was ever going to say.
    pub fn said_total(&self) -> u64 {
        self.said_total
    }

    /// Whether it holds more than what costs nothing, or seems to.
    pub fn is_solid(&self) -> bool {
        self.in_transaction || self.doubtful
    }

    /// Whether a transaction is open.
    pub fn is_in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// The work that it does now.
    pub fn works_for(&self) -> Option<&Command> {
        match &self.phase {
            Phase::Busy { command, .. } if command.is_work() => Some(command),
            _ => None,
        }
    }

    /// Whether a statement runs.
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Busy { .. })
    }

    /// Does a little; what it was seen to do, or what is wrong with what it was told.
    pub fn act(
        &mut self,
        conduit: &mut Conduit,
        locks: &mut Locks,
        ledger: &mut Ledger,
        (now, random): (Nanos, &mut Random),
    ) -> Result<Option<Deed>, String> {
        if self.is_closed() {
            return Ok(None);
        }
        let said = conduit.say(&self.unsaid);
        self.unsaid.drain(..said);
        self.aside = self.aside.saturating_sub(said);
        if let Phase::Busy { .. } = self.phase {
            self.work(locks, ledger, (now, random));
            return Ok(None);
        }
        if conduit.broken || conduit.vanished.is_some() || self.ended && self.unsaid.is_empty() {
            return Ok(Some(self.close(conduit, locks)));
        }
        if self.phase == Phase::Greeting {
            self.say_login(ledger, 0, &greeting());
            self.phase = Phase::Login;
            return Ok(None);
        }
        let waits = self.slow && matches!(self.phase, Phase::Login | Phase::Proof { login: true, .. });
        // Who has said a farewell only waits until it is out: a command read behind it would be answered by it.
        if self.ended || waits && random.chance(0.97) {
            return Ok(None);
        }
        self.listen(conduit, locks, ledger, (now, random))
    }

    /// Says something that is not the client's to hear.
    fn say(&mut self, number: u8, payload: &[u8]) {
        let bytes = packet(number, payload);
        self.said_total += bytes.len() as u64;
        self.unsaid.extend(bytes);
        self.aside = self.unsaid.len();
    }

    /// Says something before its client is in.
    fn say_login(&mut self, ledger: &mut Ledger, number: u8, payload: &[u8]) {
        ledger.answer_login(payload);
        self.say(number, payload);
    }

    /// Says something that the client is to hear byte for byte.
    fn answer(&mut self, ledger: &mut Ledger, number: u8, payload: &[u8], is_end: bool) {
        let bytes = packet(number, payload);
        ledger.answer(&bytes, is_end);
        ledger.number = number;
        self.said_total += bytes.len() as u64;
        self.unsaid.extend(bytes);
    }

    fn hear(&mut self, conduit: &mut Conduit, random: &mut Random) {
        match conduit.hear(random.uniform(1, 600) as usize) {
            Some(bytes) if bytes.is_empty() => self.ended = true,
            Some(bytes) => {
                self.heard += bytes.len() as u64;
                self.unread = bytes;
            }
            None => {}
        }
    }

    fn listen(
        &mut self,
        conduit: &mut Conduit,
        locks: &mut Locks,
        ledger: &mut Ledger,
        (now, random): (Nanos, &mut Random),
    ) -> Result<Option<Deed>, String> {
        if self.unread.is_empty() {
            self.hear(conduit, random);
        }
        if matches!(self.phase, Phase::Stream | Phase::Leaving) {
            self.unread.clear();
            return Ok(None);
        }
        let mut rest = &self.unread[..];
        let packet = match self.packets.next(&mut rest) {
            Ok(packet) => packet,
            // Who said what is no packet is left to himself.
            Err(_) if ledger.over => {
                (self.ended, self.unread) = (true, Vec::new());
                return Ok(None);
            }
            Err(error) => return Err(format!("at the server: {error}")),
        };
        self.unread = rest.to_vec();
        let Some((number, payload)) = packet else { return Ok(None) };
        match &self.phase {
            Phase::Login => {
                ledger.read_login(number, &payload)?;
                self.log_in(&payload, ledger, random);
            }
            Phase::Proof { user, login } => {
                let (user, login) = (user.clone(), *login);
                if login {
                    ledger.read_login(number, &payload)?;
                }
                if !login {
                    self.start_again(locks);
                }
                self.proved(ledger, number, user, login);
            }
            Phase::File => {
                ledger.read_file(&payload)?;
                if payload.is_empty() {
                    self.phase = Phase::Ready;
                    let ok = self.ok();
                    self.answer(ledger, number.wrapping_add(1), &ok, true);
                }
            }
            // Packets out of order end a connection.
            _ if number != 0 && ledger.over => self.ended = true,
            _ if number != 0 => {
                return Err(format!("at the server: packet {number} where a command was due"));
            }
            _ => return self.command(&payload, ledger, (now, random)),
        }
        Ok(None)
    }

    fn command(
        &mut self,
        payload: &[u8],
        ledger: &mut Ledger,
        (now, random): (Nanos, &mut Random),
    ) -> Result<Option<Deed>, String> {
        // The guard's own: not the client's to answer for.
        if payload.get(1..) == Some(QUESTION) {
            self.tell_account();
            return Ok(None);
        }
        self.fresh = false;
        if payload == [0x1f] {
            self.in_transaction = false;
            self.phase = Phase::Busy { command: Command::Rollback, since: now, until: now };
            ledger.reset = true;
            return Ok(None);
        }
        if self.is_barred() {
            let said = String::from_utf8_lossy(payload);
            return Ok(Some(Deed::Usurped(format!("{said:?} of {}", self.user))));
        }
        if ledger.over {
            let ok = self.ok();
            self.say(1, &ok);
            return Ok(None);
        }
        if ledger.reset {
            let said = String::from_utf8_lossy(payload);
            return Err(format!("the server read {said:?} behind a reset for a client that is gone"));
        }
        let command = ledger.read(payload)?;
        let command = self.resolved(command);
        match &command {
            Command::Quit | Command::LongQuit => {
                ledger.reasons.server_ends(now);
                self.ended = true;
            }
            Command::LongData(_) => {}
            Command::Close(number) => {
                self.prepared.remove(number);
            }
            Command::ChangeUser(user) if *user != SYSTEM && random.chance(0.4) => {
                self.answer(ledger, 1, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0", false);
                ledger.proof_wanted = true;
                self.phase = Phase::Proof { user: (*user).to_owned(), login: false };
            }
            _ => {
                self.begin(command.clone(), (now, random));
                let at = self.heard - (self.unread.len() + HEADER_BYTES + payload.len()) as u64;
                return Ok(Some(Deed::Works { command, at }));
            }
        }
        Ok(None)
    }

    /// What a prepared statement does; the same where there is none of this number.
    fn resolved(&self, command: Command) -> Command {
        let Command::Execute(number) = command else { return command };
        let number = if number == LAST_PREPARED { self.prepared_total } else { number };
        self.prepared.get(&number).cloned().unwrap_or(command)
    }
}

/// What the server says first.
fn greeting() -> Vec<u8> {
    [
        &b"\x0a10.11.6-model\0\x07\0\0\0abcdefgh\0"[..],
        &[0xfe, 0xf7, 45, 2, 0, 0xff, 0x80, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        b"ijklmnopqrst\0mysql_native_password\0",
    ]
    .concat()
}
