//! What was said in one session, as both models know it: the yardstick for what the guard made of it.

use super::script::Command;

/// One session's.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Commands of the client, in their order.
    pub sent: Vec<Command>,
    /// How many of them the server has read.
    pub read: usize,
    /// What the server answered to them, byte for byte, and where each answer ends.
    pub answered: Vec<u8>,
    pub ends: Vec<usize>,
    /// How much of it the client has heard.
    pub heard: usize,
    /// The guard has said its last words, or a side has broken the protocol: nothing more is compared.
    pub over: bool,
    /// The server asked for a file in its last words, and the client has sent so many bytes of it.
    pub file_wanted: bool,
    /// A stream passes.
    pub streams: bool,
    /// The server asks the client for a proof.
    pub proof_wanted: bool,
    /// Number of the server's last packet.
    pub number: u8,
}

impl Ledger {
    /// The client has sent a command.
    pub fn send(&mut self, command: Command) {
        self.sent.push(command);
    }

    /// The server has read the next command; what is wrong with it.
    pub fn read(&mut self, payload: &[u8]) -> Result<Command, String> {
        let Some(command) = self.sent.get(self.read) else {
            return Err(format!("the server read {payload:02x?}, which the client never sent"));
        };
        if command.payload() != payload {
            return Err(format!("the server read {payload:02x?} for {command:?}"));
        }
        self.read += 1;
        Ok(command.clone())
    }

    /// The server answers, to the end of an answer or not.
    pub fn answer(&mut self, bytes: &[u8], is_end: bool) {
        self.answered.extend_from_slice(bytes);
        if is_end {
            self.ends.push(self.answered.len());
        }
    }

    /// The client has heard bytes; what is wrong with them.
    pub fn hear(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.over {
            return Ok(());
        }
        let due = &self.answered[self.heard..];
        let same = bytes.iter().zip(due).take_while(|(one, other)| one == other).count();
        self.heard += same;
        if same == bytes.len() {
            return Ok(());
        }
        // Behind what the server said only the guard's own last words may come, and only between packets.
        self.over = true;
        match is_error(&bytes[same..]) {
            true => Ok(()),
            false => Err(format!("the client heard {:02x?}, which the server never said", &bytes[same..])),
        }
    }

    /// Answers that the client has heard to their end.
    pub fn heard_answers(&self) -> usize {
        self.ends.partition_point(|end| *end <= self.heard)
    }

    /// Commands that the client waits for.
    pub fn pending(&self) -> usize {
        self.sent.len() - self.heard_answers()
    }
}

/// Whether these bytes begin an error packet of the guard's.
fn is_error(bytes: &[u8]) -> bool {
    let text = b"evenkeel guard: ";
    match bytes {
        [_, _, _, _, 0xff, rest @ ..] => {
            rest.windows(text.len()).any(|found| found == text) || rest.len() < 26
        }
        _ => bytes.len() < 5,
    }
}
