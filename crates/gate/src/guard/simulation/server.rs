//! A model of a database server: accounts, transactions, row locks, named locks, errors. It takes its time.

use super::ledger::Ledger;
use super::locks::Locks;
use super::pipe::Conduit;
use super::script::{ADMINISTRATOR, Command, LAST_PREPARED, ORDINARY, SYSTEM, packet};
use crate::guard::account::QUESTION;
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_wire::packet::{HEADER_BYTES, PacketReader};
use std::collections::BTreeMap;

const IN_TRANSACTION: u16 = 1;
const AUTOCOMMIT: u16 = 2;
const MORE_RESULTS: u16 = 8;
/// Bytes of each of many rows: a client that does not read them soon has far more to come than it was sent.
const ROW: usize = 200;
/// A wait for a lock ends with an error.
const LOCK_WAIT: Nanos = Nanos::from_millis(400);
const LOCK_WAIT_ENDED: &[u8] = b"\xff\xb5\x04#HY000lock wait";
const REFUSED: &[u8] = b"\xff\xcb\x04#42000no right";
/// A definition of a column.
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
const DENIED: &[u8] = b"\xff\x15\x04#28000denied";

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
    /// It obeyed a client as the account of the system.
    Usurped(Vec<u8>),
    /// It closed.
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
    /// The account of the system is only somebody else where the server sees the client's own system.
    trusts_socket: bool,
    prepared: BTreeMap<u32, Command>,
    /// Statements that were prepared, which is the number of the last.
    prepared_total: u32,
    in_transaction: bool,
    ended: bool,
}

impl Connection {
    /// One that `trusts_socket` takes the guard's system user for the client's.
    pub fn new(who: usize, trusts_socket: bool) -> Self {
        Self {
            who,
            phase: Phase::Greeting,
            packets: PacketReader::new(1 << 20),
            unread: Vec::new(),
            unsaid: Vec::new(),
            heard: 0,
            user: String::new(),
            first_user: String::new(),
            trusts_socket,
            prepared: BTreeMap::new(),
            prepared_total: 0,
            in_transaction: false,
            ended: false,
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

    /// Says out of turn why it will end, and ends.
    pub fn say_farewell(&mut self, ledger: &mut Ledger) {
        if self.phase == Phase::Ready && !self.ended {
            self.answer(ledger, 0, b"\xff\x87\x07#70100killed", false);
            self.ended = true;
        }
    }

    /// Ends at once, in the middle of whatever it says or does.
    pub fn crash(&mut self, conduit: &mut Conduit, locks: &mut Locks) {
        if !self.is_closed() {
            self.close(conduit, locks);
        }
    }

    /// Says no more, and goes on listening until the other side ends.
    pub fn half_close(&mut self, conduit: &mut Conduit, locks: &mut Locks) {
        if matches!(self.phase, Phase::Ready | Phase::File) {
            locks.drop_all(self.who);
            self.unsaid.clear();
            self.phase = Phase::Leaving;
            conduit.end();
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
        if let Phase::Busy { .. } = self.phase {
            self.work(locks, ledger, (now, random));
            return Ok(None);
        }
        if conduit.broken || conduit.vanished.is_some() || self.ended && self.unsaid.is_empty() {
            return Ok(Some(self.close(conduit, locks)));
        }
        if self.phase == Phase::Greeting {
            self.say(0, &greeting());
            self.phase = Phase::Login;
            return Ok(None);
        }
        self.listen(conduit, locks, ledger, (now, random))
    }

    fn close(&mut self, conduit: &mut Conduit, locks: &mut Locks) -> Deed {
        locks.drop_all(self.who);
        self.phase = Phase::Closed;
        conduit.close();
        Deed::Closed
    }

    fn say(&mut self, number: u8, payload: &[u8]) {
        self.unsaid.extend(packet(number, payload));
    }

    /// Says something that the client is to hear byte for byte.
    fn answer(&mut self, ledger: &mut Ledger, number: u8, payload: &[u8], is_end: bool) {
        let bytes = packet(number, payload);
        ledger.answer(&bytes, is_end);
        ledger.number = number;
        self.unsaid.extend(bytes);
    }

    fn listen(
        &mut self,
        conduit: &mut Conduit,
        locks: &mut Locks,
        ledger: &mut Ledger,
        (now, random): (Nanos, &mut Random),
    ) -> Result<Option<Deed>, String> {
        if self.unread.is_empty() {
            match conduit.hear(random.uniform(1, 600) as usize) {
                Some(bytes) if bytes.is_empty() => self.ended = true,
                Some(bytes) => {
                    self.heard += bytes.len() as u64;
                    self.unread = bytes;
                }
                None => {}
            }
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
            Phase::Login => self.log_in(&payload, random),
            Phase::Proof { user, login } => {
                let (user, login) = (user.clone(), *login);
                if !login {
                    self.start_again(locks);
                }
                self.proved(ledger, number, user, login);
            }
            Phase::File if payload.is_empty() => {
                self.phase = Phase::Ready;
                let ok = self.ok();
                self.answer(ledger, number.wrapping_add(1), &ok, true);
            }
            Phase::File => {}
            _ if number != 0 => {
                // Packets out of order end a connection.
                ledger.over = true;
                self.ended = true;
            }
            _ => return self.command(&payload, ledger, (now, random)),
        }
        Ok(None)
    }

    fn log_in(&mut self, payload: &[u8], random: &mut Random) {
        let user = payload.get(32..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
        let user = String::from_utf8_lossy(user).into_owned();
        if random.chance(0.3) {
            self.say(2, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0");
            self.phase = Phase::Proof { user, login: true };
        } else {
            self.judge(2, user);
        }
    }

    fn judge(&mut self, number: u8, user: String) {
        if [ORDINARY, SYSTEM, ADMINISTRATOR].contains(&user.as_str()) {
            self.first_user.clone_from(&user);
            self.user = user;
            self.phase = Phase::Ready;
            let ok = self.ok();
            self.say(number, &ok);
        } else {
            self.say(number, DENIED);
            self.ended = true;
        }
    }

    fn proved(&mut self, ledger: &mut Ledger, number: u8, user: String, login: bool) {
        if login {
            return self.judge(number.wrapping_add(1), user);
        }
        ledger.proof_wanted = false;
        self.change_to(ledger, number.wrapping_add(1), user);
    }

    fn change_to(&mut self, ledger: &mut Ledger, number: u8, user: String) {
        let known = [ORDINARY, SYSTEM, ADMINISTRATOR].contains(&user.as_str());
        self.phase = Phase::Ready;
        if known {
            self.user = user;
            let ok = self.ok();
            return self.answer(ledger, number, &ok, true);
        }
        self.answer(ledger, number, DENIED, true);
        self.ended = true;
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
        if payload == [0x1f] && (ledger.over || !ledger.is_next(&Command::Reset)) {
            self.in_transaction = false;
            self.phase = Phase::Busy { command: Command::Rollback, since: now, until: now };
            ledger.over = true;
            return Ok(None);
        }
        if self.user == SYSTEM && self.trusts_socket {
            return Ok(Some(Deed::Usurped(payload.to_vec())));
        }
        if ledger.over {
            let ok = self.ok();
            self.say(1, &ok);
            return Ok(None);
        }
        let command = ledger.read(payload)?;
        let command = self.resolved(command);
        match &command {
            Command::Quit => self.ended = true,
            Command::Close(number) => {
                self.prepared.remove(number);
            }
            Command::ChangeUser(user) if *user != SYSTEM && random.chance(0.4) => {
                self.answer(ledger, 1, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0", false);
                ledger.proof_wanted = true;
                self.phase = Phase::Proof { user: (*user).to_owned(), login: false };
            }
            _ => {
                let time = Nanos::from_micros(random.uniform(1, 3_000));
                self.phase = Phase::Busy { command: command.clone(), since: now, until: now + time };
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

    fn tell_account(&mut self) {
        let how = if self.user == SYSTEM { "VIA unix_socket" } else { "IDENTIFIED BY ''" };
        let row = format!("CREATE USER `{}`@`%` {how}", self.user);
        let row = [&[row.len() as u8][..], row.as_bytes()].concat();
        self.result((1, 0), &[row], None);
    }

    fn status(&self) -> u16 {
        if self.in_transaction { AUTOCOMMIT | IN_TRANSACTION } else { AUTOCOMMIT }
    }

    fn ok(&self) -> Vec<u8> {
        [&b"\0\0\0"[..], &self.status().to_le_bytes(), b"\0\0"].concat()
    }

    /// Rows of one column, into the ledger if they are for the client. The first packet has the number `from`, and
    /// `flags` are those of the status that the session's state does not have; the number behind the last packet.
    fn result(&mut self, (from, flags): (u8, u16), rows: &[Vec<u8>], mut ledger: Option<&mut Ledger>) -> u8 {
        let eof = [&b"\xfe\0\0"[..], &(self.status() | flags).to_le_bytes()].concat();
        let head = [b"\x01".to_vec(), COLUMN.to_vec(), eof.clone()];
        let count = head.len() + rows.len();
        let mut number = from;
        for (index, payload) in head.iter().chain(rows).chain([&eof]).enumerate() {
            match &mut ledger {
                Some(ledger) => {
                    self.answer(ledger, number, payload, index == count && flags & MORE_RESULTS == 0)
                }
                None => self.say(number, payload),
            }
            number = number.wrapping_add(1);
        }
        number
    }

    fn work(&mut self, locks: &mut Locks, ledger: &mut Ledger, (now, random): (Nanos, &mut Random)) {
        let Phase::Busy { command, since, until } = &self.phase else { return };
        let (command, since, until) = (command.clone(), *since, *until);
        let locked = locks.takes(self.who, &command);
        if now < until || !locked && now - since < LOCK_WAIT {
            return;
        }
        self.phase = Phase::Ready;
        if ledger.over {
            // The reset of the guard's own; only its answer is due.
            locks.drop_all(self.who);
            let ok = self.ok();
            return self.say(1, &ok);
        }
        match command {
            Command::Update(_) if !locked || random.chance(0.03) => self.fail(locks, ledger, random),
            Command::LockTables if !locked => self.answer(ledger, 1, LOCK_WAIT_ENDED, true),
            Command::Two(_) if !locked => {
                let number = self.result((1, MORE_RESULTS), &[text(1)], Some(ledger));
                self.answer(ledger, number, LOCK_WAIT_ENDED, true);
            }
            Command::Dump => self.dump(ledger, random),
            Command::Load => {
                ledger.file_wanted = true;
                self.phase = Phase::File;
                self.answer(ledger, 1, b"\xfbx", false);
            }
            Command::ChangeUser(user) => {
                self.start_again(locks);
                self.change_to(ledger, 1, user.to_owned());
            }
            Command::Select(_)
            | Command::Rows(_)
            | Command::GetLock(_)
            | Command::ReleaseLock(_)
            | Command::Sleep => {
                let rows = self.rows(&command, locked, locks);
                self.result((1, 0), &rows, Some(ledger));
            }
            Command::Two(name) => {
                locks.count(name);
                let number = self.result((1, MORE_RESULTS), &[text(1)], Some(ledger));
                self.result((number, 0), &[text(1)], Some(ledger));
            }
            other => self.simple(other, locks, ledger),
        }
    }

    fn rows(&self, command: &Command, locked: bool, locks: &mut Locks) -> Vec<Vec<u8>> {
        match command {
            Command::Select(number) => vec![text(*number)],
            Command::Rows(count) => vec![[&[ROW as u8][..], &[b'r'; ROW]].concat(); *count as usize],
            Command::GetLock(name) => {
                if locked {
                    locks.count(*name);
                }
                vec![text(u64::from(locked))]
            }
            Command::ReleaseLock(name) => vec![text(u64::from(locks.release(self.who, *name)))],
            _ => vec![text(0)],
        }
    }

    /// Back to the state after a login.
    fn start_again(&mut self, locks: &mut Locks) {
        locks.drop_all(self.who);
        self.prepared.clear();
        self.in_transaction = false;
    }

    /// What is answered by one packet.
    fn simple(&mut self, command: Command, locks: &mut Locks, ledger: &mut Ledger) {
        match command {
            Command::NoDatabase => {
                return self.answer(ledger, 1, b"\xff\x19\x04#42000unknown database", true);
            }
            Command::Execute(_) => {
                return self.answer(ledger, 1, b"\xff\xdb\x04#HY000no such statement", true);
            }
            Command::CloseHandler if !locks.close_handler(self.who) => {
                return self.answer(ledger, 1, b"\xff\x55\x04#42S02no such handler", true);
            }
            Command::Prepare(of) => return self.prepare(*of, ledger),
            Command::Begin => {
                locks.drop_tables(self.who);
                locks.drop_rows(self.who);
                self.in_transaction = true;
            }
            Command::LockTables | Command::Commit | Command::Rollback => self.in_transaction = false,
            Command::UnlockTables => locks.drop_tables(self.who),
            Command::OpenHandler => locks.open_handler(self.who),
            Command::Reset => self.start_again(locks),
            // What looks like a release is one too, where it is evaluated.
            Command::ReleaseAll | Command::Smuggled(1 | 2) => locks.drop_names(self.who),
            _ => {}
        }
        if !self.in_transaction {
            locks.drop_rows(self.who);
        }
        let ok = self.ok();
        self.answer(ledger, 1, &ok, true);
    }

    fn prepare(&mut self, of: Command, ledger: &mut Ledger) {
        self.prepared_total += 1;
        self.prepared.insert(self.prepared_total, of);
        let told = [&b"\0"[..], &self.prepared_total.to_le_bytes(), &[0; 7]].concat();
        self.answer(ledger, 1, &told, true);
    }

    /// A lock wait that took too long leaves the transaction open, a deadlock ends it.
    fn fail(&mut self, locks: &mut Locks, ledger: &mut Ledger, random: &mut Random) {
        let deadlock = random.chance(0.5);
        if deadlock {
            self.in_transaction = false;
        }
        if !self.in_transaction {
            locks.drop_rows(self.who);
        }
        let code: &[u8] = if deadlock { b"\xff\xbd\x04#40001deadlock" } else { LOCK_WAIT_ENDED };
        self.answer(ledger, 1, code, true);
    }

    fn dump(&mut self, ledger: &mut Ledger, random: &mut Random) {
        if random.chance(0.7) {
            return self.answer(ledger, 1, REFUSED, true);
        }
        ledger.streams = true;
        self.phase = Phase::Stream;
        for number in 1..4 {
            self.answer(ledger, number, b"\0an event of the binary log", false);
        }
    }
}

fn text(number: u64) -> Vec<u8> {
    let text = number.to_string();
    [&[text.len() as u8][..], text.as_bytes()].concat()
}

fn greeting() -> Vec<u8> {
    [
        &b"\x0a10.11.6-model\0\x07\0\0\0abcdefgh\0"[..],
        &[0xfe, 0xf7, 45, 2, 0, 0xff, 0x80, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        b"ijklmnopqrst\0mysql_native_password\0",
    ]
    .concat()
}
