//! Before a run it is checked whether the server, and this process, carry what the run asks for.

use super::capacity::{Capacity, Limits, file_limit};
use super::grants::Grants;
use super::{Control, Flavor, TargetError};
use evenkeel_core::Nanos;

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

/// ER_OPTION_PREVENTS_STATEMENT. SHOW GRANTS meets it where the server runs without its tables of privileges.
const OPTION_PREVENTS: u16 = 1290;

/// Looks at the server's limits, its mode, the account's privileges and this process's descriptors (whose
/// soft limit it raises to the hard one). The outer error: the server did not answer.
pub fn preflight(control: &mut Control, needs: &Needs) -> Result<Result<(), Vec<Problem>>, TargetError> {
    let variables = control.variables()?;
    let status = control.status()?;
    let per_user = control.query_value("SELECT @@session.max_user_connections")?;
    let (grants, unchecked) = grants(control)?;
    let server = Server { limits: Limits { variables, status, per_user }, flavor: control.version().flavor };
    let mut problems = Vec::from_iter(unchecked);
    problems.extend(server.sessions(needs, file_limit()));
    problems.extend(server.table_cache(needs));
    problems.extend(server.idle_timeout(needs));
    problems.extend(server.read_only(needs, &grants));
    problems.extend(server.local_infile(needs));
    problems.extend(privileges(needs, &grants));
    Ok(if problems.is_empty() { Ok(()) } else { Err(problems) })
}

/// Whether the account has a privilege on a database, or on a part of it. What a role brings may not be seen.
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
    limits: Limits,
    flavor: Flavor,
}

impl Server {
    fn is_on(&self, name: &str) -> bool {
        self.limits.variables.get(name).is_some_and(|value| !matches!(value.as_str(), "OFF" | "0" | ""))
    }

    /// Whether the server, the account and this process bear so many sessions.
    fn sessions(&self, needs: &Needs, own_files: u64) -> Vec<Problem> {
        let all = self.limits.all(needs.prepared_per_session, own_files);
        let short = all.filter(|(_, found)| found.sessions < needs.sessions);
        let told = |(subject, found): (&str, Capacity)| {
            let text = format!("{}, the run needs {} more sessions", found.limit, needs.sessions);
            problem(subject, text, format!("{}, or use fewer sessions", found.remedy))
        };
        short.filter_map(told).collect()
    }

    /// Each session keeps a table open while it uses it; below that the cache is emptied and filled all the
    /// time, which costs and is not what the run is meant to measure.
    fn table_cache(&self, needs: &Needs) -> Option<Problem> {
        let cache = self.limits.variable("table_open_cache")?;
        if cache >= needs.sessions.into() {
            return None;
        }
        let text = format!("table_open_cache is {cache} for {} sessions", needs.sessions);
        disturbance("table_open_cache", text, format!("SET GLOBAL table_open_cache = {}", needs.sessions * 2))
    }

    /// Our sessions do not call themselves interactive, so that interactive_timeout is not theirs.
    fn idle_timeout(&self, needs: &Needs) -> Option<Problem> {
        let timeout = self.limits.variable("wait_timeout")?;
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
        let value = self.limits.variables.get(name)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn server(variables: &[(&str, &str)], status: &[(&str, &str)]) -> Server {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        let limits = Limits { variables: map(variables), status: map(status), per_user: None };
        Server { limits, flavor: Flavor::MariaDb }
    }

    fn needs(sessions: u32) -> Needs {
        Needs { sessions, prepared_per_session: 10, writes: true, ..Needs::default() }
    }

    fn no_grants() -> Grants {
        Grants::parse([].into_iter())
    }

    #[test]
    fn what_bears_fewer_sessions_than_the_run_needs_is_a_problem_with_its_figures() {
        let variables = [("max_connections", "100"), ("max_prepared_stmt_count", "1000")];
        let status = [("Threads_connected", "40"), ("Prepared_stmt_count", "100")];
        let server = server(&variables, &status);
        assert!(server.sessions(&needs(60), 1_000).is_empty());
        let problems = server.sessions(&needs(61), 1_000);
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!(problem.text, "max_connections is 100 with 40 in use, the run needs 61 more sessions");
        assert!(problem.hint.contains("SET GLOBAL max_connections") && problem.blocks);
        let subjects: Vec<String> =
            server.sessions(&needs(91), 100).into_iter().map(|problem| problem.subject).collect();
        assert_eq!(subjects, ["max_connections", "max_prepared_stmt_count", "RLIMIT_NOFILE"]);
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
}
