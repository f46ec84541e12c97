//! From the greeting to the command phase.
//!
//! The caller moves bytes; the state machine says what to send, when to start TLS, and when the session is
//! there: greeting -> (TLS) -> answer -> (switch of plugin, more data) -> OK.

mod packets;
mod plugin;

use crate::bytes::Reader;
use crate::error::{ProtocolError, ServerError};
use crate::packet::PacketReader;
use crate::{packet, response};
pub use packets::CapabilityFlags;
use packets::Hello;
use plugin::Answer;
pub use plugin::{LoginError, PublicKeyError};

/// Largest packet of a login; a public key has about 500 bytes.
const PACKET_MAX: usize = 64 << 10;
/// Most packets of one login, so that a server cannot keep it busy for ever.
const ROUNDS_MAX: u32 = 16;

#[derive(Clone, Default)]
pub struct Account {
    pub user: String,
    pub password: String,
    /// Database that unqualified names of tables are in; `None` for none.
    pub database: Option<String>,
}

/// Who can read the bytes on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Anybody between client and server.
    Network,
    /// Nobody: a unix socket.
    Local,
}

/// Whether to start TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Not even where the server offers it.
    Never,
    /// If the server can.
    IfOffered,
    /// Yes; a server that cannot is refused.
    Always,
}

/// What the caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginStep {
    /// Send what was appended, if anything, and read on.
    Continue,
    /// Send what was appended, do the TLS handshake, then call [`Login::tls_started`].
    StartTls,
    /// The session is there.
    Done,
}

#[derive(Debug)]
enum Stage {
    Greeting,
    Tls,
    Answer(Answer),
}

/// One login, from the greeting to the server's yes or no.
pub struct Login {
    account: Account,
    encryption: Encryption,
    local_files: bool,
    private: bool,
    packets: PacketReader,
    stage: Stage,
    greeting: Greeting,
    capabilities: CapabilityFlags,
    sequence: u8,
    rounds: u32,
    status: u16,
}

impl Login {
    /// Waits for the greeting.
    pub fn new(account: Account, channel: Channel, encryption: Encryption) -> Self {
        Self {
            account,
            encryption,
            local_files: false,
            private: channel == Channel::Local,
            packets: PacketReader::new(PACKET_MAX),
            stage: Stage::Greeting,
            greeting: Greeting::default(),
            capabilities: CapabilityFlags::empty(),
            sequence: 0,
            rounds: 0,
            status: 0,
        }
    }

    /// One whose session takes LOAD DATA LOCAL.
    #[must_use]
    pub fn with_local_files(self) -> Self {
        Self { local_files: true, ..self }
    }

    /// What the server said of itself.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    pub fn capabilities(&self) -> CapabilityFlags {
        self.capabilities
    }

    pub fn status(&self) -> u16 {
        self.status
    }

    /// Takes bytes from the front of `input`; appends what is to be sent to `out`.
    pub fn feed(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<LoginStep, LoginError> {
        while let Some((sequence, payload)) = self.packets.next(input)? {
            self.count_packet(sequence)?;
            let step = match std::mem::replace(&mut self.stage, Stage::Tls) {
                Stage::Greeting => self.greet(&payload, out)?,
                Stage::Answer(answer) => self.proceed(answer, &payload, out)?,
                Stage::Tls => return Err(ProtocolError::Unasked.into()),
            };
            match step {
                LoginStep::Continue => {}
                // Plain bytes behind the greeting could have been put there by anybody.
                _ if !input.is_empty() => return Err(ProtocolError::Unasked.into()),
                _ => return Ok(step),
            }
        }
        Ok(LoginStep::Continue)
    }

    /// TLS is there: appends the answer to the greeting.
    pub fn tls_started(&mut self, out: &mut Vec<u8>) -> Result<(), LoginError> {
        self.private = true;
        self.answer(out)
    }

    fn count_packet(&mut self, sequence: u8) -> Result<(), ProtocolError> {
        let expected = if self.rounds == 0 { 0 } else { self.sequence.wrapping_add(1) };
        self.rounds += 1;
        self.sequence = sequence;
        match sequence == expected {
            true if self.rounds <= ROUNDS_MAX => Ok(()),
            true => Err(ProtocolError::Malformed("login without end")),
            false => Err(ProtocolError::Sequence { expected, found: sequence }),
        }
    }

    fn greet(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<LoginStep, LoginError> {
        if payload.first() == Some(&0xff) {
            return Err(ServerError::parse(payload)?.into());
        }
        self.greeting = Greeting::parse(payload)?;
        let offered = self.greeting.capabilities;
        let needed = CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_PLUGIN_AUTH;
        if !offered.contains(needed) {
            return Err(LoginError::TooOld(self.greeting.version.clone()));
        }
        self.capabilities = wanted(&self.account, self.local_files) & offered;
        let can_encrypt = offered.contains(CapabilityFlags::CLIENT_SSL);
        match (self.encryption, can_encrypt) {
            (Encryption::Always, false) => Err(LoginError::NoTls),
            (Encryption::Always | Encryption::IfOffered, true) => {
                self.capabilities.insert(CapabilityFlags::CLIENT_SSL);
                let capabilities = self.capabilities;
                self.send(out, |out| packets::put_ssl_request(out, capabilities));
                Ok(LoginStep::StartTls)
            }
            _ => self.answer(out).map(|()| LoginStep::Continue),
        }
    }

    /// Answers the greeting with the plugin it names; one that is not known here is answered as the native
    /// one, and the server then asks for the account's own.
    fn answer(&mut self, out: &mut Vec<u8>) -> Result<(), LoginError> {
        let name = std::mem::take(&mut self.greeting.plugin);
        let nonce = self.greeting.nonce.clone();
        let answer = Answer::new(&name, nonce.clone())
            .or_else(|_| Answer::new(plugin::NATIVE, nonce))
            .map_err(|()| LoginError::UnknownPlugin(String::from_utf8_lossy(&name).into_owned()))?;
        // The password itself is never the first thing sent: the server asks for it.
        let proof = answer.proof(&self.account.password, false).unwrap_or_default();
        let hello = Hello {
            capabilities: self.capabilities,
            user: &self.account.user,
            proof: &proof,
            database: self.account.database.as_deref(),
            plugin: answer.name(),
        };
        let mut payload = Vec::new();
        hello.put(&mut payload);
        self.greeting.plugin = name;
        self.send(out, |out| out.extend_from_slice(&payload));
        self.stage = Stage::Answer(answer);
        Ok(())
    }

    fn proceed(
        &mut self,
        mut answer: Answer,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<LoginStep, LoginError> {
        match payload {
            [0, ..] => {
                self.status = response::parse_ok(payload)?.status;
                return Ok(LoginStep::Done);
            }
            [0xff, ..] => return Err(ServerError::parse(payload)?.into()),
            [0xfe, request @ ..] => {
                answer = self.switch(request)?;
                let proof = answer.proof(&self.account.password, self.private)?;
                self.send(out, |out| out.extend_from_slice(&proof));
            }
            [1, data @ ..] => {
                if let Some(reply) = answer.more(data, &self.account.password, self.private)? {
                    self.send(out, |out| out.extend_from_slice(&reply));
                }
            }
            _ => return Err(ProtocolError::Malformed("answer to a login").into()),
        }
        self.stage = Stage::Answer(answer);
        Ok(LoginStep::Continue)
    }

    /// A request without a name is that of servers before 4.1 passwords.
    fn switch(&self, request: &[u8]) -> Result<Answer, LoginError> {
        let mut reader = crate::bytes::Reader(request);
        let name = reader.until_zero().unwrap_or(b"mysql_old_password");
        Answer::new(name, plugin::nonce(name, reader.0).to_vec())
            .map_err(|()| LoginError::UnknownPlugin(String::from_utf8_lossy(name).into_owned()))
    }

    fn send(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut sequence = self.sequence;
        packet::put(out, &mut sequence, write);
    }
}

/// What this client asks for. Compression, several statements at once, and MariaDB's extensions are left out.
fn wanted(account: &Account, local_files: bool) -> CapabilityFlags {
    let mut wanted = CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | CapabilityFlags::CLIENT_DEPRECATE_EOF;
    wanted.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, account.database.is_some());
    wanted.set(CapabilityFlags::CLIENT_LOCAL_FILES, local_files);
    wanted
}

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    /// Version text, for example `11.4.2-MariaDB`.
    pub version: String,
    /// Number of the connection, which `KILL` takes.
    pub connection: u32,
    pub capabilities: CapabilityFlags,
    /// Plugin it uses by default.
    plugin: Vec<u8>,
    /// Random bytes that the proof of the password contains.
    nonce: Vec<u8>,
}

impl Greeting {
    /// Reads protocol version 10, the only one since 1998.
    pub fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        Self::read(Reader(payload)).ok_or(ProtocolError::Malformed("greeting"))
    }

    fn read(mut reader: Reader<'_>) -> Option<Self> {
        if reader.u8()? != 10 {
            return None;
        }
        // MariaDB puts this before its version for replicas that know nothing above 5.
        let version = reader.until_zero()?;
        let version = version.strip_prefix(b"5.5.5-").unwrap_or(version);
        let version = String::from_utf8_lossy(version).into_owned();
        let connection = reader.u32()?;
        let mut nonce = reader.take(8)?.to_vec();
        reader.u8()?;
        let low = u32::from(reader.u16()?);
        // Collation and status; the rest is missing in servers too old to be used.
        reader.take(3)?;
        let high = u32::from(reader.u16()?);
        let nonce_length = usize::from(reader.u8()?);
        reader.take(10)?;
        let rest = reader.take(nonce_length.saturating_sub(8).max(13).min(reader.0.len()))?;
        nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
        // Some versions leave out the zero after the name.
        let plugin = reader.until_zero().unwrap_or(reader.0).to_vec();
        let capabilities = CapabilityFlags::from_bits_truncate(high << 16 | low);
        Some(Self { version, connection, capabilities, plugin, nonce })
    }
}
