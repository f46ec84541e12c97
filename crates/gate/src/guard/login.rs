//! A session until the server has accepted it: what both sides say passes, and the guard knows no password.

use super::link::Link;
use super::refusal::Refusal;
use super::shared::Shared;
use super::tls::TlsMode;
use evenkeel_wire::ProtocolError;
use evenkeel_wire::packet::{self, PacketReader};
use evenkeel_wire::relay::Dialect;
use evenkeel_wire::relay::hello::{self, ClientHello, ServerHello, Verdict};
use std::io;

/// Why a login ended without a session.
#[derive(Debug)]
pub enum LoginEnd {
    /// The server said no, and the client has been told its words.
    Refused,
    /// The guard says no.
    Guard(Refusal),
    /// A side is gone.
    Lost,
}

impl From<io::Error> for LoginEnd {
    fn from(_: io::Error) -> Self {
        Self::Lost
    }
}

impl From<ProtocolError> for LoginEnd {
    fn from(error: ProtocolError) -> Self {
        Self::Guard(error.into())
    }
}

impl From<Refusal> for LoginEnd {
    fn from(refusal: Refusal) -> Self {
        Self::Guard(refusal)
    }
}

/// A session that the server has accepted.
#[derive(Debug)]
pub struct Accepted {
    pub dialect: Dialect,
    pub client: ClientHello,
    /// Flags of the session.
    pub status: u16,
    /// The packet that says so, for the client.
    pub packet: Vec<u8>,
    /// Whether both sides see the same security; else only some plugins work.
    pub equal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The server greets.
    Greeting,
    /// The client answers, or asks for TLS first.
    Answer,
    /// The server judges.
    Server,
    /// The client proves.
    Client,
}

/// The state of a login.
pub struct Login {
    turn: Turn,
    packets: PacketReader,
    hello: Option<ServerHello>,
    client: Option<ClientHello>,
    plugin: Vec<u8>,
    equal: bool,
    /// What is added to the number of a client's packet to get that towards the server.
    shift: u8,
    /// Number of the next packet towards the client.
    pub next_number: u8,
    /// What the client sent before it was its turn.
    pub early: Vec<u8>,
}

/// Plugins whose proof does not depend on the channel.
fn is_free_of_channel(plugin: &[u8]) -> bool {
    [&b"mysql_native_password"[..], b"client_ed25519", b""].contains(&plugin)
}

impl Login {
    pub fn new() -> Self {
        Self {
            turn: Turn::Greeting,
            packets: PacketReader::new(hello::PACKET_MAX),
            hello: None,
            client: None,
            plugin: Vec::new(),
            equal: true,
            shift: 0,
            next_number: 0,
            early: Vec::new(),
        }
    }

    /// Whether the client is to say something.
    pub fn is_clients_turn(&self) -> bool {
        matches!(self.turn, Turn::Answer | Turn::Client)
    }

    /// Whether the client has been greeted.
    pub fn has_greeted(&self) -> bool {
        self.hello.is_some()
    }

    /// Takes bytes of the server's.
    pub fn server_said(
        &mut self,
        mut bytes: &[u8],
        client: &mut Link,
        shared: &Shared,
    ) -> Result<Option<Accepted>, LoginEnd> {
        if self.is_clients_turn() {
            return Err(ProtocolError::Unasked.into());
        }
        while let Some((number, payload)) = self.packets.next(&mut bytes)? {
            let accepted = match self.turn {
                Turn::Greeting => {
                    self.greet(payload, client, shared)?;
                    None
                }
                _ => self.judge(number, payload, client)?,
            };
            if let (true, false) = (self.is_clients_turn() || accepted.is_some(), bytes.is_empty()) {
                return Err(ProtocolError::Unasked.into());
            }
            if accepted.is_some() {
                return Ok(accepted);
            }
        }
        Ok(None)
    }

    fn greet(&mut self, payload: Vec<u8>, client: &mut Link, shared: &Shared) -> Result<(), LoginEnd> {
        if payload.first() == Some(&0xff) {
            send(client, 0, &payload)?;
            return Err(LoginEnd::Refused);
        }
        let mut hello = ServerHello::parse(payload)?;
        // The server's own offer is needed later: the client sees the guard's.
        let offer = hello.clone();
        hello.restrict(shared.tls.is_offered());
        send(client, 0, hello.payload())?;
        self.hello = Some(offer);
        self.next_number = 2;
        self.turn = Turn::Answer;
        Ok(())
    }

    fn judge(
        &mut self,
        number: u8,
        payload: Vec<u8>,
        client: &mut Link,
    ) -> Result<Option<Accepted>, LoginEnd> {
        let number = number.wrapping_sub(self.shift);
        self.next_number = number;
        match hello::verdict(&payload)? {
            Verdict::Accepted { status } => return self.accept(number, status, &payload).map(Some),
            Verdict::Refused => {
                send(client, number, &payload)?;
                return Err(LoginEnd::Refused);
            }
            Verdict::Switch(plugin) => self.plugin = plugin.to_vec(),
            Verdict::More => {}
        }
        if !self.equal && !is_free_of_channel(&self.plugin) {
            return Err(unequal(&self.plugin).into());
        }
        // "You are known": the server goes on by itself.
        let goes_on = self.plugin == b"caching_sha2_password" && payload == [1, 3];
        self.turn = if goes_on { Turn::Server } else { Turn::Client };
        self.next_number = number.wrapping_add(2);
        send(client, number, &payload)?;
        Ok(None)
    }

    fn accept(&mut self, number: u8, status: u16, payload: &[u8]) -> Result<Accepted, LoginEnd> {
        let (Some(hello), Some(client)) = (&mut self.hello, self.client.take()) else {
            return Err(ProtocolError::Unasked.into());
        };
        hello.restrict(true);
        let dialect = client.dialect(hello);
        let mut packet = Vec::new();
        packet::put(&mut packet, &mut number.clone(), |out| out.extend_from_slice(payload));
        Ok(Accepted { dialect, client, status, packet, equal: self.equal })
    }

    /// Takes bytes of the client's, in its turn.
    pub fn client_said(
        &mut self,
        mut bytes: &[u8],
        client: &mut Link,
        server: &mut Link,
        shared: &Shared,
        local: bool,
    ) -> Result<(), LoginEnd> {
        while self.is_clients_turn() {
            let Some((number, payload)) = self.packets.next(&mut bytes)? else { return Ok(()) };
            self.next_number = number.wrapping_add(1);
            match self.turn {
                Turn::Answer if hello::is_tls_request(&payload) && !client.has_tls() => {
                    let connection =
                        shared.tls.accept().map_err(|_| ProtocolError::Malformed("request for TLS"))?;
                    return client.start_tls(connection, bytes).map_err(|_| LoginEnd::Lost);
                }
                Turn::Answer => self.answer(number, payload, client.has_tls() || local, server, shared)?,
                _ => send(server, number.wrapping_add(self.shift), &payload)?,
            }
            self.turn = Turn::Server;
        }
        self.early.extend_from_slice(bytes);
        Ok(())
    }

    fn answer(
        &mut self,
        number: u8,
        mut payload: Vec<u8>,
        secure: bool,
        server: &mut Link,
        shared: &Shared,
    ) -> Result<(), LoginEnd> {
        let client = ClientHello::parse(&payload)?;
        if shared.tls.clients == TlsMode::Required && !secure {
            return Err(Refusal::TlsRequired.into());
        }
        let offered = self.hello.as_ref().is_some_and(ServerHello::offers_tls);
        let local = shared.plan.backend.is_local();
        let tls = match shared.tls.backend {
            TlsMode::Disabled => false,
            // As the client has it: an equal channel on both sides lets every plugin work.
            TlsMode::Preferred => offered && secure && !local,
            TlsMode::Required if !offered => return Err(Refusal::NoBackendTls.into()),
            TlsMode::Required => true,
        };
        self.equal = secure == (tls || local);
        self.plugin = client.plugin.clone();
        // The first word of caching_sha2 is a proof for the nonce and harmless; what follows would not be.
        if !self.equal && !is_free_of_channel(&self.plugin) && self.plugin != b"caching_sha2_password" {
            return Err(unequal(&self.plugin).into());
        }
        hello::restrict_answer(&mut payload);
        hello::set_tls(&mut payload, tls);
        let own = if tls { 2 } else { 1 };
        if tls {
            let request =
                hello::tls_request(&payload).ok_or(ProtocolError::Malformed("answer to the greeting"))?;
            send(server, 1, &request)?;
            let connection =
                shared.tls.connect().map_err(|error| Refusal::BackendTls(io::Error::other(error)))?;
            server.start_tls(connection, &[]).map_err(Refusal::BackendTls)?;
        }
        self.shift = u8::wrapping_sub(own, number);
        self.client = Some(client);
        Ok(send(server, own, &payload)?)
    }
}

/// Whether a change of user may go on by this plugin where the channels differ.
pub fn check_plugin(plugin: &[u8], equal: bool) -> Result<(), Refusal> {
    if equal || is_free_of_channel(plugin) { Ok(()) } else { Err(unequal(plugin)) }
}

fn unequal(plugin: &[u8]) -> Refusal {
    Refusal::UnequalTls(String::from_utf8_lossy(plugin).into_owned())
}

fn send(link: &mut Link, number: u8, payload: &[u8]) -> io::Result<()> {
    let mut out = Vec::with_capacity(payload.len() + packet::HEADER_BYTES);
    packet::put(&mut out, &mut number.clone(), |out| out.extend_from_slice(payload));
    link.send(&out)
}
