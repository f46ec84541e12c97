//! What was said in one session, as both models know it: the yardstick for what the guard made of it; and why the session
//! may end.

use super::script::Command;
use evenkeel_core::Nanos;
use std::collections::VecDeque;

/// Code of the error by which the guard refuses a command in the middle of a session. It never ends one.
const REFUSED: u16 = 1637;
/// That by which it ends a wait, since somebody has killed it.
const KILLED: u16 = 1317;
/// And of that by which it ends a session of which a side has said what is not the protocol.
const MALFORMED: u16 = 1835;
/// What every error of the guard's own says.
const GUARD: &[u8] = b"evenkeel guard: ";

/// A command with its payload, which no other command of its session has.
#[derive(Debug)]
struct Sent {
    command: Command,
    payload: Vec<u8>,
    at: Nanos,
}

#[derive(Debug, Default)]
pub struct Ledger {
    /// The present time, for who has no clock.
    pub now: Nanos,
    /// The number of a session that its client may kill.
    pub other: u64,
    /// How often the server has done a KILL QUERY for it while it did nothing there.
    pub kills: u32,
    /// Commands of the client, in their order; without those that the guard has refused.
    sent: Vec<Sent>,
    /// How many there were in all.
    sent_total: u32,
    /// Of each command that the server was not told, how many others were sent before it: the client has to hear that
    /// it was refused.
    withheld: VecDeque<usize>,
    /// How many of them the server has read.
    read: usize,
    /// What the server answered to them, byte for byte, and where the answer to each ends.
    answered: Vec<u8>,
    ends: Vec<usize>,
    /// How much of it the client has heard.
    heard: usize,
    /// An error packet of the guard's own, of which the client has heard so much.
    aside: Vec<u8>,
    /// Code of the guard's last words, as soon as the client has heard them. Nothing may follow but the end.
    pub last_words: Option<u16>,
    /// The server was told to forget the session, for a client that is gone: its answer is for nobody.
    pub reset: bool,
    /// Since when the server has been about to end, or has been out of reach.
    pub server_ends: Option<Nanos>,
    /// Since when somebody has been about to log in, or to become somebody else; none once all is answered.
    pub login: Option<Nanos>,
    /// The client has said what is no packet.
    pub babbled: bool,
    /// The client may hold what lets it pass the queue, by what it has ever said.
    pub may_hold: bool,
    pub file_wanted: bool,
    /// Packets of a file that the client has sent and the server has not read.
    file: VecDeque<Vec<u8>>,
    pub number: u8,
}

impl Ledger {
    pub fn new(now: Nanos) -> Self {
        Self { now, login: Some(now), ..Self::default() }
    }

    /// The client sends a command: its payload.
    pub fn send(&mut self, command: Command) -> Vec<u8> {
        self.sent_total += 1;
        self.may_hold |= command.may_hold();
        if matches!(command, Command::ChangeUser(_)) {
            self.login.get_or_insert(self.now);
        }
        let payload = command.payload(self.sent_total);
        self.sent.push(Sent { command, payload: payload.clone(), at: self.now });
        payload
    }

    pub fn send_file(&mut self, part: Vec<u8>) {
        self.file.push_back(part);
    }

    /// The server has read a part of a file; what is wrong with it.
    pub fn read_file(&mut self, part: &[u8]) -> Result<(), String> {
        match self.babbled || self.file.pop_front().is_some_and(|due| due == part) {
            true => Ok(()),
            false => Err(format!("the server read {} bytes of a file that are not the next", part.len())),
        }
    }

    pub fn sent_total(&self) -> u32 {
        self.sent_total
    }

    /// When the client sent what the server has read last, and how much that has answered by now.
    pub fn last_read(&self) -> (Nanos, usize) {
        let sent = self.read.checked_sub(1).and_then(|at| self.sent.get(at));
        (sent.map_or(self.now, |sent| sent.at), self.answered.len())
    }

    /// Whether the client has heard so much of what the server has answered.
    pub fn has_heard(&self, answered: usize) -> bool {
        self.heard >= answered
    }

    pub fn last(&self) -> Option<&Command> {
        self.sent.last().map(|sent| &sent.command)
    }

    /// The server has read the next command; what is wrong with it.
    pub fn read(&mut self, payload: &[u8]) -> Result<Command, String> {
        let due = self.sent.get(self.read).map(|sent| sent.command.clone());
        // What stands before it was refused, and its client will hear that.
        while self.sent.get(self.read).is_some_and(|sent| sent.payload != payload) {
            self.sent.remove(self.read);
            self.withheld.push_back(self.read);
        }
        let Some(Sent { command, .. }) = self.sent.get(self.read) else {
            return Err(format!(
                "the server read {:?} where {due:?} was due",
                String::from_utf8_lossy(payload)
            ));
        };
        let command = command.clone();
        self.read += 1;
        if !command.is_answered() {
            self.ends.push(self.answered.len());
        }
        Ok(command)
    }

    /// The server answers, to the end of an answer or not.
    pub fn answer(&mut self, bytes: &[u8], is_end: bool) {
        self.answered.extend_from_slice(bytes);
        if is_end {
            self.ends.push(self.answered.len());
        }
    }

    /// The client has heard bytes; what is wrong with them.
    pub fn hear(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            if self.last_words.is_some() {
                return Err(format!("the client heard {bytes:02x?} behind the guard's last words"));
            }
            if self.aside.is_empty() {
                let due = &self.answered[self.heard..];
                let same = bytes.iter().zip(due).take_while(|(one, other)| one == other).count();
                self.heard += same;
                bytes = &bytes[same..];
            }
            bytes = self.hear_guard(bytes)?;
        }
        Ok(())
    }

    /// Where it was not the server, it can only have been the guard, with an error: what is behind it.
    fn hear_guard<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        for (at, byte) in bytes.iter().enumerate() {
            self.aside.push(*byte);
            let error = self.aside.get(4).is_none_or(|first| *first == 0xff);
            if !error {
                return Err(format!("the client heard {:02x?}, which the server never said", self.aside));
            }
            if let [a, b, c, number, packet @ ..] = &self.aside[..]
                && packet.len() == u32::from_le_bytes([*a, *b, *c, 0]) as usize
            {
                let (number, packet) = (*number, packet.to_vec());
                self.aside.clear();
                // No command of a client's here needs more than one packet.
                if [REFUSED, KILLED].iter().any(|code| packet.get(1..3) == Some(&code.to_le_bytes()))
                    && number != 1
                {
                    return Err(format!("the client heard of a refusal in packet {number}, where 1 was due"));
                }
                self.take_guards_words(&packet)?;
                return Ok(&bytes[at + 1..]);
            }
        }
        Ok(&[])
    }

    /// The client has heard an error that is not the server's; what is wrong with it.
    pub fn take_guards_words(&mut self, packet: &[u8]) -> Result<(), String> {
        if !packet.windows(GUARD.len()).any(|found| found == GUARD) {
            return Err(format!("the client heard {packet:02x?}, which nobody said"));
        }
        match u16::from_le_bytes([packet[1], packet[2]]) {
            MALFORMED if !self.babbled => {
                Err("the guard took for no protocol what both sides had said by it".into())
            }
            REFUSED => self.take_refusal(),
            KILLED if self.kills == 0 => {
                Err("the client heard that it was killed, and nobody has done that".into())
            }
            KILLED => {
                self.kills -= 1;
                self.take_refusal()
            }
            code => {
                self.last_words = Some(code);
                Ok(())
            }
        }
    }

    /// A refusal stands for one command, between answers.
    fn take_refusal(&mut self) -> Result<(), String> {
        if self.heard > 0 && self.ends.binary_search(&self.heard).is_err() {
            return Err("the client heard in the middle of an answer that a command was refused".into());
        }
        if self.withheld.front().is_some_and(|at| self.is_answered_to(*at)) {
            self.withheld.pop_front();
            return Ok(());
        }
        self.refuse_next(self.heard_answers())
    }

    /// The first command from there on that would be answered was refused: the server must not see it any more.
    fn refuse_next(&mut self, from: usize) -> Result<(), String> {
        let Some(at) = (from..self.sent.len()).find(|at| self.sent[*at].command.is_answered()) else {
            return Err("the client heard that a command was refused, and waited for none".into());
        };
        if at < self.read {
            return Err(format!("{:?} was refused, and the server had read it", self.sent[at].command));
        }
        self.sent.remove(at);
        Ok(())
    }

    /// Whether the client has heard the answers to all that was sent before that command, and to nothing behind it.
    fn is_answered_to(&self, at: usize) -> bool {
        let heard = self.heard_answers();
        at <= heard && self.sent[at..heard].iter().all(|sent| !sent.command.is_answered())
    }

    /// Whether the client has heard all that the server has said.
    pub fn is_all_heard(&self) -> bool {
        self.heard == self.answered.len()
    }

    /// What the client should have heard before its end and did not, where the server was reached to the last; `left` says
    /// that it had said its own end before.
    pub fn unheard(&self, left: bool) -> Option<String> {
        match () {
            () if !self.is_all_heard() => {
                Some(format!("{} bytes of the server's answers", self.answered.len() - self.heard))
            }
            () if !self.aside.is_empty() => Some("the rest of the guard's words".into()),
            () if !left && !self.withheld.is_empty() => Some("that a command was refused".into()),
            () => None,
        }
    }

    /// Answers that the client has heard to their end.
    fn heard_answers(&self) -> usize {
        self.ends.partition_point(|end| *end <= self.heard)
    }

    /// Whether the client waits for an answer. What is not answered may be on its way to a server that is gone, and nobody
    /// waits for that.
    pub fn is_answer_due(&self) -> bool {
        let due = self.sent.get(self.heard_answers()..).unwrap_or_default();
        !self.withheld.is_empty() || due.iter().any(|sent| sent.command.is_answered())
    }

    /// Commands that the client waits for.
    pub fn pending(&self) -> usize {
        (self.sent.len() + self.withheld.len()).saturating_sub(self.heard_answers())
    }
}
