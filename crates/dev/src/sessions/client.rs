//! A model of a client: it logs in, says what it likes, ahead too, in pieces too, reads or does not, and leaves as
//! clients do.

use super::ledger::Ledger;
use super::pipe::Conduit;
use super::script::{Command, account, packet};
use evenkeel_core::random::Random;
use evenkeel_wire::packet::PacketReader;

/// Commands of one client before it has had enough.
const COMMANDS_MAX: u32 = 40;
/// Commands of one that floods, how many of them it says ahead, and how many in one breath.
const FLOOD: u32 = 1_500;
const AHEAD_OF_FLOOD: usize = 1_000;
const BREATH: usize = 500;
const FILE_PART_MAX: u64 = 10_000;
/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, CONNECT_WITH_DB, TRANSACTIONS and the like.
const CAPABILITIES: u32 = 1 << 9 | 1 << 15 | 1 << 19 | 1 << 13 | 1 << 3 | 1 << 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    /// It said who it is.
    Answered,
    In,
    Gone,
}

#[derive(Debug)]
pub struct Client {
    phase: Phase,
    packets: PacketReader,
    unsaid: Vec<u8>,
    pub stalled: bool,
    pub silent: bool,
    finishes: bool,
    /// It says far more ahead than others.
    floods: bool,
    last: Option<Command>,
    /// It was told that it is in, at whatever time.
    let_in: bool,
    heard_end: bool,
}

impl Client {
    pub fn new(random: &mut Random) -> Self {
        Self {
            phase: Phase::Greeting,
            packets: PacketReader::new(1 << 20),
            unsaid: Vec::new(),
            stalled: false,
            silent: false,
            finishes: false,
            floods: random.chance(0.08),
            last: None,
            let_in: false,
            heard_end: false,
        }
    }

    /// Whether it has heard the end, and not only left.
    pub fn has_heard_end(&self) -> bool {
        self.heard_end
    }

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
        // In pieces, so that half a command is on its way for a while.
        let most = if self.floods { usize::MAX } else { random.uniform(1, 900) as usize };
        let said = conduit.say(&self.unsaid[..self.unsaid.len().min(most)]);
        self.unsaid.drain(..said);
        if !self.stalled {
            self.listen(conduit, ledger, random)?;
        }
        if self.phase == Phase::In && self.unsaid.is_empty() && !self.silent {
            self.say_more(ledger, random);
        }
        Ok(())
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
            let Some((_, payload)) = packet else { break };
            self.log_in(&payload, ledger, random)?;
        }
        ledger.hear(rest)
    }

    fn log_in(&mut self, payload: &[u8], ledger: &mut Ledger, random: &mut Random) -> Result<(), String> {
        match (self.phase, payload.first()) {
            // Refused; what follows is the end.
            (_, Some(0xff)) => return ledger.take_guards_words(payload),
            (Phase::Greeting, _) => {
                self.phase = Phase::Answered;
                self.unsaid.extend(packet(1, &hello(account(random))));
                // Some do not wait to be told that they are in.
                if random.chance(0.1) {
                    self.send(Command::Select(7), ledger);
                }
            }
            _ => (self.phase, self.let_in) = (Phase::In, true),
        }
        Ok(())
    }

    fn say_more(&mut self, ledger: &mut Ledger, random: &mut Random) {
        if ledger.last_words.is_some() {
            return;
        }
        if ledger.file_wanted {
            if ledger.is_all_heard() {
                self.send_file(ledger, random);
            }
            return;
        }
        let waits = self.last.as_ref().is_some_and(Command::is_alone) && ledger.pending() > 0;
        let ahead_max = if self.floods { AHEAD_OF_FLOOD } else { random.uniform(0, 4) as usize };
        if waits || ledger.pending() > ahead_max || self.finishes || random.chance(0.3) {
            return;
        }
        let most = if self.floods { FLOOD } else { COMMANDS_MAX };
        let command = match () {
            () if ledger.sent_total() >= most => Command::Quit,
            () if self.floods => return self.flood(ledger, random),
            () => Command::any(random, ledger.other),
        };
        if !command.is_alone() || ledger.pending() == 0 {
            self.send(command, ledger);
        }
        if random.chance(0.003) {
            self.babble(ledger);
        }
    }

    fn flood(&mut self, ledger: &mut Ledger, random: &mut Random) {
        let command = if random.chance(0.15) { Command::Ping } else { Command::Select(0) };
        self.stalled |= self.last.is_none();
        for _ in 0..BREATH {
            self.send(command.clone(), ledger);
        }
    }

    fn send(&mut self, command: Command, ledger: &mut Ledger) {
        self.finishes |= command == Command::Quit;
        self.last = Some(command.clone());
        self.unsaid.extend(packet(0, &ledger.send(command)));
    }

    /// Says what is no packet, while it may wait for an answer, and nothing more.
    fn babble(&mut self, ledger: &mut Ledger) {
        self.unsaid.extend([1, 0, 0, 7, 3]);
        (self.finishes, self.last, ledger.babbled) = (true, Some(Command::Quit), true);
    }

    fn send_file(&mut self, ledger: &mut Ledger, random: &mut Random) {
        ledger.file_wanted = false;
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for _ in 0..random.uniform(0, 3) {
            let (byte, length) = (random.uniform(0, 255) as u8, random.uniform(1, FILE_PART_MAX) as usize);
            parts.push(vec![byte; length]);
        }
        parts.push(Vec::new());
        let mut number = ledger.number;
        for part in parts {
            number = number.wrapping_add(1);
            self.unsaid.extend(packet(number, &part));
            ledger.send_file(part);
        }
    }

    /// Waits for nothing any more: says goodbye as soon as nothing of it is under way.
    pub fn finish(&mut self, ledger: &mut Ledger) {
        (self.stalled, self.silent, self.finishes) = (false, false, true);
        let at_rest = self.unsaid.is_empty() && !ledger.file_wanted && ledger.last_words.is_none();
        let goes = self.last == Some(Command::Quit);
        if self.phase == Phase::In && at_rest && !goes && !ledger.is_answer_due() {
            self.send(Command::Quit, ledger);
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
