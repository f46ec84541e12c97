//! The login as a relay sees it: it passes what both sides say and knows no password.
//!
//! Of the server's greeting it takes away what cannot pass (compression; features that nobody here has heard
//! of), and it sets or removes TLS by what its own two legs do. Where only one leg has TLS, that one has a
//! packet more, and the numbers of the packets differ by one until the login is over.

use super::query::{Dialect, bit};
use crate::bytes::Reader;
use crate::error::ProtocolError;
use crate::packet;

/// Largest packet of a login: whoever sends half of one is not known yet, and keeps so much of a relay's memory. Logins of
/// all clients that were tried have some hundred bytes, a public key has 500, a ticket of Kerberos a few thousand.
pub const PACKET_MAX: usize = 16 << 10;
/// Length of a request for TLS, which is also the beginning of a client's answer.
const TLS_REQUEST_BYTES: usize = 32;

#[derive(Clone, Debug)]
pub struct ServerHello {
    payload: Vec<u8>,
    /// Where the lower and the upper half of the capabilities and MariaDB's own stand.
    low: usize,
    high: usize,
    mariadb: usize,
}

impl ServerHello {
    /// Reads protocol version 10; servers before 4.1 are refused.
    pub fn parse(payload: Vec<u8>) -> Result<Self, ProtocolError> {
        let mut reader = Reader(&payload);
        let mut find = || {
            (reader.u8()? == 10).then_some(())?;
            reader.until_zero()?;
            reader.take(4 + 8 + 1)?;
            let low = payload.len() - reader.0.len();
            // Collation and status are between the halves; the nonce's length and six unused bytes behind.
            reader.take(2 + 3 + 2 + 1 + 6 + 4)?;
            Some(low)
        };
        let low = find().ok_or(ProtocolError::Malformed("greeting"))?;
        let hello = Self { payload, low, high: low + 5, mariadb: low + 14 };
        match hello.capabilities() & bit::PROTOCOL_41 {
            0 => Err(ProtocolError::Malformed("greeting of a server before 4.1")),
            _ => Ok(hello),
        }
    }

    fn half(&self, at: usize) -> u64 {
        u64::from(u16::from_le_bytes([self.payload[at], self.payload[at + 1]]))
    }

    /// What the server offers.
    pub fn capabilities(&self) -> u64 {
        let bits = self.half(self.high) << 16 | self.half(self.low);
        // MySQL servers say so by this bit and have nothing in the last four bytes.
        match bits & bit::LONG_PASSWORD {
            0 => bits | self.half(self.mariadb) << 32 | self.half(self.mariadb + 2) << 48,
            _ => bits,
        }
    }

    /// What the server calls the session: the number that KILL takes.
    pub fn thread(&self) -> u32 {
        let mut reader = Reader(&self.payload);
        reader.u8();
        reader.until_zero();
        reader.u32().unwrap_or_default()
    }

    /// Whether the server can do TLS.
    pub fn offers_tls(&self) -> bool {
        self.capabilities() & bit::SSL != 0
    }

    /// Takes away what cannot pass, and offers TLS or not.
    pub fn restrict(&mut self, tls: bool) {
        let cannot = bit::COMPRESS | bit::ZSTD | bit::OPTIONAL_METADATA | bit::SSL;
        let kept = self.capabilities() & !cannot & (0xffff_ffff | bit::MARIADB);
        let bits = if tls { kept | bit::SSL } else { kept };
        let halves = [(self.low, bits), (self.high, bits >> 16)];
        let mariadb = [(self.mariadb, bits >> 32), (self.mariadb + 2, bits >> 48)];
        let is_mariadb = bits & bit::LONG_PASSWORD == 0;
        for (at, half) in halves.into_iter().chain(mariadb.into_iter().filter(|_| is_mariadb)) {
            self.payload[at..at + 2].copy_from_slice(&(half as u16).to_le_bytes());
        }
    }

    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientHello {
    /// What it asks for.
    pub capabilities: u64,
    /// Who logs in, as the server takes it.
    pub user: Vec<u8>,
    /// Default database, empty for none.
    pub database: Vec<u8>,
    /// Plugin by which it proves its password, empty for the server's default.
    pub plugin: Vec<u8>,
}

/// Whether a client asks for TLS before it says anything of itself.
pub fn is_tls_request(payload: &[u8]) -> bool {
    payload.len() == TLS_REQUEST_BYTES && u64::from(payload[1]) << 8 & bit::SSL != 0
}

/// The request for TLS that goes before an answer of a client.
pub fn tls_request(answer: &[u8]) -> Option<Vec<u8>> {
    let mut request = answer.get(..TLS_REQUEST_BYTES)?.to_vec();
    set_tls(&mut request, true);
    Some(request)
}

/// Says in an answer of a client whether the connection is under TLS.
pub fn set_tls(answer: &mut [u8], tls: bool) {
    let ssl = (bit::SSL >> 8) as u8;
    if let Some(byte) = answer.get_mut(1) {
        *byte = if tls { *byte | ssl } else { *byte & !ssl };
    }
}

/// Takes from an answer of a client what was not offered to it: the server, which offered more, would grant it,
/// and answer in forms that nobody here has heard of.
pub fn restrict_answer(answer: &mut [u8]) {
    let is_mariadb = answer.first().is_some_and(|byte| u64::from(*byte) & bit::LONG_PASSWORD == 0);
    if let Some(byte) = answer.get_mut(3) {
        *byte &= !((bit::OPTIONAL_METADATA >> 24) as u8);
    }
    let known = ((bit::MARIADB >> 32) as u32).to_le_bytes();
    for (byte, known) in answer.iter_mut().skip(28).zip(known).filter(|_| is_mariadb) {
        *byte &= known;
    }
}

impl ClientHello {
    /// Reads an answer; clients before 4.1 are refused, and those that compress though it was not offered.
    pub fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        let hello = Self::read(payload).ok_or(ProtocolError::Malformed("answer to the greeting"))?;
        match hello.capabilities & (bit::COMPRESS | bit::ZSTD) {
            0 => Ok(hello),
            _ => Err(ProtocolError::Malformed("answer to the greeting: compression was not offered")),
        }
    }

    fn read(payload: &[u8]) -> Option<Self> {
        let mut reader = Reader(payload);
        let mut capabilities = u64::from(reader.u32()?);
        if capabilities & bit::PROTOCOL_41 == 0 {
            return None;
        }
        reader.take(4 + 1 + 19)?;
        let mariadb = u64::from(reader.u32()?);
        if capabilities & bit::LONG_PASSWORD == 0 {
            capabilities |= mariadb << 32;
        }
        let has = |bit: u64| capabilities & bit != 0;
        let user = without_quotes(reader.until_zero()?).to_vec();
        if has(bit::PLUGIN_AUTH_LENENC) {
            reader.string()?;
        } else if has(bit::SECURE_CONNECTION) {
            let length = usize::from(reader.u8()?);
            reader.take(length)?;
        } else {
            reader.until_zero()?;
        }
        // Clients differ in whether the last string has its zero.
        let mut text = |bit| match has(bit) {
            true => reader.until_zero().unwrap_or_else(|| std::mem::take(&mut reader.0)).to_vec(),
            false => Vec::new(),
        };
        let database = text(bit::CONNECT_WITH_DB);
        let plugin = text(bit::PLUGIN_AUTH);
        Some(Self { capabilities, user, database, plugin })
    }

    /// What both sides can do.
    pub fn dialect(&self, server: &ServerHello) -> Dialect {
        Dialect::new(self.capabilities & server.capabilities())
    }
}

/// Servers take single quotes off that stand around the name of a login, once; not around that of a change of user.
fn without_quotes(user: &[u8]) -> &[u8] {
    match user {
        [b'\'', name @ .., b'\''] => name,
        name => name,
    }
}

/// Plugin that a change of user names; empty for none, `None` where the head does not show it.
pub fn plugin_of_change(head: &[u8], dialect: Dialect) -> Option<&[u8]> {
    if !dialect.names_plugins() {
        return Some(&[]);
    }
    let mut reader = Reader(head.get(1..)?);
    reader.until_zero()?;
    let length = usize::from(reader.u8()?);
    reader.take(length)?;
    reader.until_zero()?;
    if reader.0.is_empty() {
        return Some(&[]);
    }
    reader.u16()?;
    if reader.0.is_empty() { Some(&[]) } else { reader.until_zero() }
}

/// User and database that a change of user names, as far as the head shows them.
pub fn names_of_change(head: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut reader = Reader(head.get(1..)?);
    let user = reader.until_zero()?;
    let length = usize::from(reader.u8()?);
    reader.take(length)?;
    Some((user, reader.until_zero()?))
}

/// What a server says during a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// The session is there.
    Accepted {
        /// Flags of [`crate::status`].
        status: u16,
    },
    /// It is not.
    Refused,
    /// The password is to be proved by another plugin, or a further factor by this one.
    Switch(&'a [u8]),
    /// The plugin goes on.
    More,
}

/// Reads a packet of a server's during a login.
pub fn verdict(payload: &[u8]) -> Result<Verdict<'_>, ProtocolError> {
    match payload {
        [0, ..] => Ok(Verdict::Accepted { status: crate::response::parse_ok(payload)?.status }),
        [0xff, ..] => Ok(Verdict::Refused),
        // Without a name it is the way of servers before 4.1.
        [0xfe, request @ ..] => {
            Ok(Verdict::Switch(Reader(request).until_zero().unwrap_or(b"mysql_old_password")))
        }
        // A further factor names its plugin.
        [2, request @ ..] => Ok(Verdict::Switch(Reader(request).until_zero().unwrap_or(request))),
        [1, ..] => Ok(Verdict::More),
        _ => Err(ProtocolError::Malformed("answer to a login")),
    }
}

/// Appends an error packet. Before a login clients do not expect the SQLSTATE yet.
pub fn put_error(out: &mut Vec<u8>, sequence: u8, code: u16, state: Option<&[u8; 5]>, text: &str) {
    let mut sequence = sequence;
    packet::put(out, &mut sequence, |out| {
        out.push(0xff);
        out.extend_from_slice(&code.to_le_bytes());
        if let Some(state) = state {
            out.push(b'#');
            out.extend_from_slice(state);
        }
        out.extend_from_slice(text.as_bytes());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(low: u16, high: u16, mariadb: u32) -> Vec<u8> {
        [
            &b"\x0a5.5.5-10.11\0\x07\0\0\0abcdefgh\0"[..],
            &low.to_le_bytes(),
            &[45, 2, 0],
            &high.to_le_bytes(),
            &[21, 0, 0, 0, 0, 0, 0],
            &mariadb.to_le_bytes(),
            b"ijklmnopqrst\0mysql_native_password\0",
        ]
        .concat()
    }

    #[test]
    fn a_greeting_loses_what_cannot_pass_and_nothing_else() {
        let mut hello = ServerHello::parse(greeting(0xfffe, 0xffff, 0xffff_ffff)).unwrap();
        hello.restrict(false);
        let expected = 0xfffe & !0x0820_u16;
        assert_eq!(hello.payload(), greeting(expected, !0x0600, 0b11_1101));
        hello.restrict(true);
        assert_eq!(hello.payload(), greeting(expected | 0x0800, !0x0600, 0b11_1101));
        let mut mysql = ServerHello::parse(greeting(0xffff, 0xffff, 0)).unwrap();
        mysql.restrict(true);
        assert_eq!(mysql.payload(), greeting(!0x0020, !0x0600, 0));
    }

    #[test]
    fn old_servers_and_short_greetings_are_refused() {
        assert!(ServerHello::parse(greeting(0xfdfe, 0xffff, 0)).is_err());
        let whole = greeting(0xfffe, 0xffff, 0);
        for end in 0..40 {
            assert!(ServerHello::parse(whole[..end].to_vec()).is_err());
        }
    }

    fn answer(bits: u64, proof: &[u8], rest: &[u8]) -> Vec<u8> {
        let low = (bits as u32).to_le_bytes();
        let high = ((bits >> 32) as u32).to_le_bytes();
        [&low[..], &[0, 0, 0, 1, 45], &[0; 19], &high, b"me\0", proof, rest].concat()
    }

    #[test]
    fn an_answer_shows_who_wants_what() {
        let bits = bit::PROTOCOL_41 | bit::PLUGIN_AUTH | bit::CONNECT_WITH_DB | bit::CACHE_METADATA;
        for (extra, proof) in [(bit::PLUGIN_AUTH_LENENC, &b"\x02xy"[..]), (bit::SECURE_CONNECTION, b"\x01x")]
        {
            for end in ["\0", ""] {
                let payload = answer(bits | extra, proof, format!("shop\0client_ed25519{end}").as_bytes());
                let hello = ClientHello::parse(&payload).unwrap();
                assert_eq!((hello.user, hello.database), (b"me".to_vec(), b"shop".to_vec()));
                assert_eq!((hello.plugin, hello.capabilities), (b"client_ed25519".to_vec(), bits | extra));
            }
        }
        let old = answer(bit::SECURE_CONNECTION, b"\0", b"");
        let compressed = answer(bit::PROTOCOL_41 | bit::COMPRESS, b"\0", b"");
        for refused in [&old, &compressed, &old[..20].to_vec()] {
            assert!(ClientHello::parse(refused).is_err());
        }
    }

    #[test]
    fn tls_is_asked_for_and_taken_back() {
        let mut payload = answer(bit::PROTOCOL_41, b"\0", b"");
        let request = tls_request(&payload).unwrap();
        assert!(is_tls_request(&request) && !is_tls_request(&payload));
        set_tls(&mut payload, true);
        assert_eq!(payload[..32], request);
        set_tls(&mut payload, false);
        assert_eq!(payload, answer(bit::PROTOCOL_41, b"\0", b""));
    }

    #[test]
    fn an_answer_cannot_ask_for_what_was_not_offered() {
        let unknown = bit::OPTIONAL_METADATA | 0xffff_ff02 << 32;
        let known = bit::PROTOCOL_41 | bit::DEPRECATE_EOF | bit::CACHE_METADATA;
        let mut payload = answer(known | unknown, b"\0", b"");
        restrict_answer(&mut payload);
        assert_eq!(payload, answer(known, b"\0", b""));
        // What stands there in an answer of MySQL's is nobody's.
        let mysql = answer(known | bit::LONG_PASSWORD | 0xff << 56, b"\0", b"");
        let mut payload = mysql.clone();
        restrict_answer(&mut payload);
        assert_eq!(payload, mysql);
        restrict_answer(&mut []);
    }

    #[test]
    fn a_change_of_user_names_its_plugin() {
        let dialect = Dialect::new(bit::PLUGIN_AUTH);
        let head = b"\x11me\0\x02xyshop\0\x2d\0client_ed25519\0\x00";
        assert_eq!(plugin_of_change(head, dialect), Some(&b"client_ed25519"[..]));
        assert_eq!(names_of_change(head), Some((&b"me"[..], &b"shop"[..])));
        assert_eq!(plugin_of_change(&head[..20], dialect), None);
        assert_eq!(plugin_of_change(&head[..12], dialect), Some(&b""[..]));
    }

    #[test]
    fn quotes_around_a_user_are_taken_off_once_as_servers_do() {
        for (sent, user) in
            [("app", "app"), ("'app'", "app"), ("''app''", "'app'"), ("'app", "'app"), ("'", "'")]
        {
            let capabilities = (bit::PROTOCOL_41 | bit::SECURE_CONNECTION) as u32;
            let payload = [&capabilities.to_le_bytes()[..], &[0; 28], sent.as_bytes(), b"\0\0"].concat();
            assert_eq!(ClientHello::parse(&payload).unwrap().user, user.as_bytes(), "{sent}");
        }
    }

    #[test]
    fn a_verdict_is_read_from_its_first_byte() {
        assert_eq!(verdict(b"\0\0\0\x02\0\0\0").unwrap(), Verdict::Accepted { status: 2 });
        assert_eq!(verdict(b"\xfedialog\0rest").unwrap(), Verdict::Switch(b"dialog"));
        assert_eq!(verdict(b"\xfe").unwrap(), Verdict::Switch(b"mysql_old_password"));
        assert_eq!(verdict(b"\x02mysql_clear_password\0").unwrap(), Verdict::Switch(b"mysql_clear_password"));
        assert_eq!(verdict(b"\x01\x04").unwrap(), Verdict::More);
        assert!(verdict(b"").is_err() && verdict(b"\x03").is_err() && verdict(b"\0\0").is_err());
    }
}
