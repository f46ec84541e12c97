//! What clients of the simulation say, and what of it is work.

use evenkeel_core::random::Random;
use evenkeel_wire::packet;

/// One whose commands never wait.
pub const ADMINISTRATOR: &str = "boss";
/// Accounts of the model server. None has a password.
const USERS: [&str; 4] = ["app", "app", "shop", ADMINISTRATOR];
/// Rows and names that can be locked.
const KEYS: u64 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Ping,
    /// Without a table.
    Bare,
    NoDatabase,
    Select(u64),
    Rows(u64),
    /// Locks a row until its transaction ends.
    Update(u64),
    Begin,
    Commit,
    GetLock(u64),
    ReleaseLock(u64),
    Two,
    Sleep,
    /// Ends the statement of a session with this number, or the whole session.
    Kill(u64, bool),
    /// The server asks the client for a file.
    Load,
    /// Forgets a prepared statement; not answered.
    Close,
    ChangeUser(&'static str),
    Quit,
}

impl Command {
    /// It may kill the session of that number.
    pub fn any(random: &mut Random, other: u64) -> Self {
        let key = random.uniform(0, KEYS - 1);
        match random.uniform(0, 99) {
            0..=2 => Self::Ping,
            3..=4 => Self::Bare,
            5..=7 => Self::NoDatabase,
            8..=26 => Self::Select(random.uniform(0, 1 << 40)),
            29..=36 => Self::Rows(random.uniform(1, 60)),
            37..=50 => Self::Update(key),
            51..=60 => Self::Begin,
            61..=70 => Self::Commit,
            71..=77 => Self::GetLock(key),
            78..=83 => Self::ReleaseLock(key),
            84..=87 => Self::Two,
            88..=89 => Self::Sleep,
            27..=28 | 90 => Self::Kill(other, random.chance(0.2)),
            91..=93 => Self::Load,
            94..=95 => Self::Close,
            96..=98 => Self::ChangeUser(account(random)),
            _ => Self::Quit,
        }
    }

    /// Whether the server works for it, so that it needs a permit.
    pub fn is_work(&self) -> bool {
        use Command::{Begin, GetLock, Load, Rows, Select, Sleep, Two, Update};
        matches!(self, Begin | GetLock(_) | Load | Rows(_) | Select(_) | Sleep | Two | Update(_))
    }

    /// Whether its session may hold something behind it that lets it pass the queue, or may seem to.
    pub fn may_hold(&self) -> bool {
        matches!(self, Self::Begin | Self::ChangeUser(_) | Self::GetLock(_) | Self::Load | Self::Two)
    }

    /// Whether its client says nothing more before it is answered.
    pub fn is_alone(&self) -> bool {
        matches!(self, Self::Quit | Self::Load | Self::ChangeUser(_))
    }

    pub fn is_answered(&self) -> bool {
        !matches!(self, Self::Quit | Self::Close)
    }

    /// Its payload. A number makes what may be refused one of its kind: which of two was it, else?
    pub fn payload(&self, number: u32) -> Vec<u8> {
        let sql = match self {
            Self::Ping => return vec![0x0e],
            Self::NoDatabase => return b"\x02nowhere".to_vec(),
            Self::ChangeUser(user) => {
                return format!("\x11{user}\0\0shop\0\x2d\0mysql_native_password\0").into_bytes();
            }
            Self::Close => return [&b"\x19"[..], &number.to_le_bytes()].concat(),
            Self::Quit => return vec![0x01],
            Self::Bare => "SELECT 1".to_owned(),
            Self::Select(number) => format!("SELECT {number} FROM t"),
            Self::Rows(count) => format!("SELECT a FROM t LIMIT {count}"),
            Self::Update(key) => format!("UPDATE t SET a = a + 1 WHERE k = {key}"),
            Self::Begin => "BEGIN".to_owned(),
            Self::Commit => "COMMIT".to_owned(),
            Self::GetLock(name) => format!("SELECT GET_LOCK('{name}', 10)"),
            Self::ReleaseLock(name) => format!("SELECT RELEASE_LOCK('{name}')"),
            Self::Two => "SELECT a FROM t LIMIT 20; SELECT 1".to_owned(),
            Self::Sleep => "SELECT SLEEP(3)".to_owned(),
            Self::Kill(number, false) => format!("KILL QUERY {number}"),
            Self::Kill(number, true) => format!("KILL {number}"),
            Self::Load => "LOAD DATA LOCAL INFILE 'x' INTO TABLE t".to_owned(),
        };
        format!("\x03{sql} /* {number} */").into_bytes()
    }
}

pub fn account(random: &mut Random) -> &'static str {
    USERS[random.uniform(0, USERS.len() as u64 - 1) as usize]
}

pub fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    packet::put(&mut out, &mut number.clone(), |out| out.extend_from_slice(payload));
    out
}
