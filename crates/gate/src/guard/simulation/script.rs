//! What clients of the simulation say, and what of it is work.

use evenkeel_core::random::Random;
use evenkeel_wire::packet;

/// Accounts of the model server. Both have no password; the second authenticates by the system user of a socket,
/// which is the guard's own.
pub const ORDINARY: &str = "app";
pub const SYSTEM: &str = "root";
pub const ADMINISTRATOR: &str = "boss";
/// Not known to the server.
pub const STRANGER: &str = "nobody";

/// Rows and names that can be locked.
pub const KEYS: u64 = 3;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Ping,
    NoDatabase,
    Select(u64),
    /// So many rows.
    Rows(u64),
    Update(u64),
    Begin,
    Commit,
    Rollback,
    GetLock(u64),
    ReleaseLock(u64),
    ReleaseAll,
    Sleep,
    Kill,
    /// Work that looks like a release.
    Smuggled(usize),
    ChangeUser(&'static str),
    /// A stream; granted or not.
    Dump,
    Load,
    Quit,
}

const SMUGGLED: [&str; 4] = [
    "UPDATE t SET a = 1 WHERE RELEASE_ALL_LOCKS() = 0",
    "INSERT INTO t VALUES (RELEASE_ALL_LOCKS())",
    "DO RELEASE_ALL_LOCKS(), BENCHMARK(1000, 1)",
    "KILL (SELECT 17)",
];

impl Command {
    /// One at random.
    pub fn any(random: &mut Random) -> Self {
        let key = random.uniform(0, KEYS - 1);
        match random.uniform(0, 99) {
            0..=4 => Self::Ping,
            5..=7 => Self::NoDatabase,
            8..=27 => Self::Select(random.uniform(0, 1 << 40)),
            28..=35 => Self::Rows(random.uniform(1, 60)),
            36..=49 => Self::Update(key),
            50..=58 => Self::Begin,
            59..=65 => Self::Commit,
            66..=68 => Self::Rollback,
            69..=74 => Self::GetLock(key),
            75..=79 => Self::ReleaseLock(key),
            80 => Self::ReleaseAll,
            81..=82 => Self::Sleep,
            83 => Self::Kill,
            84..=87 => Self::Smuggled(random.uniform(0, SMUGGLED.len() as u64 - 1) as usize),
            88..=91 => Self::ChangeUser(account(random)),
            92..=93 => Self::Dump,
            94..=96 => Self::Load,
            _ => Self::Quit,
        }
    }

    /// Whether the server works for it, so that it needs a permit.
    pub fn is_work(&self) -> bool {
        use Command::{Begin, GetLock, Load, Rows, Select, Sleep, Smuggled, Update};
        matches!(self, Begin | GetLock(_) | Load | Rows(_) | Select(_) | Sleep | Smuggled(_) | Update(_))
    }

    /// Whether its client says nothing more before it is answered.
    pub fn is_alone(&self) -> bool {
        matches!(self, Self::Load | Self::Quit | Self::ChangeUser(_))
    }

    /// Its payload.
    pub fn payload(&self) -> Vec<u8> {
        let sql = |text: String| [b"\x03", text.as_bytes()].concat();
        match self {
            Self::Ping => vec![0x0e],
            Self::NoDatabase => b"\x02nowhere".to_vec(),
            Self::Select(number) => sql(format!("SELECT {number}")),
            Self::Rows(count) => sql(format!("SELECT a FROM t LIMIT {count}")),
            Self::Update(key) => sql(format!("UPDATE t SET a = a + 1 WHERE k = {key}")),
            Self::Begin => sql("BEGIN".into()),
            Self::Commit => sql("COMMIT".into()),
            Self::Rollback => sql("ROLLBACK".into()),
            Self::GetLock(name) => sql(format!("SELECT GET_LOCK('{name}', 10)")),
            Self::ReleaseLock(name) => sql(format!("SELECT RELEASE_LOCK('{name}')")),
            Self::ReleaseAll => sql("DO RELEASE_ALL_LOCKS()".into()),
            Self::Sleep => sql("SELECT SLEEP(3)".into()),
            Self::Kill => sql("KILL QUERY 17".into()),
            Self::Smuggled(index) => sql(SMUGGLED[*index].into()),
            Self::ChangeUser(user) => {
                format!("\x11{user}\0\0shop\0\x2d\0mysql_native_password\0").into_bytes()
            }
            Self::Dump => b"\x12\x04\0\0\0\0\0\x09\0\0\0binlog.000001".to_vec(),
            Self::Load => sql("LOAD DATA LOCAL INFILE 'x' INTO TABLE t".into()),
            Self::Quit => vec![0x01],
        }
    }
}

/// Somebody who wants to log in.
pub fn account(random: &mut Random) -> &'static str {
    match random.uniform(0, 9) {
        0..=5 => ORDINARY,
        6 => ADMINISTRATOR,
        7 => STRANGER,
        _ => SYSTEM,
    }
}

/// A payload as a packet with this number.
pub fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    packet::put(&mut out, &mut number.clone(), |out| out.extend_from_slice(payload));
    out
}
