//! What the account of `monitor` sees of the server, looked at once, when it is first let in.

use crate::config::guard::GuardConfig;
use crate::guard::log;
use crate::view::log::{Form, Lines, line};
use evenkeel_guard::event::{Event, Listener};
use evenkeel_guard::proxy::Address;
use evenkeel_os::clock::unix_time;
use evenkeel_site::server::{Control, TargetError};
use serde_json::json;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Accounts that are named; more would fill a line and say no more.
const NAMED_MAX: usize = 5;

/// Accounts that are bound to a host and may log in, the local ones first. Those in the list are the servers' own, and
/// locked. A role of MariaDB has an empty host.
const ACCOUNTS: &str = "SELECT User, Host FROM mysql.user WHERE Host NOT IN ('%', '') \
     AND User NOT IN ('mariadb.sys', 'mysql.sys', 'mysql.session', 'mysql.infoschema') \
     ORDER BY Host NOT IN ('localhost', '127.0.0.1', '::1'), User, Host LIMIT 1000";

/// What it looks for, and the log that it warns in.
pub struct Account {
    events: Arc<dyn Listener>,
    listen: String,
    proxy_protocol: bool,
    refuse_host_accounts: bool,
    has_asked: bool,
    has_failed: bool,
}

impl Account {
    pub fn new(config: &GuardConfig, events: Arc<dyn Listener>) -> Self {
        Self {
            events,
            listen: config.listen.iter().map(Address::to_string).collect::<Vec<_>>().join(", "),
            proxy_protocol: config.proxy_protocol,
            refuse_host_accounts: config.refuse_host_accounts,
            has_asked: false,
            has_failed: false,
        }
    }

    /// Warns that the account was not let in. A server that is not there yet shows in the clients' own logins.
    pub fn fail(&mut self, error: &TargetError) {
        let is_absent = matches!(
            error,
            TargetError::Refused { .. } | TargetError::Unreachable { .. } | TargetError::Timeout { .. }
        );
        if !is_absent && !self.has_failed {
            self.has_failed = true;
            let text =
                format!("{error}; lock waits are not measured, and the checks at the start are skipped");
            self.warn(
                "monitor",
                text,
                "correct the account of `monitor`; the guard tries again all the time",
            );
        }
    }

    pub fn ask(&mut self, control: &mut Control) {
        if std::mem::replace(&mut self.has_asked, true) {
            return;
        }
        if self.proxy_protocol {
            let networks = control.query_value("SELECT @@GLOBAL.proxy_protocol_networks").ok().flatten();
            self.proxy_networks(networks.as_deref());
        } else if !self.refuse_host_accounts {
            self.host_accounts(control.query(ACCOUNTS).map(|rows| names(rows.rows)));
        }
    }

    fn warn(&self, about: &'static str, text: String, hint: &str) {
        self.events.notify(&Event::Warned { about, text, hint: hint.into() });
    }

    fn proxy_networks(&self, networks: Option<&str>) {
        if networks.is_none_or(|networks| networks.trim().is_empty()) {
            let seen = networks.map_or(
                "the server has no proxy_protocol_networks",
                |_| "the server's proxy_protocol_networks is empty",
            );
            let text =
                format!("{seen}: it accepts the PROXY protocol from no address, and no client can log in");
            let hint = "set proxy_protocol_networks in the server to this host's address, or localhost for its \
                        socket; MySQL has no such setting: leave out `proxy_protocol`";
            self.warn("proxy_protocol", text, hint);
        }
    }

    fn host_accounts(&self, accounts: Result<Vec<String>, TargetError>) {
        let accounts = match accounts {
            Ok(accounts) => accounts,
            Err(error) => {
                let text = format!("whether accounts are bound to hosts is not known: {error}");
                return self.warn(
                    "host_accounts",
                    text,
                    "GRANT SELECT (User, Host) ON mysql.user TO the account",
                );
            }
        };
        if accounts.is_empty() {
            return;
        }
        let named = accounts.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = match accounts.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "accounts are bound to hosts: {named}{more}; the server sees all clients of this guard at the \
             guard's own host: all that reach {} may log in to accounts of that host, and none to the others",
            self.listen
        );
        let hint = "`proxy_protocol`, with proxy_protocol_networks in the server, shows it the clients' \
                    addresses; `refuse_host_accounts` refuses such accounts";
        self.warn("host_accounts", text, hint);
    }
}

fn names(rows: Vec<Vec<Option<String>>>) -> Vec<String> {
    let name = |row: Vec<Option<String>>| {
        let mut values = row.into_iter().map(Option::unwrap_or_default);
        Some(format!("{}@{}", values.next()?, values.next()?))
    };
    rows.into_iter().filter_map(name).collect()
}

/// At the end the log waits at most so long for its last lines to be read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The log of events, which any thread may write to.
pub struct EventLog {
    lines: Lines,
    state: Mutex<State>,
}

struct State {
    form: Form,
    /// Steps of the limit since the last line that counts them.
    steps: u64,
}

impl EventLog {
    /// Starts a log in the form that the configuration asks for. From now on panics of the process are lines of it as well: by
    /// default they would be written to stderr in the thread that panics, which has sessions to serve.
    pub fn start(config: &GuardConfig) -> io::Result<Self> {
        let state = State { form: config.log, steps: 0 };
        let lines = Lines::start(io::stderr())?;
        log_panics(lines.clone(), config.log);
        Ok(Self { lines, state: Mutex::new(state) })
    }

    /// Goes on in the form that another configuration asks for.
    pub fn set(&self, config: &GuardConfig) {
        self.lock().form = config.log;
    }

    /// Counts the last steps, and waits a moment for all lines to be read.
    pub fn rest(&self) {
        self.count_steps(&mut self.lock());
        self.lines.finish(LAST_WORDS);
    }

    fn count_steps(&self, state: &mut State) {
        let (steps, form) = (std::mem::take(&mut state.steps), state.form);
        if steps > 0 {
            let parts = ("info", "limits", json!({ "changes": steps }));
            self.lines.tell(line(parts, unix_time().as_millis(), form), form);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for EventLog {
    fn notify(&self, event: &Event) {
        let mut state = self.lock();
        if log::is_step(event) {
            state.steps += 1;
            return;
        }
        if matches!(event, Event::Limit { .. } | Event::Lanes(_)) {
            self.count_steps(&mut state);
        }
        self.lines.tell(log::line(event, unix_time().as_millis(), state.form), state.form);
    }
}

/// A panic as a line: it may hold any lock but that of the lines.
fn log_panics(lines: Lines, form: Form) {
    std::panic::set_hook(Box::new(move |info| {
        let thread = std::thread::current();
        // Nothing where the environment does not ask for it (RUST_BACKTRACE).
        let trace = Some(Backtrace::capture()).filter(|trace| trace.status() == BacktraceStatus::Captured);
        let (name, text) = (thread.name().unwrap_or_default(), info.to_string());
        let fields =
            json!({ "thread": name, "text": text, "backtrace": trace.map(|trace| trace.to_string()) });
        lines.tell(line(("error", "panic", fields), unix_time().as_millis(), form), form);
        if name == "main" {
            lines.finish(LAST_WORDS);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::log::line;
    use crate::view::log::Form;
    use std::sync::Mutex;

    /// The warnings of an account, as lines of a log.
    fn told(more: &str, look: impl FnOnce(&mut Account)) -> String {
        let text = format!("listen = '0.0.0.0:3307'\nbackend = 'db:3306'\n{more}");
        let config = GuardConfig::parse(&text).unwrap();
        let heard = Arc::new(Mutex::new(String::new()));
        let lines = Arc::clone(&heard);
        let listener = move |event: &Event| lines.lock().unwrap().push_str(&line(event, 0, Form::Text));
        look(&mut Account::new(&config, Arc::new(listener)));
        heard.lock().unwrap().clone()
    }

    #[test]
    fn a_server_that_takes_no_proxy_protocol_is_told_before_clients_find_out() {
        for networks in [None, Some(""), Some(" ")] {
            let told = told("proxy_protocol = true", |account| account.proxy_networks(networks));
            assert!(told.contains("no client can log in"), "{told}");
        }
        assert_eq!(told("", |account| account.proxy_networks(Some("10.0.0.1"))), "");
    }

    #[test]
    fn an_account_that_is_not_let_in_is_told_once_and_a_server_that_is_not_there_not_at_all() {
        let denied = TargetError::Login {
            address: "db:3306".into(),
            user: "m".into(),
            with_password: "with password",
            message: "Access denied".into(),
        };
        let refused = TargetError::Refused { address: "db:3306".into() };
        let told =
            told("", |account| [&refused, &denied, &denied].iter().for_each(|error| account.fail(error)));
        assert_eq!(told.matches("about=monitor").count(), 1, "{told}");
        assert!(told.contains("Access denied"), "{told}");
    }
}
