//! What a connection of the model does for a command, and how it answers.

use super::super::ledger::Ledger;
use super::super::locks::{Locks, Solid};
use super::super::script::{BOUND, Command, SYSTEM};
use super::{Connection, Phase};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;

const IN_TRANSACTION: u16 = 1;
const AUTOCOMMIT: u16 = 2;
const MORE_RESULTS: u16 = 8;
/// Bytes of each of many rows: a client that does not read them soon has far more to come than it was sent.
const ROW: usize = 200;
/// A statement that takes long takes so many milliseconds at most.
const LONG_MAX_MS: u64 = 400;
/// Rows of the first result of two.
const FIRST_OF_TWO: u64 = 20;
/// A wait for a lock ends with an error.
const LOCK_WAIT: Nanos = Nanos::from_millis(400);
const LOCK_WAIT_ENDED: &[u8] = b"\xff\xb5\x04#HY000lock wait";
/// What does not go while a transaction of somebody else's is attached, or where there is none.
const XA_STATE: &[u8] = b"\xff\x77\x05#XAE07wrong state";
const REFUSED: &[u8] = b"\xff\xcb\x04#42000no right";
/// A definition of a column.
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";

impl Connection {
    pub(super) fn tell_account(&mut self) {
        let how = if self.user == SYSTEM { "VIA unix_socket" } else { "IDENTIFIED BY ''" };
        let host = if self.user == BOUND { "10.1.2.3" } else { "%" };
        let row = format!("CREATE USER `{}`@`{host}` {how}", self.user);
        let row = [&[row.len() as u8][..], row.as_bytes()].concat();
        self.result((1, 0), &[row], None);
    }

    fn status(&self) -> u16 {
        if self.in_transaction { AUTOCOMMIT | IN_TRANSACTION } else { AUTOCOMMIT }
    }

    pub(super) fn ok(&self) -> Vec<u8> {
        [&b"\0\0\0"[..], &self.status().to_le_bytes(), b"\0\0"].concat()
    }

    /// Rows of one column, into the ledger if they are for the client. The first packet has the number `from`, and
    /// `flags` are those of the status that the session's state does not have; the number behind the last packet.
    fn result(&mut self, (from, flags): (u8, u16), rows: &[Vec<u8>], mut ledger: Option<&mut Ledger>) -> u8 {
        self.doubtful = false;
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

    /// Begins to work, which mostly takes little time.
    pub(super) fn begin(&mut self, command: Command, (now, random): (Nanos, &mut Random)) {
        let time = match random.chance(0.03) {
            true => Nanos::from_millis(random.uniform(1, LONG_MAX_MS)),
            false => Nanos::from_micros(random.uniform(1, 3_000)),
        };
        self.phase = Phase::Busy { command, since: now, until: now + time };
    }

    pub(super) fn work(
        &mut self,
        locks: &mut Locks,
        ledger: &mut Ledger,
        (now, random): (Nanos, &mut Random),
    ) {
        let Phase::Busy { command, since, until } = &self.phase else { return };
        let (command, since, until) = (command.clone(), *since, *until);
        let locked = locks.takes(self.who, &command);
        if now < until || !locked && now - since < LOCK_WAIT {
            return;
        }
        self.phase = Phase::Ready;
        if ledger.over || ledger.reset {
            // The reset of the guard's own; only its answer is due.
            locks.drop_all(self.who);
            let ok = self.ok();
            return self.say(1, &ok);
        }
        match command {
            ref barred if self.is_barred_by_xa(barred, locks) => self.bar(barred, ledger),
            Command::Update(_) if !locked || random.chance(0.03) => self.fail(locks, ledger, random),
            Command::LockTables if !locked => self.answer(ledger, 1, LOCK_WAIT_ENDED, true),
            Command::SecondOfTwo(_) if !locked => {
                self.answer(ledger, self.next_number, LOCK_WAIT_ENDED, true);
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
                let rows = self.rows(&Command::Rows(FIRST_OF_TWO), locked, locks);
                self.next_number = self.result((1, MORE_RESULTS), &rows, Some(ledger));
                self.begin(Command::SecondOfTwo(name), (now, random));
            }
            Command::SecondOfTwo(name) => {
                locks.count(name);
                self.result((self.next_number, 0), &[text(1)], Some(ledger));
            }
            Command::LockThenXa(name) => self.lock_then_xa((name, locked), locks, ledger, random),
            other => self.simple(other, locks, ledger),
        }
    }

    /// Whether a transaction that somebody else coordinates is in its way, or its absence.
    fn is_barred_by_xa(&self, command: &Command, locks: &Locks) -> bool {
        let attached = locks.has(Solid::Xa, self.who);
        match command {
            Command::Begin | Command::Commit | Command::Rollback | Command::LockTables => attached,
            Command::XaStart => attached || self.in_transaction,
            Command::XaPrepare | Command::XaRollback | Command::XaRollbackUnseen => !attached,
            _ => false,
        }
    }

    /// Whoever cannot read the command does not know what was done before the error.
    fn bar(&mut self, command: &Command, ledger: &mut Ledger) {
        self.doubtful |= *command == Command::XaRollbackUnseen;
        self.answer(ledger, 1, XA_STATE, true);
    }

    /// Takes the name, if it can; what it begins then may be refused, and the name stays.
    fn lock_then_xa(
        &mut self,
        (name, locked): (u64, bool),
        locks: &mut Locks,
        ledger: &mut Ledger,
        random: &mut Random,
    ) {
        if locked {
            locks.count(name);
        }
        let number = self.result((1, MORE_RESULTS), &[text(u64::from(locked))], Some(ledger));
        if self.is_barred_by_xa(&Command::XaStart, locks) || random.chance(0.5) {
            return self.answer(ledger, number, XA_STATE, true);
        }
        self.start_xa(locks);
        let ok = self.ok();
        self.answer(ledger, number, &ok, true);
    }

    fn start_xa(&mut self, locks: &mut Locks) {
        locks.set(Solid::Xa, self.who, true);
        self.in_transaction = true;
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
    pub(super) fn start_again(&mut self, locks: &mut Locks) {
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
                self.doubtful = true;
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
            Command::UnlockTables => {
                locks.drop_tables(self.who);
                locks.set(Solid::Global, self.who, false);
            }
            Command::LockGlobal => locks.set(Solid::Global, self.who, true),
            Command::LockBackup => locks.set(Solid::Backup, self.who, true),
            Command::UnlockBackup => locks.set(Solid::Backup, self.who, false),
            Command::XaStart => self.start_xa(locks),
            // It stays attached, and the flag of an open transaction with it.
            Command::XaPrepare => {}
            Command::XaRollback | Command::XaRollbackUnseen => {
                locks.set(Solid::Xa, self.who, false);
                self.in_transaction = false;
            }
            Command::OpenHandler => locks.open_handler(self.who),
            Command::Reset => self.start_again(locks),
            // What looks like a release is one too, where it is evaluated.
            Command::ReleaseAll | Command::Smuggled(1 | 2) => locks.drop_names(self.who),
            _ => {}
        }
        if !self.in_transaction && !locks.has(Solid::Xa, self.who) {
            locks.drop_rows(self.who);
        }
        self.doubtful = false;
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
        let deadlock = random.chance(0.5) && !locks.has(Solid::Xa, self.who);
        if deadlock {
            self.in_transaction = false;
        }
        if !self.in_transaction && !locks.has(Solid::Xa, self.who) {
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
