//! Before a run it is checked whether the server, and this process, carry what the run asks for.

use super::grants::Grants;
use super::{Control, Flavor, TargetError};
use evenkeel_core::Nanos;
use evenkeel_os::{allow_descriptors, open_files};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub struct Needs {
    pub sessions: u32,
    /// Prepared statements that each of them holds.
    pub prepared_per_session: u32,
    pub writes: bool,
    /// Whether it loads data by LOAD DATA LOCAL.
    pub local_infile: bool,
    /// How long a session may be idle: the length of the run.
    pub duration: Nanos,
    /// Database in which the privileges are needed.
    pub database: Option<String>,
    /// Privileges by their SQL names: `SELECT`, `INSERT`, `CREATE` ...
    pub privileges: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub subject: String,
    pub text: String,
    pub hint: String,
    /// Whether the run would fail; otherwise it would be disturbed.
    pub blocks: bool,
}

/// Descriptors this process needs for itself: files of the run, threads' event queues, libraries.
pub(super) const OWN_FILES: u64 = 64;

/// ER_OPTION_PREVENTS_STATEMENT. SHOW GRANTS meets it where the server runs without its tables of privileges.
const OPTION_PREVENTS: u16 = 1290;

/// Looks at the server's limits, its mode, the account's privileges and this process's descriptors (whose
/// soft limit it raises to the hard one). The outer error: the server did not answer.
pub fn preflight(control: &mut Control, needs: &Needs) -> Result<Result<(), Vec<Problem>>, TargetError> {
    let variables = control.variables()?;
    let status = control.status()?;
    let per_user = control.query_value("SELECT @@session.max_user_connections")?;
    let (grants, unchecked) = grants(control)?;
    let server = Server { variables, status, flavor: control.version().flavor };
    let mut problems = Vec::from_iter(unchecked);
    problems.extend(server.connections(needs));
    problems.extend(user_connections(needs, per_user.as_deref()));
    problems.extend(server.prepared_statements(needs));
    problems.extend(server.open_files(needs));
    problems.extend(server.table_cache(needs));
    problems.extend(server.idle_timeout(needs));
    problems.extend(server.read_only(needs, &grants));
    problems.extend(server.local_infile(needs));
    problems.extend(privileges(needs, &grants));
    problems.extend(own_files(needs, file_limit()));
    Ok(if problems.is_empty() { Ok(()) } else { Err(problems) })
}

/// Whether the account has a privilege on a database, or on a part of it. What a role brings may not be seen.
///
/// # Errors
/// The server does not answer.
pub fn has_privilege(control: &mut Control, privilege: &str, database: &str) -> Result<bool, TargetError> {
    Ok(grants(control)?.0.allow(privilege, Some(database)))
}

/// What the account may do. A server that does not look at privileges does not tell them either: there everybody may do
/// everything, and that is told as a disturbance.
fn grants(control: &mut Control) -> Result<(Grants, Option<Problem>), TargetError> {
    match control.query("SHOW GRANTS") {
        Ok(grants) => Ok((Grants::parse(grants.rows.iter().filter_map(|row| row.first()?.as_deref())), None)),
        Err(error) if error.code() == Some(OPTION_PREVENTS) => Ok((Grants::all(), no_privileges())),
        Err(error) => Err(error),
    }
}

fn no_privileges() -> Option<Problem> {
    let text = "the server runs with --skip-grant-tables: it checks no privileges, and every account may do everything";
    let hint = "to measure with privilege checks, start it without --skip-grant-tables";
    disturbance("skip-grant-tables", text.to_owned(), hint)
}

fn problem(subject: &str, text: String, hint: impl Into<String>) -> Option<Problem> {
    Some(Problem { subject: subject.into(), text, hint: hint.into(), blocks: true })
}

fn disturbance(subject: &str, text: String, hint: impl Into<String>) -> Option<Problem> {
    problem(subject, text, hint).map(|problem| Problem { blocks: false, ..problem })
}

struct Server {
    variables: BTreeMap<String, String>,
    status: BTreeMap<String, String>,
    flavor: Flavor,
}

impl Server {
    fn number(&self, name: &str) -> Option<u64> {
        self.variables.get(name)?.parse().ok()
    }

    fn counter(&self, name: &str) -> u64 {
        self.status.get(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    fn is_on(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|value| !matches!(value.as_str(), "OFF" | "0" | ""))
    }

    fn connections(&self, needs: &Needs) -> Option<Problem> {
        let max = self.number("max_connections")?;
        let used = self.counter("Threads_connected");
        if max.saturating_sub(used) >= needs.sessions.into() {
            return None;
        }
        let text =
            format!("max_connections is {max} with {used} in use, the run needs {} more", needs.sessions);
        let enough = used + u64::from(needs.sessions) + 10;
        problem(
            "max_connections",
            text,
            format!("SET GLOBAL max_connections = {enough}, or use fewer sessions"),
        )
    }

    fn prepared_statements(&self, needs: &Needs) -> Option<Problem> {
        let max = self.number("max_prepared_stmt_count")?;
        let used = self.counter("Prepared_stmt_count");
        let wanted = u64::from(needs.sessions) * u64::from(needs.prepared_per_session);
        if max.saturating_sub(used) >= wanted {
            return None;
        }
        let text = format!(
            "max_prepared_stmt_count is {max} with {used} in use, the run needs {wanted} ({} sessions x {} statements)",
            needs.sessions, needs.prepared_per_session
        );
        let hint = format!("SET GLOBAL max_prepared_stmt_count = {}, or use fewer sessions", used + wanted);
        problem("max_prepared_stmt_count", text, hint)
    }

    fn open_files(&self, needs: &Needs) -> Option<Problem> {
        let limit = self.number("open_files_limit").filter(|limit| *limit > 0)?;
        let used = self.counter("Threads_connected") + self.counter("Open_files");
        let wanted = u64::from(needs.sessions);
        if limit.saturating_sub(used) >= wanted {
            return None;
        }
        let text = format!(
            "open_files_limit is {limit} with {used} in use, the run needs {wanted} for its sessions"
        );
        problem("open_files_limit", text, "raise open_files_limit in the server's my.cnf and restart it")
    }

    /// Each session keeps a table open while it uses it; below that the cache is emptied and filled all the
    /// time, which costs and is not what the run is meant to measure.
    fn table_cache(&self, needs: &Needs) -> Option<Problem> {
        let cache = self.number("table_open_cache")?;
        if cache >= needs.sessions.into() {
            return None;
        }
        let text = format!("table_open_cache is {cache} for {} sessions", needs.sessions);
        disturbance("table_open_cache", text, format!("SET GLOBAL table_open_cache = {}", needs.sessions * 2))
    }

    /// Our sessions do not call themselves interactive, so that interactive_timeout is not theirs.
    fn idle_timeout(&self, needs: &Needs) -> Option<Problem> {
        let timeout = self.number("wait_timeout")?;
        let seconds = needs.duration.as_secs_f64().ceil();
        if timeout as f64 > seconds {
            return None;
        }
        let text =
            format!("wait_timeout is {timeout} s, the run takes {seconds} s: idle sessions are closed");
        disturbance("wait_timeout", text, format!("SET GLOBAL wait_timeout = {}", seconds + 600.0))
    }

    fn read_only(&self, needs: &Needs, grants: &Grants) -> Option<Problem> {
        if !needs.writes {
            return None;
        }
        // super_read_only stops everyone; read_only lets administrators through.
        let exempt = match self.flavor {
            Flavor::MariaDb => ["READ_ONLY ADMIN", "READ ONLY ADMIN", "SUPER"].as_slice(),
            Flavor::MySql => ["CONNECTION_ADMIN", "SUPER"].as_slice(),
        };
        let exempt = exempt.iter().any(|privilege| grants.allow(privilege, None));
        let name = ["super_read_only", "innodb_read_only", "read_only"]
            .into_iter()
            .find(|name| self.is_on(name) && !(*name == "read_only" && exempt))?;
        let value = self.variables.get(name)?;
        let hint = match name {
            "innodb_read_only" => "restart the server without innodb_read_only".into(),
            _ => format!("measure the primary, or SET GLOBAL {name} = OFF"),
        };
        problem(name, format!("{name} is {value} and the run writes"), hint)
    }

    fn local_infile(&self, needs: &Needs) -> Option<Problem> {
        if !needs.local_infile || self.is_on("local_infile") {
            return None;
        }
        let text = "local_infile is OFF and the data is loaded by LOAD DATA LOCAL".into();
        problem("local_infile", text, "SET GLOBAL local_infile = ON")
    }
}

/// 0 is no limit. MariaDB says -1 for "nobody but administrators", and then we would not be connected.
fn user_connections(needs: &Needs, value: Option<&str>) -> Option<Problem> {
    let max = value?.parse::<u64>().ok().filter(|max| *max > 0)?;
    // One is the control connection that asks.
    if max > needs.sessions.into() {
        return None;
    }
    let text =
        format!("max_user_connections is {max} for this account, the run needs {}", needs.sessions + 1);
    problem(
        "max_user_connections",
        text,
        "raise it (globally, or by ALTER USER ... WITH MAX_USER_CONNECTIONS)",
    )
}

fn privileges(needs: &Needs, grants: &Grants) -> Vec<Problem> {
    let database = needs.database.as_deref();
    let place = database.map_or("*.*".into(), |name| format!("`{name}`.*"));
    let missing = needs.privileges.iter().filter(|privilege| !grants.allow(privilege, database));
    missing
        .map(|privilege| Problem {
            subject: privilege.clone(),
            text: format!("the account has no {privilege} privilege on {place}"),
            hint: format!("GRANT {privilege} ON {place} TO the account"),
            // A role may bring it, and SHOW GRANTS does not always say so.
            blocks: !grants.has_role,
        })
        .collect()
}

fn own_files(needs: &Needs, limit: u64) -> Option<Problem> {
    let wanted = u64::from(needs.sessions) + OWN_FILES;
    if limit >= wanted {
        return None;
    }
    let text = format!("this process may open {limit} files, the run needs {wanted}");
    problem(
        "RLIMIT_NOFILE",
        text,
        format!("ulimit -n {wanted} before starting evenkeel, or use fewer sessions"),
    )
}

/// Raises this process's soft limit of open files to the hard one, and returns what holds then.
pub fn file_limit() -> u64 {
    allow_descriptors();
    open_files()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(variables: &[(&str, &str)], status: &[(&str, &str)]) -> Server {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        Server { variables: map(variables), status: map(status), flavor: Flavor::MariaDb }
    }

    fn needs(sessions: u32) -> Needs {
        Needs { sessions, prepared_per_session: 10, writes: true, ..Needs::default() }
    }

    fn no_grants() -> Grants {
        Grants::parse([].into_iter())
    }

    #[test]
    fn connections_in_use_count_against_the_limit() {
        let server = server(&[("max_connections", "100")], &[("Threads_connected", "40")]);
        assert_eq!(server.connections(&needs(60)), None);
        let problem = server.connections(&needs(61)).unwrap();
        assert_eq!(problem.text, "max_connections is 100 with 40 in use, the run needs 61 more");
        assert!(problem.hint.contains("SET GLOBAL max_connections = 111") && problem.blocks);
    }

    #[test]
    fn prepared_statements_are_sessions_times_statements() {
        let server = server(&[("max_prepared_stmt_count", "1000")], &[("Prepared_stmt_count", "100")]);
        assert_eq!(server.prepared_statements(&needs(90)), None);
        assert!(server.prepared_statements(&needs(91)).unwrap().text.contains("needs 910 (91 sessions x 10"));
    }

    #[test]
    fn an_account_needs_room_for_the_control_connection_too() {
        assert_eq!(user_connections(&needs(9), Some("10")), None);
        assert_eq!(user_connections(&needs(900), Some("0")), None);
        assert!(user_connections(&needs(10), Some("10")).is_some());
    }

    #[test]
    fn read_only_stops_writes_but_not_administrators_or_reads() {
        let on = server(&[("read_only", "ON"), ("super_read_only", "OFF")], &[]);
        assert_eq!(on.read_only(&needs(1), &no_grants()).unwrap().subject, "read_only");
        let admin = Grants::parse(["GRANT ALL PRIVILEGES ON *.* TO x"].into_iter());
        assert_eq!(on.read_only(&needs(1), &admin), None);
        assert_eq!(on.read_only(&Needs::default(), &no_grants()), None);
        let super_on = server(&[("read_only", "ON"), ("super_read_only", "ON")], &[]);
        assert_eq!(super_on.read_only(&needs(1), &admin).unwrap().subject, "super_read_only");
    }

    #[test]
    fn a_short_wait_timeout_disturbs_a_long_run() {
        let server = server(&[("wait_timeout", "60")], &[]);
        let needs = Needs { duration: Nanos::from_secs(59), ..needs(1) };
        assert_eq!(server.idle_timeout(&needs), None);
        let needs = Needs { duration: Nanos::from_secs(60), ..needs };
        assert!(!server.idle_timeout(&needs).unwrap().blocks);
    }

    #[test]
    fn missing_privileges_are_named_with_their_place() {
        let needs = Needs {
            database: Some("shop".into()),
            privileges: vec!["SELECT".into(), "DROP".into()],
            ..Needs::default()
        };
        let grants = Grants::parse(["GRANT SELECT ON `shop`.* TO x"].into_iter());
        let problems = privileges(&needs, &grants);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].text, "the account has no DROP privilege on `shop`.*");
    }

    #[test]
    fn our_own_descriptors_are_counted_and_raised() {
        assert_eq!(own_files(&needs(36), 100), None);
        assert!(own_files(&needs(37), 100).unwrap().text.contains("may open 100 files, the run needs 101"));
        assert!(file_limit() >= 256);
    }
}
