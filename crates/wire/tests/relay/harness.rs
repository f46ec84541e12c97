//! A relay without sockets: it passes what it is given and notes what it learns.

use evenkeel_wire::ProtocolError;
use evenkeel_wire::relay::{CommandKind, CommandReader, Dialect, Expect, HEAD_MAX, Reply, ReplyReader, Step};
use evenkeel_wire::relay::{hello, sql};

/// One session between its two sides.
pub struct Session {
    dialect: Dialect,
    commands: CommandReader,
    replies: ReplyReader,
    /// What the client sent and is not decided yet.
    held: Vec<u8>,
    /// What was learnt.
    pub notes: Vec<String>,
    /// Bytes that were passed on to the server.
    pub passed: usize,
}

impl Session {
    pub fn new(dialect: Dialect) -> Self {
        let (commands, replies) = (CommandReader::new(), ReplyReader::new(dialect));
        Self { dialect, commands, replies, held: Vec::new(), notes: Vec::new(), passed: 0 }
    }

    /// Bytes that may not be passed yet.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Whether nothing is on its way.
    pub fn is_quiet(&self) -> bool {
        self.replies.pending() == 0
            && self.commands.is_between()
            && self.replies.is_between()
            && self.held.is_empty()
    }

    /// A change of user waits until nothing else does, as everything waits where too much is pending.
    fn may_go(&self, kind: CommandKind) -> bool {
        let alone = kind != CommandKind::ChangeUser || self.replies.pending() == 0;
        alone && !self.replies.is_full()
    }

    /// Takes bytes of the client's.
    pub fn client(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.held.extend_from_slice(bytes);
        let mut at = 0;
        let mut waits = false;
        while at < self.held.len() && !waits {
            match self.commands.next(&self.held[at..])? {
                Step::Pass(count) => {
                    assert!(count > 0 && count <= self.held.len() - at, "{count} bytes of fewer");
                    at += count;
                }
                Step::Command(command) if !self.may_go(command.kind) => waits = true,
                Step::Command(command) => {
                    let text = sql(&command, self.dialect).map(<[u8]>::len);
                    let plugin = hello::plugin_of_change(command.head, self.dialect).map(<[u8]>::len);
                    self.notes.push(format!("{command:?} {text:?} {plugin:?} {:?}", command.statement()));
                    self.commands.accept(&command);
                    self.replies.expect(command.kind);
                }
                Step::More => {
                    assert!(self.held.len() - at <= HEAD_MAX + 4, "more than a head is held");
                    break;
                }
                Step::Wait => waits = true,
            }
        }
        self.held.drain(..at);
        self.passed += at;
        Ok(())
    }

    /// Takes bytes of the server's.
    pub fn server(&mut self, mut bytes: &[u8]) -> Result<(), ProtocolError> {
        loop {
            let due = self.replies.answers();
            let Some(reply) = self.replies.next(&mut bytes)? else { break };
            self.notes.push(format!("{reply:?}"));
            match (reply, due) {
                (Reply::FileRequest, _) => self.commands.file_follows(self.replies.number())?,
                (Reply::StreamBegins, _) => self.commands.stream_begins(),
                (_, Some(Expect::Stream)) => self.commands.stream_refused(),
                (_, Some(Expect::Login)) if reply.is_end() => self.commands.login_ended(),
                _ => {}
            }
        }
        assert!(bytes.is_empty(), "{} bytes were not taken", bytes.len());
        assert!(self.replies.pending() <= evenkeel_wire::relay::PENDING_MAX, "too many wait");
        // What was held for the server's sake may go now.
        self.client(&[])
    }
}

/// What passed, in its order: whether it is the server's, and the bytes.
pub type Record<'a> = (bool, &'a [u8]);

/// Reads a captured session: capabilities, then direction, length and bytes of each piece.
pub fn captured(mut bytes: &[u8]) -> (Dialect, Vec<Record<'_>>) {
    let mut take = |count: usize| {
        let (taken, rest) = bytes.split_at_checked(count)?;
        bytes = rest;
        Some(taken)
    };
    let capabilities = take(8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    let mut records = Vec::new();
    while let Some(&[direction, a, b, c, d]) = take(5) {
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let Some(bytes) = take(length) else { break };
        records.push((direction != 0, bytes));
    }
    (Dialect::new(capabilities), records)
}

/// Passes records in pieces of at most `size(n)` bytes, where n counts the pieces.
pub fn play(
    session: &mut Session,
    records: &[Record<'_>],
    mut size: impl FnMut() -> usize,
) -> Result<(), ProtocolError> {
    for (server, bytes) in records {
        let mut rest = *bytes;
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(size().clamp(1, rest.len()));
            rest = later;
            if *server { session.server(piece)? } else { session.client(piece)? }
        }
    }
    Ok(())
}
