//! A session until the server has accepted it: what both sides say passes, and the guard knows no password.

use super::{Action, Context, End, Refusal, Side};
use evenkeel_os::tls::TlsMode;
use evenkeel_wire::ProtocolError;
use evenkeel_wire::packet::{self, PacketReader};
use evenkeel_wire::relay::Dialect;
use evenkeel_wire::relay::hello::{self, ClientHello, ServerHello, Verdict};

/// ER_CON_COUNT_ERROR.
const TOO_MANY_CONNECTIONS: u16 = 1040;

#[derive(Debug)]
pub struct Accepted {
    pub dialect: Dialect,
    pub client: ClientHello,
    /// What the server calls the session.
    pub thread: u32,
    pub status: u16,
    pub packet: Vec<u8>,
    /// Whether both sides see the same security; else only some plugins work.
    pub equal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Greeting,
    Answer,
    Server,
    Client,
}

pub struct Login {
    /// The client came over a unix socket.
    local: bool,
    turn: Turn,
    /// What each side says, as packets.
    said: PacketReader,
    judged: PacketReader,
    hello: Option<ServerHello>,
    client: Option<ClientHello>,
    plugin: Vec<u8>,
    equal: bool,
    pub client_tls: bool,
    pub server_tls: bool,
    /// What is added to the number of a client's packet to get that towards the server.
    shift: u8,
    /// Number of the next packet towards the client.
    pub next_number: u8,
    /// What the client sent ahead: it is looked at in its next turn, before anything more is read, so that this is
    /// never more than one read brought.
    held: Vec<u8>,
}

/// Plugins whose proof does not depend on the channel.
fn is_free_of_channel(plugin: &[u8]) -> bool {
    [&b"mysql_native_password"[..], b"client_ed25519", b""].contains(&plugin)
}

impl Login {
    pub fn new(local: bool) -> Self {
        Self {
            local,
            turn: Turn::Greeting,
            said: PacketReader::new(hello::PACKET_MAX),
            judged: PacketReader::new(hello::PACKET_MAX),
            hello: None,
            client: None,
            plugin: Vec::new(),
            equal: true,
            client_tls: false,
            server_tls: false,
            shift: 0,
            next_number: 0,
            held: Vec::new(),
        }
    }

    pub fn is_clients_turn(&self) -> bool {
        matches!(self.turn, Turn::Answer | Turn::Client)
    }

    pub fn has_greeted(&self) -> bool {
        self.hello.is_some()
    }

    /// Bytes that the client sent ahead, and such of a packet that is not all there.
    pub fn held(&self) -> usize {
        self.held.len() + self.said.kept()
    }

    /// What the client sent behind its login.
    pub fn take_held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Takes bytes of the server's.
    pub fn server_said(&mut self, mut bytes: &[u8], cx: &mut Context<'_>) -> Result<Option<Accepted>, End> {
        while let Some((number, payload)) = self.judged.next(&mut bytes)? {
            let accepted = match self.turn {
                Turn::Greeting => {
                    self.greet(payload, cx)?;
                    None
                }
                Turn::Server => self.judge(number, payload, cx)?,
                // Out of turn it has only one thing to say: why it ends.
                Turn::Answer | Turn::Client => return Err(self.farewell(&payload, cx)),
            };
            if accepted.is_some() {
                return if bytes.is_empty() { Ok(accepted) } else { Err(ProtocolError::Unasked.into()) };
            }
        }
        // The client may have said ahead what it is asked for now.
        if self.is_clients_turn() && !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            self.client_said(&held, cx)?;
        }
        Ok(None)
    }

    fn farewell(&self, payload: &[u8], cx: &mut Context<'_>) -> End {
        if payload.first() != Some(&0xff) {
            return ProtocolError::Unasked.into();
        }
        send(Side::Client, self.next_number, payload, cx);
        End::Server
    }

    fn greet(&mut self, payload: Vec<u8>, cx: &mut Context<'_>) -> Result<(), End> {
        if payload.first() == Some(&0xff) {
            return Err(refused(0, &payload, cx));
        }
        let mut hello = ServerHello::parse(payload)?;
        if hello.offers_tls() && !cx.terms.tls_offered {
            cx.stats.without_tls.add();
        }
        // The server's own offer is needed later: the client sees the guard's.
        let offer = hello.clone();
        hello.restrict(cx.terms.tls_offered);
        send(Side::Client, 0, hello.payload(), cx);
        self.hello = Some(offer);
        self.next_number = 2;
        self.turn = Turn::Answer;
        Ok(())
    }

    fn judge(&mut self, number: u8, payload: Vec<u8>, cx: &mut Context<'_>) -> Result<Option<Accepted>, End> {
        let number = number.wrapping_sub(self.shift);
        self.next_number = number;
        match hello::verdict(&payload)? {
            Verdict::Accepted { status } => return self.accept(number, status, &payload).map(Some),
            Verdict::Refused => return Err(refused(number, &payload, cx)),
            Verdict::Switch(plugin) => self.plugin = plugin.to_vec(),
            Verdict::More => {}
        }
        check_plugin(&self.plugin, self.equal)?;
        // "You are known": the server goes on by itself.
        let goes_on = self.plugin == b"caching_sha2_password" && payload == [1, 3];
        self.turn = if goes_on { Turn::Server } else { Turn::Client };
        self.next_number = number.wrapping_add(2);
        send(Side::Client, number, &payload, cx);
        Ok(None)
    }

    fn accept(&mut self, number: u8, status: u16, payload: &[u8]) -> Result<Accepted, End> {
        let (Some(hello), Some(client)) = (&mut self.hello, self.client.take()) else {
            return Err(ProtocolError::Unasked.into());
        };
        hello.restrict(true);
        let dialect = client.dialect(hello);
        let mut packet = Vec::new();
        packet::put(&mut packet, &mut number.clone(), |out| out.extend_from_slice(payload));
        Ok(Accepted { dialect, client, thread: hello.thread(), status, packet, equal: self.equal })
    }

    /// Takes bytes of the client's, in its turn.
    pub fn client_said(&mut self, mut bytes: &[u8], cx: &mut Context<'_>) -> Result<(), End> {
        while self.is_clients_turn() {
            let Some((number, payload)) = self.said.next(&mut bytes)? else { return Ok(()) };
            self.next_number = number.wrapping_add(1);
            match self.turn {
                Turn::Answer if hello::is_tls_request(&payload) && !self.client_tls => {
                    return self.begin_tls(bytes, cx);
                }
                Turn::Answer => self.answer(number, payload, cx)?,
                _ => send(Side::Server, number.wrapping_add(self.shift), &payload, cx),
            }
            self.turn = Turn::Server;
        }
        self.held = bytes.to_vec();
        Ok(())
    }

    fn begin_tls(&mut self, early: &[u8], cx: &mut Context<'_>) -> Result<(), End> {
        if !cx.terms.tls_offered {
            return Err(ProtocolError::Malformed("request for TLS").into());
        }
        self.client_tls = true;
        cx.actions.push(Action::ClientTls(early.to_vec()));
        Ok(())
    }

    fn answer(&mut self, number: u8, mut payload: Vec<u8>, cx: &mut Context<'_>) -> Result<(), End> {
        let client = ClientHello::parse(&payload)?;
        let secure = self.client_tls || self.local;
        if cx.terms.plan.client_tls.mode == TlsMode::Required && !secure {
            return Err(Refusal::TlsRequired.into());
        }
        let tls = self.wants_server_tls(secure, cx)?;
        self.equal = secure == (tls || cx.terms.plan.backend.is_local());
        self.plugin = client.plugin.clone();
        // The first word of caching_sha2 is a proof for the nonce and harmless; what follows would not be.
        if self.plugin != b"caching_sha2_password" {
            check_plugin(&self.plugin, self.equal)?;
        }
        hello::restrict_answer(&mut payload);
        hello::set_tls(&mut payload, tls);
        let own = if tls { 2 } else { 1 };
        if tls {
            let request =
                hello::tls_request(&payload).ok_or(ProtocolError::Malformed("answer to the greeting"))?;
            send(Side::Server, 1, &request, cx);
            cx.actions.push(Action::ServerTls);
            self.server_tls = true;
        }
        self.shift = u8::wrapping_sub(own, number);
        self.client = Some(client);
        send(Side::Server, own, &payload, cx);
        Ok(())
    }

    fn wants_server_tls(&self, secure: bool, cx: &Context<'_>) -> Result<bool, Refusal> {
        let offered = self.hello.as_ref().is_some_and(ServerHello::offers_tls);
        match cx.terms.backend_tls {
            TlsMode::Disabled => Ok(false),
            // As the client has it: an equal channel on both sides lets every plugin work.
            TlsMode::Preferred => Ok(offered && secure && !cx.terms.plan.backend.is_local()),
            TlsMode::Required if !offered => Err(Refusal::NoBackendTls),
            TlsMode::Required => Ok(true),
        }
    }
}

/// Whether a login may go on by this plugin where the channels differ.
pub fn check_plugin(plugin: &[u8], equal: bool) -> Result<(), Refusal> {
    match equal || is_free_of_channel(plugin) {
        true => Ok(()),
        false => Err(Refusal::UnequalTls(String::from_utf8_lossy(plugin).into_owned())),
    }
}

/// The server does not let the client in, and says why.
fn refused(number: u8, error: &[u8], cx: &mut Context<'_>) -> End {
    if error.get(1..3) == Some(&TOO_MANY_CONNECTIONS.to_le_bytes()) {
        cx.stats.backend_full.add();
    }
    send(Side::Client, number, error, cx);
    End::Server
}

fn send(side: Side, number: u8, payload: &[u8], cx: &mut Context<'_>) {
    let mut out = Vec::with_capacity(payload.len() + packet::HEADER_BYTES);
    packet::put(&mut out, &mut number.clone(), |out| out.extend_from_slice(payload));
    cx.send(side, out);
}
