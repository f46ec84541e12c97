//! A login makes a session of a connected channel.

use super::prepared::Prepared;
use super::{PIECE, ROW_MAX, Session, SessionError, receive, send};
use crate::server::{Address, Target, TlsMode};
use evenkeel_os::Channel;
use evenkeel_wire::{Account, CapabilityFlags, Encryption, Login, LoginStep, ResponseReader, login};

impl Session {
    /// Logs in over a channel that is connected.
    pub fn open(mut channel: Channel, target: &Target) -> Result<Self, SessionError> {
        let mut login = Login::new(account(target), reach(target), encryption(target)).with_local_files();
        let (mut inbox, mut out) = (vec![0; PIECE].into_boxed_slice(), Vec::new());
        loop {
            let count = receive(&mut channel, &mut inbox)?;
            match login.feed(&mut &inbox[..count], &mut out)? {
                LoginStep::Done => return Ok(Self::of(channel, inbox, &login)),
                LoginStep::Continue => {}
                LoginStep::StartTls => {
                    send(&mut channel, &mut out)?;
                    channel.start_tls(&target.tls_setup()?)?;
                    login.tls_started(&mut out)?;
                }
            }
            send(&mut channel, &mut out)?;
        }
    }

    fn of(channel: Channel, inbox: Box<[u8]>, login: &Login) -> Self {
        let deprecate_eof = login.capabilities().contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
        Self {
            channel,
            id: login.greeting().connection,
            reader: ResponseReader::new(deprecate_eof, ROW_MAX).with_names(),
            inbox,
            out: Vec::new(),
            prepared: Prepared::default(),
            warnings: 0,
            is_over: false,
        }
    }
}

fn account(target: &Target) -> Account {
    Account {
        user: target.user.clone(),
        password: target.password.clone().unwrap_or_default(),
        database: target.database.clone(),
    }
}

fn reach(target: &Target) -> login::Channel {
    match target.address {
        Address::Tcp { .. } => login::Channel::Network,
        Address::Unix(_) => login::Channel::Local,
    }
}

fn encryption(target: &Target) -> Encryption {
    match (&target.address, target.tls) {
        (Address::Unix(_), _) | (_, TlsMode::Disabled) => Encryption::Never,
        (_, TlsMode::Preferred) => Encryption::IfOffered,
        (_, TlsMode::Required | TlsMode::VerifyIdentity) => Encryption::Always,
    }
}
