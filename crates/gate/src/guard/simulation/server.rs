//! A model of a database server: accounts, transactions, row locks, named locks, errors. It takes its time.

use super::ledger::Ledger;
use super::pipe::Conduit;
use super::script::{ADMINISTRATOR, Command, ORDINARY, SYSTEM, packet};
use crate::guard::account::QUESTION;
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_wire::packet::PacketReader;
use std::collections::HashMap;

const IN_TRANSACTION: u16 = 1;
const AUTOCOMMIT: u16 = 2;
/// A wait for a lock ends with an error.
const LOCK_WAIT: Nanos = Nanos::from_millis(400);
const REFUSED: &[u8] = b"\xff\xcb\x04#42000no right";
const DENIED: &[u8] = b"\xff\x15\x04#28000denied";

/// What is locked, by whom.
#[derive(Debug, Default)]
pub struct Locks {
    rows: HashMap<u64, usize>,
    names: HashMap<u64, usize>,
}

impl Locks {
    /// Whether a connection holds what others may wait for.
    pub fn holds(&self, who: usize) -> bool {
        self.rows.values().chain(self.names.values()).any(|owner| *owner == who)
    }

    fn drop_rows(&mut self, who: usize) {
        self.rows.retain(|_, owner| *owner != who);
    }

    fn drop_all(&mut self, who: usize) {
        self.drop_rows(who);
        self.names.retain(|_, owner| *owner != who);
    }

    /// Whether the lock that a command wants is its connection's now.
    fn takes(&mut self, who: usize, command: &Command) -> bool {
        match command {
            Command::Update(key) => *self.rows.entry(*key).or_insert(who) == who,
            Command::GetLock(name) => *self.names.entry(*name).or_insert(who) == who,
            _ => true,
        }
    }
}

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
    File,
    Stream,
    Closed,
}

/// What a connection was seen to do, for the judge.
#[derive(Debug, PartialEq)]
pub enum Deed {
    /// It began to work for a command of the client's.
    Works(Command),
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
    user: String,
    in_transaction: bool,
    ended: bool,
}

impl Connection {
    pub fn new(who: usize) -> Self {
        Self {
            who,
            phase: Phase::Greeting,
            packets: PacketReader::new(1 << 20),
            unread: Vec::new(),
            unsaid: Vec::new(),
            user: String::new(),
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
        self.listen(conduit, ledger, (now, random))
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
        ledger: &mut Ledger,
        (now, random): (Nanos, &mut Random),
    ) -> Result<Option<Deed>, String> {
        if self.unread.is_empty() {
            match conduit.hear(random.uniform(1, 600) as usize) {
                Some(bytes) if bytes.is_empty() => self.ended = true,
                Some(bytes) => self.unread = bytes,
                None => {}
            }
        }
        if self.phase == Phase::Stream {
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
        if payload == [0x1f] {
            self.in_transaction = false;
            self.phase = Phase::Busy { command: Command::Rollback, since: now, until: now };
            ledger.over = true;
            return Ok(None);
        }
        if self.user == SYSTEM {
            return Ok(Some(Deed::Usurped(payload.to_vec())));
        }
        if ledger.over {
            let ok = self.ok();
            self.say(1, &ok);
            return Ok(None);
        }
        let command = ledger.read(payload)?;
        match &command {
            Command::Quit => self.ended = true,
            Command::ChangeUser(user) if *user != SYSTEM && random.chance(0.4) => {
                self.answer(ledger, 1, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0", false);
                ledger.proof_wanted = true;
                self.phase = Phase::Proof { user: (*user).to_owned(), login: false };
            }
            _ => {
                let time = Nanos::from_micros(random.uniform(1, 3_000));
                self.phase = Phase::Busy { command: command.clone(), since: now, until: now + time };
                return Ok(Some(Deed::Works(command)));
            }
        }
        Ok(None)
    }

    fn tell_account(&mut self) {
        let how = if self.user == SYSTEM { "VIA unix_socket" } else { "IDENTIFIED BY ''" };
        let row = format!("CREATE USER `{}`@`%` {how}", self.user);
        let row = [&[row.len() as u8][..], row.as_bytes()].concat();
        self.result(&[row], None);
    }

    fn status(&self) -> u16 {
        if self.in_transaction { AUTOCOMMIT | IN_TRANSACTION } else { AUTOCOMMIT }
    }

    fn ok(&self) -> Vec<u8> {
        [&b"\0\0\0"[..], &self.status().to_le_bytes(), b"\0\0"].concat()
    }

    fn eof(&self) -> Vec<u8> {
        [&b"\xfe\0\0"[..], &self.status().to_le_bytes()].concat()
    }

    /// Rows of one column, into the ledger if they are for the client.
    fn result(&mut self, rows: &[Vec<u8>], mut ledger: Option<&mut Ledger>) {
        let eof = self.eof();
        let head = [
            b"\x01".to_vec(),
            b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0".to_vec(),
            eof.clone(),
        ];
        let count = head.len() + rows.len();
        for (index, payload) in head.iter().chain(rows).chain([&eof]).enumerate() {
            let number = (index as u8).wrapping_add(1);
            match &mut ledger {
                Some(ledger) => self.answer(ledger, number, payload, index == count),
                None => self.say(number, payload),
            }
        }
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
            Command::NoDatabase => self.answer(ledger, 1, b"\xff\x19\x04#42000unknown database", true),
            Command::Select(number) => self.result(&[text(number)], Some(ledger)),
            Command::Rows(count) => self.result(&(0..count).map(text).collect::<Vec<_>>(), Some(ledger)),
            Command::GetLock(_) | Command::ReleaseLock(_) | Command::Sleep => {
                if let Command::ReleaseLock(name) = command
                    && locks.names.get(&name) == Some(&self.who)
                {
                    locks.names.remove(&name);
                }
                self.result(&[text(u64::from(locked))], Some(ledger));
            }
            Command::Dump => self.dump(ledger, random),
            Command::Load => {
                ledger.file_wanted = true;
                self.phase = Phase::File;
                self.answer(ledger, 1, b"\xfbx", false);
            }
            Command::ChangeUser(user) => {
                locks.drop_all(self.who);
                self.in_transaction = false;
                self.change_to(ledger, 1, user.to_owned());
            }
            other => self.simple(&other, locks, ledger),
        }
    }

    /// What is answered by OK.
    fn simple(&mut self, command: &Command, locks: &mut Locks, ledger: &mut Ledger) {
        match command {
            Command::Begin => self.in_transaction = true,
            Command::Commit | Command::Rollback => self.in_transaction = false,
            // What looks like a release is one too, where it is evaluated.
            Command::ReleaseAll | Command::Smuggled(1 | 2) => {
                locks.names.retain(|_, owner| *owner != self.who)
            }
            _ => {}
        }
        if !self.in_transaction {
            locks.drop_rows(self.who);
        }
        let ok = self.ok();
        self.answer(ledger, 1, &ok, true);
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
        let code: &[u8] =
            if deadlock { b"\xff\xbd\x04#40001deadlock" } else { b"\xff\xb5\x04#HY000lock wait" };
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
