//! A server, and this process, bear only so many sessions at once.

use super::{Control, Flavor, TargetError};
use evenkeel_os::{allow_descriptors, open_files};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Sessions beyond those that are open.
    pub sessions: u32,
    /// How many of them stay free for others, where nobody says how many are taken.
    left_free: u32,
    /// The limit with its values, as a part of a sentence: `max_connections is 151 with 6 in use`.
    pub limit: String,
    pub remedy: String,
}

/// Descriptors this process needs for itself: files of the run, threads' event queues, libraries.
const OWN_FILES: u64 = 64;

/// Sessions that a pool of nobody's choice leaves free, so that others can still log in and look.
const LEFT_FREE: u32 = 5;

/// Of a server that others use a pool takes one part in so many of the connections that are free.
const PART_FREE: u32 = 4;

impl Capacity {
    /// So many more sessions, and why no more.
    pub fn new(sessions: u32, limit: String, remedy: &str) -> Self {
        Self { sessions, left_free: LEFT_FREE, limit, remedy: remedy.to_owned() }
    }

    /// The same of a server that others use: at most a quarter of its free connections.
    #[must_use]
    pub fn of_others(self) -> Self {
        let sessions = self.sessions / PART_FREE;
        let limit = format!("a quarter of the {} free ones: {}", self.sessions, self.limit);
        Self { sessions, left_free: 0, limit, ..self }
    }

    /// Sessions of a pool whose size nobody asked for: as many as are borne, and `most` at most; one at least, so that
    /// the server itself says why it lets nobody in.
    pub fn pool(&self, most: u32) -> u32 {
        self.sessions.saturating_sub(self.left_free).clamp(1, most)
    }
}

/// Asks the server for its limits and this process for its own (whose soft limit of open files it raises to the hard
/// one); each session is to hold `prepared` statements. A limit that the server does not tell is none.
pub fn capacity(control: &mut Control, prepared: u32) -> Result<Capacity, TargetError> {
    let per_user = control.query_value("SELECT @@session.max_user_connections")?;
    let (variables, status) = (named(control, "VARIABLES", &VARIABLES)?, named(control, "STATUS", &STATUS)?);
    let limits = Limits { variables, status, per_user };
    Ok(limits.least(prepared, file_limit()))
}

const VARIABLES: [&str; 3] = ["max_connections", "max_prepared_stmt_count", "open_files_limit"];
const STATUS: [&str; 3] = ["Threads_connected", "Prepared_stmt_count", "Open_files"];

/// These alone: all of them are more than a thousand lines, which a load that counts its own CPU time need not read.
fn named(control: &mut Control, what: &str, names: &[&str]) -> Result<BTreeMap<String, String>, TargetError> {
    let list = names.join("', '");
    Ok(control.query(&format!("SHOW GLOBAL {what} WHERE Variable_name IN ('{list}')"))?.pairs().collect())
}

/// What bounds the sessions of a server.
pub(super) struct Limits {
    pub variables: BTreeMap<String, String>,
    pub status: BTreeMap<String, String>,
    /// Connections that the account may have; 0 is no limit.
    pub per_user: Option<String>,
}

impl Limits {
    pub fn variable(&self, name: &str) -> Option<u64> {
        self.variables.get(name)?.parse().ok()
    }

    fn used(&self, name: &str) -> u64 {
        self.status.get(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    fn least(&self, prepared: u32, own_files: u64) -> Capacity {
        let all = self.all(prepared, own_files).map(|(_, found)| found);
        all.min_by_key(|found| found.sessions).unwrap_or_else(|| own(own_files))
    }

    /// Each limit that is known, by the name of its setting.
    pub fn all(&self, prepared: u32, own_files: u64) -> impl Iterator<Item = (&'static str, Capacity)> {
        let found = [
            ("max_connections", self.connections()),
            ("max_user_connections", self.user_connections()),
            ("max_prepared_stmt_count", self.prepared(prepared)),
            ("open_files_limit", self.open_files()),
            ("RLIMIT_NOFILE", Some(own(own_files))),
        ];
        found.into_iter().filter_map(|(name, found)| Some((name, found?)))
    }

    fn connections(&self) -> Option<Capacity> {
        let (max, used) = (self.variable("max_connections")?, self.used("Threads_connected"));
        let limit = format!("max_connections is {max} with {used} in use");
        Some(bears(max.saturating_sub(used), limit, "raise it by SET GLOBAL max_connections"))
    }

    fn user_connections(&self) -> Option<Capacity> {
        let max = self.per_user.as_ref()?.parse::<u64>().ok().filter(|max| *max > 0)?;
        let limit = format!("max_user_connections is {max} for this account");
        // One is the connection that asks.
        Some(bears(max - 1, limit, "raise it by ALTER USER ... WITH MAX_USER_CONNECTIONS"))
    }

    fn prepared(&self, each: u32) -> Option<Capacity> {
        let (max, used) = (self.variable("max_prepared_stmt_count")?, self.used("Prepared_stmt_count"));
        let sessions = max.saturating_sub(used).checked_div(each.into())?;
        let limit =
            format!("max_prepared_stmt_count is {max} with {used} in use and each session prepares {each}");
        Some(bears(sessions, limit, "raise it by SET GLOBAL max_prepared_stmt_count"))
    }

    fn open_files(&self) -> Option<Capacity> {
        let max = self.variable("open_files_limit").filter(|max| *max > 0)?;
        let used = self.used("Threads_connected") + self.used("Open_files");
        let limit = format!("open_files_limit of the server is {max} with {used} in use");
        Some(bears(max.saturating_sub(used), limit, "raise it in the server's my.cnf"))
    }
}

/// Raises this process's soft limit of open files to the hard one, and returns what holds then.
pub fn file_limit() -> u64 {
    allow_descriptors();
    open_files()
}

fn own(files: u64) -> Capacity {
    let limit = format!("this process may open {files} files");
    bears(files.saturating_sub(OWN_FILES), limit, "raise it by `ulimit -n` before starting evenkeel")
}

fn bears(sessions: u64, limit: String, remedy: &str) -> Capacity {
    Capacity::new(u32::try_from(sessions).unwrap_or(u32::MAX), limit, remedy)
}

/// Whose status is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusOf {
    /// The whole server's.
    Server,
    /// That of the session that asks. Variables that a server keeps only as a whole are the whole's here too.
    Session,
}

impl Control {
    /// Status by name, in any case of letters; of these names alone, where there are some: a third of the price.
    ///
    /// A server does not count SHOW STATUS in the status of the session that asks, only in the whole. MariaDB is
    /// therefore asked by a SELECT, which it does count; MySQL keeps such tables where its performance schema is on,
    /// so that there it is SHOW STATUS, a few of whose own temporary tables stay in the whole.
    pub fn status_of(
        &mut self,
        whose: StatusOf,
        names: &[&str],
    ) -> Result<BTreeMap<String, String>, TargetError> {
        let names = match names {
            [] => String::new(),
            names => format!(" WHERE VARIABLE_NAME IN ('{}')", names.join("', '")),
        };
        let scope = match whose {
            StatusOf::Server => "GLOBAL",
            StatusOf::Session => "SESSION",
        };
        let sql = match self.version().flavor {
            Flavor::MariaDb => {
                format!("SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.{scope}_STATUS{names}")
            }
            Flavor::MySql => format!("SHOW {scope} STATUS{names}"),
        };
        Ok(self.query(&sql)?.pairs().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(variables: &[(&str, &str)], status: &[(&str, &str)], per_user: Option<&str>) -> Limits {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        Limits { variables: map(variables), status: map(status), per_user: per_user.map(str::to_owned) }
    }

    #[test]
    fn the_least_of_all_limits_holds_and_says_its_values() {
        let variables =
            [("max_connections", "151"), ("max_prepared_stmt_count", "16382"), ("open_files_limit", "32186")];
        let status = [("Threads_connected", "6"), ("Prepared_stmt_count", "382"), ("Open_files", "40")];
        let found = limits(&variables, &status, Some("0")).least(10, 1_024);
        assert_eq!((found.sessions, found.limit.as_str()), (145, "max_connections is 151 with 6 in use"));
        assert_eq!(limits(&variables, &status, Some("0")).least(160, 1_024).sessions, 100);
        assert_eq!(limits(&variables, &status, Some("41")).least(10, 1_024).sessions, 40);
        let own = limits(&[], &[], None).least(10, 1_024);
        assert_eq!((own.sessions, own.limit.as_str()), (960, "this process may open 1024 files"));
    }

    #[test]
    fn a_pool_of_nobodys_choice_leaves_room_for_others_and_is_never_empty() {
        let of = |sessions| bears(sessions, String::new(), "").pool(1_000);
        assert_eq!((of(145), of(5_000), of(3), of(0)), (140, 1_000, 1, 1));
        let others = bears(148, "max_connections is 151 with 3 in use".to_owned(), "").of_others();
        assert_eq!((others.pool(1_000), bears(3, String::new(), "").of_others().pool(9)), (37, 1));
        assert_eq!(others.limit, "a quarter of the 148 free ones: max_connections is 151 with 3 in use");
    }
}
