//! A model of a client: it logs in, says what it likes, ahead too, in pieces too, reads or does not, and leaves as
//! clients do.

use super::ledger::Ledger;
use super::pipe::Conduit;
use super::script::{Command, account, packet};
use evenkeel_core::random::Random;
use evenkeel_wire::packet::PacketReader;

/// Commands of one client before it has had enough.
const COMMANDS_MAX: u32 = 40;
/// Bytes that a dishonest one says ahead of each of its login's packets.
const AHEAD_MAX: u64 = 60_000;
/// Commands of one that floods, how many of them it says ahead, and how many in one breath.
const FLOOD: u32 = 1_500;
const AHEAD_OF_FLOOD: usize = 1_000;
const BREATH: usize = 500;
/// Commands of a lazy one, and how many of them it says ahead before it reads anything.
const LAZY: u32 = 240;
const AHEAD_OF_LAZY: usize = 120;
/// Bytes in one packet of a file.
const FILE_PART_MAX: u64 = 3_000;
/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, CONNECT_WITH_DB, TRANSACTIONS and the like.
const CAPABILITIES: u32 = 1 << 9 | 1 << 15 | 1 << 19 | 1 << 13 | 1 << 3 | 1 << 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    /// It said who it is, and may be asked for a proof.
    Answered,
    In,
    Gone,
}

/// One client of the model.
#[derive(Debug)]
pub struct Client {
    phase: Phase,
    packets: PacketReader,
    unsaid: Vec<u8>,
    /// It reads nothing.
    pub stalled: bool,
    /// It says nothing more.
    pub silent: bool,
    /// It begins nothing new.
    finishes: bool,
    /// It takes locks, and seldom anything else.
    locks: bool,
    /// By prepared statements alone.
    prepares: bool,
    /// It says far more ahead than others.
    floods: bool,
    /// It asks for a lot, and for long reads nothing of it.
    lazy: bool,
    last: Option<Command>,
    /// It stops in the middle of a long command, when so many bytes of it are left.
    stops_at: Option<usize>,
    /// It was told that it is in, at whatever time.
    let_in: bool,
    /// It has heard the end of its session.
    heard_end: bool,
}

impl Client {
    /// One of a crowd of which so many take locks.
    pub fn new(lockers: f64, random: &mut Random) -> Self {
        Self {
            phase: Phase::Greeting,
            packets: PacketReader::new(1 << 20),
            unsaid: Vec::new(),
            stalled: false,
            silent: false,
            finishes: false,
            locks: random.chance(lockers),
            prepares: random.chance(0.3),
            floods: random.chance(0.08),
            lazy: random.chance(0.05),
            last: None,
            stops_at: None,
            let_in: false,
            heard_end: false,
        }
    }

    /// Whether it has heard the end, and not only left.
    pub fn has_heard_end(&self) -> bool {
        self.heard_end
    }

    /// Whether it was ever told that it is in.
    pub fn was_let_in(&self) -> bool {
        self.let_in
    }

    pub fn is_gone(&self) -> bool {
        self.phase == Phase::Gone
    }

    /// Leaves without a word: its machine ends the connection for it.
    pub fn leave(&mut self, conduit: &mut Conduit, resets: bool) {
        self.phase = Phase::Gone;
        conduit.close();
        conduit.broken |= resets;
    }

    /// Does a little; what is wrong with what it heard.
    pub fn act(
        &mut self,
        conduit: &mut Conduit,
        ledger: &mut Ledger,
        random: &mut Random,
    ) -> Result<(), String> {
        if self.is_gone() {
            return Ok(());
        }
        if conduit.broken {
            self.phase = Phase::Gone;
            return Ok(());
        }
        // In pieces, so that half a command is on its way for a while; a dishonest one says all it can.
        let most = if ledger.over || self.floods { AHEAD_MAX } else { random.uniform(1, 900) };
        let left = self.stops_at.unwrap_or_default();
        let piece = self.unsaid.len().saturating_sub(left).min(most as usize);
        let said = conduit.say(&self.unsaid[..piece]);
        self.unsaid.drain(..said);
        if self.stops_at.is_some() && self.unsaid.len() <= left {
            self.stop(conduit, random);
        }
        // Who has just left in the middle of a goodbye hears nothing more.
        if !self.stalled && !self.is_gone() {
            self.listen(conduit, ledger, random)?;
        }
        if self.phase == Phase::In && self.unsaid.is_empty() && !self.silent {
            self.say_more(ledger, random);
        }
        Ok(())
    }

    /// It is in the middle of a long command: some say the rest later, and of those who say goodbye many never do.
    fn stop(&mut self, conduit: &mut Conduit, random: &mut Random) {
        if self.last.as_ref().is_some_and(Command::is_goodbye) {
            self.unsaid.clear();
            self.leave(conduit, false);
        }
        if random.chance(0.05) {
            self.stops_at = None;
        }
    }

    fn listen(
        &mut self,
        conduit: &mut Conduit,
        ledger: &mut Ledger,
        random: &mut Random,
    ) -> Result<(), String> {
        let Some(bytes) = conduit.hear(random.uniform(1, 2_000) as usize) else { return Ok(()) };
        if bytes.is_empty() {
            self.heard_end = true;
            self.leave(conduit, false);
            return Ok(());
        }
        let mut rest = &bytes[..];
        while self.phase != Phase::In && !rest.is_empty() {
            let packet = self.packets.next(&mut rest).map_err(|error| format!("at the client: {error}"))?;
            match packet {
                Some((number, payload)) => {
                    ledger.hear_login(&payload)?;
                    self.log_in(number, &payload, ledger, random);
                }
                None => break,
            }
        }
        ledger.hear(rest)
    }

    fn log_in(&mut self, number: u8, payload: &[u8], ledger: &mut Ledger, random: &mut Random) {
        match (self.phase, payload.first()) {
            // Refused; what follows is the end.
            (_, Some(0xff)) => {}
            (Phase::Greeting, _) => {
                self.phase = Phase::Answered;
                self.unsaid.extend(ledger.say_login(1, &hello(account(random))));
                self.run_ahead(ledger, random);
                // Some do not wait to be told that they are in.
                if !ledger.over && random.chance(0.1) {
                    self.send(Command::Select(7), ledger, random);
                }
            }
            (_, Some(0xfe)) => {
                // A client that ran ahead has no place left for its proof: the server took what came instead.
                ledger.over |= ledger.sent_total() > 0;
                self.unsaid.extend(ledger.say_login(number.wrapping_add(1), b"12345678901234567890"));
                self.run_ahead(ledger, random);
            }
            _ => (self.phase, self.let_in) = (Phase::In, true),
        }
    }

    /// Says a lot before it is its turn, which no honest client does.
    fn run_ahead(&mut self, ledger: &mut Ledger, random: &mut Random) {
        if random.chance(0.05) {
            ledger.over = true;
            self.unsaid.extend(vec![0; random.uniform(1, AHEAD_MAX) as usize]);
        }
    }

    fn say_more(&mut self, ledger: &mut Ledger, random: &mut Random) {
        if ledger.over || ledger.streams || ledger.last_words.is_some() {
            return;
        }
        if !ledger.is_all_heard() && (ledger.proof_wanted || ledger.file_wanted) {
            return;
        }
        if ledger.proof_wanted {
            ledger.proof_wanted = false;
            self.unsaid.extend(packet(ledger.number.wrapping_add(1), b"12345678901234567890"));
            return;
        }
        if ledger.file_wanted {
            self.send_file(ledger, random);
            return;
        }
        let waits = self.last.as_ref().is_some_and(Command::is_alone) && ledger.pending() > 0;
        let most = match () {
            () if self.floods => AHEAD_OF_FLOOD,
            () if self.lazy => AHEAD_OF_LAZY,
            () => random.uniform(0, 4) as usize,
        };
        let ahead = ledger.pending() > most;
        if waits || ahead || self.finishes || random.chance(0.3) {
            return;
        }
        let most = match () {
            () if self.floods => FLOOD,
            () if self.lazy => LAZY,
            () => COMMANDS_MAX,
        };
        let enough = ledger.sent_total() >= most;
        let command = match () {
            () if enough && random.chance(0.3) => Command::LongQuit,
            () if enough => Command::Quit,
            () if self.floods => return self.flood(ledger, random),
            () if self.lazy => Command::Rows(random.uniform(30, 60)),
            () if self.locks && self.prepares => Command::of_preparer(random),
            () if self.locks => Command::of_locker(random),
            () => Command::any(random),
        };
        if command.is_alone() && ledger.pending() > 0 {
            return;
        }
        if random.chance(0.003) {
            return self.babble(ledger);
        }
        self.send(command, ledger, random);
    }

    fn flood(&mut self, ledger: &mut Ledger, random: &mut Random) {
        let command = if random.chance(0.15) { Command::Ping } else { Command::Select(0) };
        for _ in 0..BREATH {
            self.send(command.clone(), ledger, random);
        }
    }

    fn send(&mut self, command: Command, ledger: &mut Ledger, random: &mut Random) {
        // The attack: a change of user in the middle of other commands, with a made-up proof behind it.
        let attack = !self.floods && random.chance(0.02);
        let commands = match attack {
            true => vec![Command::NoDatabase, Command::ChangeUser(super::script::SYSTEM), Command::Select(1)],
            false => vec![command],
        };
        if (self.floods || self.lazy) && self.last.is_none() {
            self.stalled = true;
        }
        for command in commands {
            let stops = command.is_long() && random.chance(0.5);
            self.last = Some(command.clone());
            let payload = ledger.send(command);
            self.stops_at = stops.then_some(payload.len() / 2);
            self.unsaid.extend(packet(0, &payload));
        }
    }

    /// Says what is no packet, while it may be waiting for an answer.
    fn babble(&mut self, ledger: &mut Ledger) {
        ledger.over = true;
        self.unsaid.extend([1, 0, 0, 7, 3]);
    }

    fn send_file(&mut self, ledger: &mut Ledger, random: &mut Random) {
        ledger.file_wanted = false;
        let mut number = ledger.number.wrapping_add(1);
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for _ in 0..random.uniform(0, 3) {
            let (byte, length) = (random.uniform(0, 255) as u8, random.uniform(1, FILE_PART_MAX) as usize);
            parts.push(vec![byte; length]);
        }
        parts.push(Vec::new());
        for part in parts {
            ledger.send_file(&part);
            self.unsaid.extend(packet(number, &part));
            number = number.wrapping_add(1);
        }
    }

    /// Waits for nothing any more: says goodbye as soon as nothing of it is under way.
    pub fn finish(&mut self, ledger: &mut Ledger) {
        (self.stalled, self.silent, self.finishes, self.stops_at) = (false, false, true, None);
        let at_rest = self.unsaid.is_empty() && !ledger.file_wanted && !ledger.proof_wanted;
        let at_rest = at_rest && ledger.last_words.is_none();
        let goes = self.last.as_ref().is_some_and(Command::is_goodbye);
        if self.phase == Phase::In && at_rest && !goes && !ledger.is_answer_due() {
            self.last = Some(Command::Quit);
            self.unsaid.extend(packet(0, &ledger.send(Command::Quit)));
        }
    }
}

fn hello(user: &str) -> Vec<u8> {
    let mut out = CAPABILITIES.to_le_bytes().to_vec();
    out.extend_from_slice(&[0, 0, 0, 64, 45]);
    out.extend_from_slice(&[0; 23]);
    out.extend_from_slice(user.as_bytes());
    out.extend_from_slice(b"\0\0shop\0mysql_native_password\0");
    out
}
