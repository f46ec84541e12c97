//! What clients of the simulation say, and what of it is work.

use evenkeel_core::random::Random;
use evenkeel_wire::packet;

/// An account of the model server. None has a password.
pub const ORDINARY: &str = "app";
/// One that authenticates by the system user of a socket, which is the guard's own: nobody may get in as this one.
pub const SYSTEM: &str = "root";
/// One whose commands never wait.
pub const ADMINISTRATOR: &str = "boss";
/// One that is for clients of a single host.
pub const BOUND: &str = "clerk";
/// One that the server does not know.
pub const STRANGER: &str = "nobody";

/// Rows and names that can be locked.
pub const KEYS: u64 = 3;
/// Bytes of a text of which the guard sees only the beginning.
const UNSEEN: usize = 2_000;
/// MariaDB's number for the statement that was prepared last.
pub const LAST_PREPARED: u32 = u32::MAX;

/// A command that a simulated client sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Ping,
    NoDatabase,
    Select(u64),
    /// So many rows.
    Rows(u64),
    /// A text of so many bytes, far more than the guard looks at before it decides.
    Long(u64),
    Update(u64),
    Begin,
    Commit,
    Rollback,
    GetLock(u64),
    ReleaseLock(u64),
    ReleaseAll,
    LockTables,
    UnlockTables,
    /// All tables of the server, for reading.
    LockGlobal,
    LockBackup,
    UnlockBackup,
    /// A transaction that somebody else coordinates; it locks on when it is prepared, and its session goes on.
    XaStart,
    XaPrepare,
    XaRollback,
    /// The same behind a comment of which the guard does not see the end.
    XaRollbackUnseen,
    OpenHandler,
    CloseHandler,
    /// Two results of one command; the second takes a named lock.
    Two(u64),
    /// The second of them, while the first has been answered; the server's own.
    SecondOfTwo(u64),
    /// The same, but that the second begins what the server may refuse.
    LockThenXa(u64),
    /// Prepares one of the others.
    Prepare(Box<Command>),
    /// Runs the prepared statement of this number.
    Execute(u32),
    /// Forgets it; not answered.
    Close(u32),
    Reset,
    Sleep,
    Kill,
    /// Work that looks like a release.
    Smuggled(usize),
    ChangeUser(&'static str),
    /// A stream; granted or not.
    Dump,
    /// Asks the client for a file.
    Load,
    /// A parameter of a prepared statement, of so many bytes; not answered.
    LongData(u64),
    Quit,
    /// A goodbye with so many bytes behind it that half of it is on its way for a while.
    LongQuit,
}

const SMUGGLED: [&str; 4] = [
    "UPDATE t SET a = 1 WHERE RELEASE_ALL_LOCKS() = 0",
    "INSERT INTO t VALUES (RELEASE_ALL_LOCKS())",
    "DO RELEASE_ALL_LOCKS(), BENCHMARK(1000, 1)",
    "KILL (SELECT 17)",
];

impl Command {
    /// One of a client that takes locks and seldom anything else.
    pub fn of_locker(random: &mut Random) -> Self {
        let key = random.uniform(0, 1);
        match random.uniform(0, 11) {
            0..=2 => Self::GetLock(key),
            3..=4 => Self::ReleaseLock(key),
            5 => Self::Prepare(Box::new(Self::GetLock(key))),
            6 => Self::Execute(number(random)),
            7 => Self::Select(random.uniform(0, 9)),
            8..=10 => Self::of_whole_server(key, random),
            _ => Self::any(random),
        }
    }

    /// One that takes, or leads to, what not everybody may have.
    fn of_whole_server(key: u64, random: &mut Random) -> Self {
        match random.uniform(0, 11) {
            0..=1 => Self::LockTables,
            2..=3 => Self::LockGlobal,
            4..=5 => Self::LockBackup,
            6..=7 => Self::LockThenXa(key),
            8 => Self::XaStart,
            9 => Self::XaPrepare,
            10 => Self::XaRollbackUnseen,
            _ => Self::any(random),
        }
    }

    /// One of a client that takes them by prepared statements alone.
    pub fn of_preparer(random: &mut Random) -> Self {
        let key = random.uniform(0, 1);
        match random.uniform(0, 9) {
            0..=1 => Self::Prepare(Box::new(Self::GetLock(key))),
            2..=5 => Self::Execute(LAST_PREPARED),
            6 => Self::ReleaseLock(key),
            _ => Self::Select(random.uniform(0, 9)),
        }
    }

    /// A random command.
    pub fn any(random: &mut Random) -> Self {
        let key = random.uniform(0, KEYS - 1);
        match random.uniform(0, 139) {
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
            97..=99 => Self::LockTables,
            100..=101 => Self::UnlockTables,
            102..=104 => Self::OpenHandler,
            105..=106 => Self::CloseHandler,
            107..=110 => Self::Two(key),
            111..=114 => Self::Prepare(Box::new(Self::to_prepare(key, random))),
            115..=120 => Self::Execute(number(random)),
            121 => Self::Close(number(random)),
            122 => Self::Reset,
            123..=124 => Self::Long(random.uniform(900, 9_000)),
            125 => Self::LockGlobal,
            126 => Self::LockBackup,
            127 => Self::UnlockBackup,
            128 => Self::XaStart,
            129 => Self::XaPrepare,
            130 => Self::XaRollback,
            131..=133 => Self::LockThenXa(key),
            134..=137 => Self::LongData(random.uniform(1_100, 4_000)),
            138 => Self::LongQuit,
            _ => Self::Quit,
        }
    }

    fn to_prepare(key: u64, random: &mut Random) -> Self {
        match random.uniform(0, 4) {
            0 => Self::Select(key),
            1 => Self::Update(key),
            2 => Self::ReleaseLock(key),
            3 => Self::Rows(20),
            _ => Self::GetLock(key),
        }
    }

    /// Whether the server works for it, so that it needs a permit.
    pub fn is_work(&self) -> bool {
        use Command::{
            Begin, GetLock, Load, LockBackup, LockGlobal, LockTables, LockThenXa, Long, OpenHandler, Rows,
            SecondOfTwo, Select, Sleep, Smuggled, Two, Update, XaPrepare, XaStart,
        };
        matches!(
            self,
            Begin
                | GetLock(_)
                | Load
                | LockBackup
                | LockGlobal
                | LockTables
                | LockThenXa(_)
                | Long(_)
                | OpenHandler
                | Rows(_)
                | SecondOfTwo(_)
                | Select(_)
                | Sleep
                | Smuggled(_)
                | Two(_)
                | Update(_)
                | XaPrepare
                | XaStart
        )
    }

    /// Whether its session may hold something behind it that lets it pass the queue, or may seem to.
    pub fn may_hold(&self) -> bool {
        use Command::{
            Begin, ChangeUser, Dump, Execute, GetLock, Load, LockBackup, LockGlobal, LockTables, LockThenXa,
            Long, OpenHandler, Smuggled, Two, XaPrepare, XaRollbackUnseen, XaStart,
        };
        matches!(
            self,
            Begin
                | ChangeUser(_)
                | Dump
                | Execute(_)
                | GetLock(_)
                | Load
                | LockBackup
                | LockGlobal
                | LockTables
                | LockThenXa(_)
                | Long(_)
                | OpenHandler
                | Smuggled(_)
                | Two(_)
                | XaPrepare
                | XaRollbackUnseen
                | XaStart
        )
    }

    /// Whether it says of itself that it does not use the server.
    pub fn idles(&self) -> bool {
        matches!(self, Self::Sleep | Self::GetLock(_))
    }

    /// Whether its client says nothing more before it is answered.
    pub fn is_alone(&self) -> bool {
        self.is_goodbye() || matches!(self, Self::Load | Self::ChangeUser(_))
    }

    /// Whether the server answers it.
    pub fn is_answered(&self) -> bool {
        !self.is_goodbye() && !matches!(self, Self::Close(_) | Self::LongData(_))
    }

    /// Whether nothing follows it.
    pub fn is_goodbye(&self) -> bool {
        matches!(self, Self::Quit | Self::LongQuit)
    }

    /// Whether half of it may be on its way for a while.
    pub fn is_long(&self) -> bool {
        matches!(self, Self::Long(_) | Self::LongData(_) | Self::LongQuit)
    }

    /// Its payload. A number makes what may be refused one of its kind: which of two was it, else?
    pub fn payload(&self, number: u32) -> Vec<u8> {
        match self {
            Self::Ping => vec![0x0e],
            Self::NoDatabase => b"\x02nowhere".to_vec(),
            Self::ChangeUser(user) => {
                format!("\x11{user}\0\0shop\0\x2d\0mysql_native_password\0").into_bytes()
            }
            Self::Dump => b"\x12\x04\0\0\0\0\0\x09\0\0\0binlog.000001".to_vec(),
            Self::Prepare(of) => format!("\x16{} /* {number} */", of.sql()).into_bytes(),
            Self::Execute(statement) => {
                [&b"\x17"[..], &statement.to_le_bytes(), &[0], &number.to_le_bytes()].concat()
            }
            Self::Close(statement) => [&b"\x19"[..], &statement.to_le_bytes()].concat(),
            // Told from the guard's own, which is the code alone.
            Self::Reset => vec![0x1f, b'c'],
            Self::Quit => vec![0x01],
            Self::LongQuit => [&b"\x01"[..], &[0; 5_000]].concat(),
            Self::LongData(length) => {
                [&b"\x18\x01\0\0\0\0\0"[..], &number.to_le_bytes(), &vec![b'v'; *length as usize]].concat()
            }
            other => format!("\x03{} /* {number} */", other.sql()).into_bytes(),
        }
    }

    /// The text of a query; empty for what is none.
    fn sql(&self) -> String {
        match self {
            Self::Select(number) => format!("SELECT {number}"),
            Self::Rows(count) => format!("SELECT a FROM t LIMIT {count}"),
            Self::Long(length) => format!("INSERT INTO t VALUES ('{}')", "v".repeat(*length as usize)),
            Self::Update(key) => format!("UPDATE t SET a = a + 1 WHERE k = {key}"),
            Self::Begin => "BEGIN".into(),
            Self::Commit => "COMMIT".into(),
            Self::Rollback => "ROLLBACK".into(),
            Self::GetLock(name) => format!("SELECT GET_LOCK('{name}', 10)"),
            Self::ReleaseLock(name) => format!("SELECT RELEASE_LOCK('{name}')"),
            Self::ReleaseAll => "DO RELEASE_ALL_LOCKS()".into(),
            Self::LockTables => "LOCK TABLES t WRITE".into(),
            Self::UnlockTables => "UNLOCK TABLES".into(),
            Self::LockGlobal => "FLUSH TABLES WITH READ LOCK".into(),
            Self::LockBackup => "BACKUP STAGE START".into(),
            Self::UnlockBackup => "BACKUP STAGE END".into(),
            Self::XaStart => "XA START 'x'".into(),
            Self::XaPrepare => "XA PREPARE 'x'".into(),
            Self::XaRollback => "XA ROLLBACK 'x'".into(),
            Self::XaRollbackUnseen => format!("/* {} */ XA ROLLBACK 'x'", "c".repeat(UNSEEN)),
            Self::LockThenXa(name) => format!("SELECT GET_LOCK('{name}', 10); XA START 'x'"),
            Self::OpenHandler => "HANDLER t OPEN".into(),
            Self::CloseHandler => "HANDLER t CLOSE".into(),
            Self::Two(name) => format!("SELECT a FROM t LIMIT 20; SELECT GET_LOCK('{name}', 10)"),
            Self::Sleep => "SELECT SLEEP(3)".into(),
            Self::Kill => "KILL QUERY 17".into(),
            Self::Smuggled(index) => SMUGGLED[*index].into(),
            Self::Load => "LOAD DATA LOCAL INFILE 'x' INTO TABLE t".into(),
            _ => String::new(),
        }
    }
}

/// The number of a prepared statement that there may be.
fn number(random: &mut Random) -> u32 {
    match random.uniform(0, 4) {
        0 => LAST_PREPARED,
        number => number as u32,
    }
}

/// Somebody who wants to log in.
pub fn account(random: &mut Random) -> &'static str {
    match random.uniform(0, 9) {
        0..=4 => ORDINARY,
        5 => BOUND,
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
