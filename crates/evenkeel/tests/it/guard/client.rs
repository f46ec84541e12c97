//! A client that says every packet by hand, and records what passes.

use evenkeel_wire::packet::{self, PacketReader};
use evenkeel_wire::relay::hello::{ServerHello, Verdict, verdict};
use evenkeel_wire::relay::{CommandKind, CommandReader, Dialect, Expect, Reply, ReplyReader, Step};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A server that says nothing for so long will say nothing any more; no machine stands still for as long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Protocol 4.1, passwords of 20 bytes, plugins, transactions, local files, databases by name, several
/// statements and results.
pub const PLAIN: u64 = 1 << 9 | 1 << 15 | 1 << 19 | 1 << 13 | 1 << 7 | 1 << 3 | 1 << 16 | 1 << 17 | 1 << 18;
/// Ends of rows as OK packets, session tracking.
pub const MODERN: u64 = PLAIN | 1 << 24 | 1 << 23 | 1 << 21;
/// MariaDB's progress, bulk, extended and cached metadata.
pub const MARIADB: u64 = MODERN | 0b1_1101 << 32;

pub struct Client {
    stream: TcpStream,
    commands: CommandReader,
    replies: ReplyReader,
    /// What passed after the login: direction (0 the client's), length, bytes.
    pub record: Vec<u8>,
    /// What the server greeted with, and how it accepted the login.
    pub greeting: Vec<u8>,
    pub accepted: Vec<u8>,
    /// Prepared statement of the last preparation.
    pub statement: u32,
    last_sequence: u8,
}

impl Client {
    /// Logs in as `app` without password.
    pub fn connect(address: &str, capabilities: u64) -> Self {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("an option");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        let mut packets = PacketReader::new(1 << 16);
        let (_, greeting) = read_packet(&mut stream, &mut packets);
        let hello = ServerHello::parse(greeting.clone()).expect("a greeting");
        let dialect = Dialect::new(capabilities & hello.capabilities());
        let mut out = Vec::new();
        packet::put(&mut out, &mut 1, |out| {
            out.extend_from_slice(&(capabilities as u32).to_le_bytes());
            out.extend_from_slice(&[0, 0, 0, 64, 45]);
            out.extend_from_slice(&[0; 19]);
            out.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
            out.extend_from_slice(b"app\0\0shop\0mysql_native_password\0");
        });
        stream.write_all(&out).expect("the server reads");
        let (number, accepted) = read_packet(&mut stream, &mut packets);
        assert!(number == 2 && matches!(verdict(&accepted), Ok(Verdict::Accepted { .. })), "{accepted:?}");
        let record = dialect.bits().to_le_bytes().to_vec();
        let (commands, replies) = (CommandReader::new(), ReplyReader::new(dialect));
        Self { stream, commands, replies, record, greeting, accepted, statement: 0, last_sequence: 0 }
    }

    fn log(&mut self, direction: u8, bytes: &[u8]) {
        self.record.push(direction);
        self.record.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.record.extend_from_slice(bytes);
    }

    /// Sends bytes and finds the commands in them.
    pub fn send(&mut self, bytes: &[u8]) -> Vec<CommandKind> {
        self.stream.write_all(bytes).expect("the server reads");
        self.log(0, bytes);
        let (mut kinds, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            match self.commands.next(rest).expect("commands that a client may send") {
                Step::Pass(count) => rest = &rest[count..],
                Step::Command(command) => {
                    self.commands.accept(&command);
                    self.replies.expect(command.kind);
                    kinds.push(command.kind);
                }
                step => panic!("{step:?} with {} bytes", rest.len()),
            }
        }
        kinds
    }

    /// Reads until nothing is due any more, or until the server waits for this client.
    pub fn replies(&mut self) -> Vec<Reply> {
        let mut found = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        while self.replies.pending() > 0 {
            let count =
                read(&mut self.stream, &mut buffer).expect("the end of a reply comes within a minute");
            assert!(count > 0, "the server ended the connection after {found:?}");
            self.log(1, &buffer[..count]);
            let mut rest = &buffer[..count];
            loop {
                let due = self.replies.answers();
                let next = self.replies.next(&mut rest).expect("a reply that a server may send");
                let Some(reply) = next else { break };
                match (reply, due) {
                    (Reply::Prepared { statement }, _) => self.statement = statement,
                    (Reply::FileRequest, _) => {
                        self.commands.file_follows(self.replies.number()).expect("a file is due");
                    }
                    (Reply::StreamBegins, _) => self.commands.stream_begins(),
                    (_, Some(Expect::Stream)) => self.commands.stream_refused(),
                    (_, Some(Expect::Login)) if reply.is_end() => self.commands.login_ended(),
                    _ => {}
                }
                found.push(reply);
                if matches!(reply, Reply::FileRequest | Reply::LoginRequest) {
                    self.last_sequence = last_sequence(&buffer[..count]);
                    assert!(rest.is_empty(), "bytes behind a question");
                    return found;
                }
            }
        }
        found
    }

    pub fn local_port(&self) -> u16 {
        self.stream.local_addr().expect("an address").port()
    }

    /// Ends the connection as a process that is killed does, or as a machine that forgot it.
    pub fn leave(self, resets: bool) {
        if resets {
            let linger = libc::linger { l_onoff: 1, l_linger: 0 };
            let (value, length) = ((&raw const linger).cast(), size_of_val(&linger) as libc::socklen_t);
            let (socket, level) = (self.stream.as_raw_fd(), libc::SOL_SOCKET);
            // SAFETY: the value lives through the call and has the length told.
            assert_eq!(unsafe { libc::setsockopt(socket, level, libc::SO_LINGER, value, length) }, 0);
        }
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    pub fn change_user(&mut self, user: &str) -> Vec<Reply> {
        let payload = format!("\x11{user}\0\0shop\0\x2d\0mysql_native_password\0");
        let replies = self.command(payload.as_bytes());
        if replies == [Reply::LoginRequest] { self.answer(&[b""]) } else { replies }
    }

    pub fn command(&mut self, payload: &[u8]) -> Vec<Reply> {
        let kinds = self.send(&packets(0, payload));
        assert_eq!(kinds, [CommandKind::of(payload.first().copied().unwrap_or_default())]);
        self.replies()
    }

    /// Answers a question of the server with one packet for each piece.
    pub fn answer(&mut self, pieces: &[&[u8]]) -> Vec<Reply> {
        let mut sequence = self.last_sequence;
        let mut bytes = Vec::new();
        for piece in pieces {
            sequence = sequence.wrapping_add(1);
            packet::put(&mut bytes, &mut sequence.clone(), |out| out.extend_from_slice(piece));
        }
        assert_eq!(self.send(&bytes), []);
        self.replies()
    }

    pub fn query(&mut self, sql: &str) -> Vec<Reply> {
        self.command(&[b"\x03", sql.as_bytes()].concat())
    }

    /// A ping is answered by a single packet: what was read before was the whole of the reply before.
    pub fn expect_nothing_left(&mut self, after: &str) {
        self.send(&packets(0, b"\x0e"));
        let mut header = [0; 5];
        self.stream.read_exact(&mut header).expect("the answer to a ping");
        let mut rest = vec![0; usize::from(header[0]) - 1];
        self.stream.read_exact(&mut rest).expect("the answer to a ping");
        assert_eq!((header[3], header[4]), (1, 0), "bytes were left after {after}");
        let bytes = [&header[..], &rest].concat();
        self.log(1, &bytes);
        let reply = self.replies.next(&mut &bytes[..]).expect("an OK");
        assert!(matches!(reply, Some(Reply::Result { more: false, .. })), "{reply:?} after {after}");
    }

    /// Whether the server has ended the connection, and has not just been silent.
    pub fn is_ended(&mut self) -> bool {
        match read(&mut self.stream, &mut [0; 1]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// Reads what there is. A process that is stopped and goes on has its read with a timeout interrupted.
fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            ended => return ended,
        }
    }
}

pub fn packets(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    packet::put(&mut out, &mut sequence.clone(), |out| out.extend_from_slice(payload));
    out
}

fn last_sequence(mut packets: &[u8]) -> u8 {
    let mut last = 0;
    while let [a, b, c, sequence, rest @ ..] = packets {
        last = *sequence;
        packets = &rest[u32::from_le_bytes([*a, *b, *c, 0]) as usize..];
    }
    last
}

fn read_packet(stream: &mut TcpStream, packets: &mut PacketReader) -> (u8, Vec<u8>) {
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte).expect("a packet of the login");
        if let Some(packet) = packets.next(&mut &byte[..]).expect("a packet") {
            return packet;
        }
    }
}
