//! A model of a database server: transactions, row locks, named locks, errors. It takes its time.

use super::ledger::Ledger;
use super::locks::Locks;
use super::pipe::Conduit;
use super::script::{ADMINISTRATOR, Command, packet};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_guard::proxy::parts::QUESTION;
use evenkeel_wire::packet::PacketReader;

const IN_TRANSACTION: u16 = 1;
const AUTOCOMMIT: u16 = 2;
const MORE_RESULTS: u16 = 8;
/// Bytes of each of many rows: a client that does not read them soon has far more to come than it was sent.
const ROW: usize = 200;
/// A statement that takes long takes so many milliseconds at most.
const LONG_MAX_MS: u64 = 400;
/// A wait for a lock ends with an error.
const LOCK_WAIT: Nanos = Nanos::from_millis(400);
const LOCK_WAIT_ENDED: &[u8] = b"\xff\xb5\x04#HY000lock wait";
const DEADLOCK: &[u8] = b"\xff\xbd\x04#40001deadlock";
const INTERRUPTED: &[u8] = b"\xff\x25\x05#70100interrupted";
const NOT_OWNER: &[u8] = b"\xff\x47\x04#HY000not the owner";
const NO_DATABASE: &[u8] = b"\xff\x19\x04#42000unknown database";
/// By this the guard keeps a server awake. Statements that clients close here have other numbers.
const KEEPS_AWAKE: [u8; 5] = [0x19, 0, 0, 0, 0];
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
/// In front of the number of the connection, and behind it.
const GREETING: [&[u8]; 2] = [
    b"\x0a10.11.6-model\0",
    b"abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x80\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0",
];

#[derive(Debug, PartialEq)]
enum Phase {
    Greeting,
    Login,
    Ready,
    Busy { command: Command, since: Nanos, until: Nanos },
    File,
    Closed,
}

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
    interrupted: bool,
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
            interrupted: false,
        }
    }

    /// Somebody has killed it, or the statement that it works for.
    pub fn kill(&mut self, connection: bool, ledger: &mut Ledger) {
        use Command::{Rows, Select, Sleep, Two, Update};
        match &self.phase {
            Phase::Greeting | Phase::Login | Phase::Closed => {}
            _ if connection => {
                ledger.server_ends.get_or_insert(ledger.now);
                (self.phase, self.ended) = (Phase::Ready, true);
            }
            Phase::Busy { command: Rows(_) | Select(_) | Sleep | Two | Update(_), .. } => {
                self.interrupted = true
            }
            Phase::Busy { .. } => {}
            _ => ledger.kills += 1,
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

    /// The account that it obeys, which is nobody's before a login.
    pub fn user(&self) -> &str {
        &self.user
    }

    pub fn is_in_transaction(&self) -> bool {
        self.in_transaction
    }

    pub fn works_for(&self) -> Option<&Command> {
        match &self.phase {
            Phase::Busy { command, .. } if command.is_work() => Some(command),
            _ => None,
        }
    }

    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Busy { .. })
    }

    /// Does a little: the command that it begins to work for, or what is wrong with what it was told.
    pub fn act(
        &mut self,
        conduit: &mut Conduit,
        locks: &mut Locks,
        ledger: &mut Ledger,
        random: &mut Random,
    ) -> Result<Option<Command>, String> {
        if self.is_closed() {
            return Ok(None);
        }
        let said = conduit.say(&self.unsaid);
        self.unsaid.drain(..said);
        if self.is_busy() {
            self.work(locks, ledger, random);
            return Ok(None);
        }
        if conduit.broken || conduit.vanished.is_some() || self.ended && self.unsaid.is_empty() {
            locks.drop_all(self.who);
            self.phase = Phase::Closed;
            conduit.close();
            return Ok(None);
        }
        if self.phase == Phase::Greeting {
            self.say(0, &GREETING.join(&(self.who as u32).to_le_bytes()[..]));
            self.phase = Phase::Login;
            return Ok(None);
        }
        // Who has heard the end only waits until all of his own is out.
        if self.ended {
            return Ok(None);
        }
        self.listen(conduit, ledger, random)
    }

    /// Says something that is not the client's to compare.
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
        random: &mut Random,
    ) -> Result<Option<Command>, String> {
        if self.unread.is_empty() {
            match conduit.hear(random.uniform(1, 600) as usize) {
                Some(bytes) if bytes.is_empty() => self.ended = true,
                Some(bytes) => self.unread = bytes,
                None => {}
            }
        }
        let mut rest = &self.unread[..];
        let packet = self.packets.next(&mut rest).map_err(|error| format!("at the server: {error}"))?;
        self.unread = rest.to_vec();
        let Some((number, payload)) = packet else { return Ok(None) };
        match &self.phase {
            Phase::Login => {
                let user = payload.get(32..).unwrap_or_default().split(|byte| *byte == 0).next();
                self.user = String::from_utf8_lossy(user.unwrap_or_default()).into_owned();
                self.phase = Phase::Ready;
                let ok = self.ok();
                self.say(2, &ok);
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
            _ if number != 0 && ledger.babbled => self.ended = true,
            _ if number != 0 => {
                return Err(format!("at the server: packet {number} where a command was due"));
            }
            _ => return self.command(&payload, ledger, random),
        }
        Ok(None)
    }

    fn command(
        &mut self,
        payload: &[u8],
        ledger: &mut Ledger,
        random: &mut Random,
    ) -> Result<Option<Command>, String> {
        // The guard's own: not the client's to answer for.
        if payload.get(1..) == Some(QUESTION) {
            let row = format!("CREATE USER `{}`@`%` IDENTIFIED BY ''", self.user);
            let row = [&[row.len() as u8][..], row.as_bytes()].concat();
            self.result((1, 0), &[row], None);
            return Ok(None);
        }
        let now = ledger.now;
        if payload == [0x1f] {
            self.in_transaction = false;
            self.phase = Phase::Busy { command: Command::Commit, since: now, until: now };
            ledger.reset = true;
            return Ok(None);
        }
        if payload == KEEPS_AWAKE {
            return match self.in_transaction || ledger.reset {
                true => Err("a session was kept awake that had no place in the queue".into()),
                false => Ok(None),
            };
        }
        if ledger.reset {
            let said = String::from_utf8_lossy(payload);
            return Err(format!("the server read {said:?} behind a reset for a client that is gone"));
        }
        let command = ledger.read(payload)?;
        match command {
            Command::Quit => {
                ledger.server_ends.get_or_insert(now);
                self.ended = true;
                Ok(None)
            }
            Command::Close => Ok(None),
            command => {
                // Most takes little time.
                let time = match random.chance(0.03) {
                    true => Nanos::from_millis(random.uniform(1, LONG_MAX_MS)),
                    false => Nanos::from_micros(random.uniform(1, 3_000)),
                };
                self.phase = Phase::Busy { command: command.clone(), since: now, until: now + time };
                Ok(Some(command))
            }
        }
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

    fn work(&mut self, locks: &mut Locks, ledger: &mut Ledger, random: &mut Random) {
        let Phase::Busy { command, since, until } = &self.phase else { return };
        let (command, since, until, now) = (command.clone(), *since, *until, ledger.now);
        let locked = locks.takes(self.who, &command);
        let interrupted = std::mem::take(&mut self.interrupted);
        if !interrupted && (now < until || !locked && now - since < LOCK_WAIT) {
            return;
        }
        self.phase = Phase::Ready;
        if ledger.reset {
            // The reset of the guard's own; only its answer is due.
            locks.drop_all(self.who);
            let ok = self.ok();
            return self.say(1, &ok);
        }
        if interrupted {
            return self.fail(locks, ledger, INTERRUPTED);
        }
        match command {
            Command::Kill(..) if random.chance(0.3) => self.answer(ledger, 1, NOT_OWNER, true),
            Command::Update(_) if !locked || random.chance(0.03) => {
                let deadlock = random.chance(0.5);
                self.in_transaction &= !deadlock;
                self.fail(locks, ledger, if deadlock { DEADLOCK } else { LOCK_WAIT_ENDED });
            }
            Command::Load => {
                ledger.file_wanted = true;
                self.phase = Phase::File;
                self.answer(ledger, 1, b"\xfbx", false);
            }
            Command::Two => {
                let number = self.result((1, MORE_RESULTS), &many(20), Some(ledger));
                self.result((number, 0), &[text(1)], Some(ledger));
            }
            Command::Rows(count) => {
                self.result((1, 0), &many(count), Some(ledger));
            }
            Command::ReleaseLock(name) => {
                let owned = locks.names.get(&name) == Some(&self.who);
                if owned {
                    locks.names.remove(&name);
                }
                self.result((1, 0), &[text(u64::from(owned))], Some(ledger));
            }
            Command::Bare => {
                self.result((1, 0), &[text(1)], Some(ledger));
            }
            Command::Select(number) => {
                self.result((1, 0), &[text(number)], Some(ledger));
            }
            Command::GetLock(_) | Command::Sleep => {
                self.result((1, 0), &[text(u64::from(locked))], Some(ledger));
            }
            other => self.simple(other, locks, ledger),
        }
    }

    fn simple(&mut self, command: Command, locks: &mut Locks, ledger: &mut Ledger) {
        match command {
            Command::NoDatabase => return self.answer(ledger, 1, NO_DATABASE, true),
            Command::Begin => {
                locks.drop_rows(self.who);
                self.in_transaction = true;
            }
            Command::Commit => self.in_transaction = false,
            Command::Kill(number, connection) => locks.killed = Some((number, connection)),
            Command::ChangeUser(user) => {
                locks.drop_all(self.who);
                self.in_transaction = false;
                self.user = user.to_owned();
            }
            _ => {}
        }
        if !self.in_transaction {
            locks.drop_rows(self.who);
        }
        let ok = self.ok();
        self.answer(ledger, 1, &ok, true);
    }

    /// A lock wait that took too long, or a KILL, leaves the transaction open; a deadlock has ended it.
    fn fail(&mut self, locks: &mut Locks, ledger: &mut Ledger, error: &[u8]) {
        if !self.in_transaction {
            locks.drop_rows(self.who);
        }
        self.answer(ledger, 1, error, true);
    }
}

fn text(number: u64) -> Vec<u8> {
    let text = number.to_string();
    [&[text.len() as u8][..], text.as_bytes()].concat()
}

fn many(rows: u64) -> Vec<Vec<u8>> {
    vec![[&[ROW as u8][..], &[b'r'; ROW]].concat(); rows as usize]
}
