//! What changes when a configuration is read again: what holds at once, and what holds only after a restart.

use super::{Control, GuardConfig, Queue};
use crate::config::fields::Keys;

/// The keys that differ, by when they hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub applied: Vec<&'static str>,
    pub restart: Vec<&'static str>,
}

/// Keys that are tables of others.
const TABLES: [&str; 4] = ["control", "queue", "client_tls", "backend_tls"];

impl Changes {
    /// Takes over what can be taken over while clients are connected; `old` is what holds afterwards, so that the next
    /// reload is compared with the truth.
    pub fn take_over(old: &mut GuardConfig, new: &GuardConfig) -> Self {
        let mut applied = differing(old, new);
        (old.log, old.drain, old.weights) = (new.log, new.drain, new.weights.clone());
        old.queue = Queue { by: old.queue.by, ..new.queue };
        let (own, control) = (old.control.clone(), new.control.clone());
        let Control { counters, mut monitor, journal, state, .. } = own;
        // The first one needs sensors of its own.
        if let (Some(held), Some(new)) = (&mut monitor, &new.control.monitor) {
            held.clone_from(new);
        }
        if old.can_lead_to(new) {
            old.backend = new.backend.clone();
        }
        old.control = Control { counters, monitor, journal, state, ..control };
        let restart = differing(old, new);
        applied.retain(|key| !restart.contains(key));
        Self { applied, restart }
    }
}

fn differing(old: &GuardConfig, new: &GuardConfig) -> Vec<&'static str> {
    let tables = [
        old.differing(new),
        old.control.differing(&new.control),
        old.queue.differing(&new.queue),
        old.client_tls.differing(&new.client_tls),
        old.backend_tls.differing(&new.backend_tls),
    ];
    tables.into_iter().flatten().filter(|key| !TABLES.contains(key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fields::tests::known;

    const SHORT: &str = "listen = '127.0.0.1:3307'\nbackend = '127.0.0.1:3306'\n";

    /// Every key that a file can have, with a value that is not its default; whether a reload takes it over.
    const KEYS: [(&str, &str, bool); 35] = [
        ("listen", "listen = '127.0.0.1:3308'", false),
        ("backend", "backend = '127.0.0.1:3309'", true),
        ("threads", "threads = 33", false),
        ("administrators", "administrators = ['root']", false),
        ("lanes", "lanes = 'user=a long'", false),
        ("runaway_max", "runaway_max = '9s'", false),
        ("metrics", "metrics = '127.0.0.1:9307'", false),
        ("login_max", "login_max = '11s'", false),
        ("clients_max", "clients_max = 9", false),
        ("backend_silence", "backend_silence = '16s'", false),
        ("proxy_protocol", "proxy_protocol = true", false),
        ("refuse_host_accounts", "refuse_host_accounts = true", false),
        ("log", "log = 'json'", true),
        ("drain", "drain = '11s'", true),
        ("controller", "control.controller = 'fixed'", true),
        ("reflection_span", "control.reflection_span = '6s'", true),
        ("initial_limit", "control.initial_limit = 9", true),
        ("max_limit", "control.max_limit = 99", true),
        ("tick", "control.tick = '99ms'", true),
        ("dry_run", "control.dry_run = true", true),
        ("memory", "control.memory = { budget = '2G', each = '40M' }", true),
        ("counters", "control.counters = true", false),
        ("monitor", "control.monitor = 'mysql://m@127.0.0.1:3306'", false),
        ("journal", "control.journal = '/tmp/journal'", false),
        ("state", "control.state = '/tmp/state'", false),
        ("queue.by", "queue.by = 'database'", false),
        ("queue.length", "queue.length = 9", true),
        ("queue.wait", "queue.wait = '9s'", true),
        ("weights", "weights.shop = 3", true),
        ("queue.aside_max", "queue.aside_max = 9", true),
        ("client_tls.mode", "client_tls.mode = 'disabled'", false),
        (
            "client_tls.certificate client_tls.key",
            "client_tls.certificate = 'a'\nclient_tls.key = 'b'",
            false,
        ),
        ("client_tls.self_signed", "client_tls.self_signed = true", false),
        ("backend_tls.mode", "backend_tls.mode = 'required'", false),
        ("backend_tls.authorities", "backend_tls.authorities = 'c'", false),
    ];

    fn parse(lines: &[&str]) -> GuardConfig {
        let mut text = String::new();
        for short in SHORT.lines() {
            let key = short.split(' ').next().unwrap_or_default();
            if !lines.iter().any(|line| line.split(' ').next() == Some(key)) {
                text.push_str(&format!("{short}\n"));
            }
        }
        lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        GuardConfig::parse(&text).unwrap()
    }

    #[test]
    fn every_key_is_taken_over_or_named_as_one_that_needs_a_restart() {
        for (key, line, now) in &KEYS {
            let (mut held, new) = (parse(&[]), parse(&[line]));
            let expected = match now {
                true => Changes { applied: key.split(' ').collect(), restart: vec![] },
                false => Changes { applied: vec![], restart: key.split(' ').collect() },
            };
            assert_eq!(Changes::take_over(&mut held, &new), expected, "{key}");
            // A second reload finds nothing new, and still says what the running guard does not do.
            let again = Changes { applied: vec![], ..expected };
            assert_eq!(Changes::take_over(&mut held, &new), again, "{key}");
        }
    }

    #[test]
    fn another_server_takes_over_but_not_where_its_kind_or_its_name_is_part_of_what_was_agreed() {
        let (socket, name) = ("backend = '/run/s.sock'", "backend = 'db2:3306'");
        let verified = "backend_tls.mode = 'verify-identity'\nbackend_tls.authorities = 'c'";
        for (old, new) in
            [(vec![socket], vec![]), (vec![], vec![socket]), (vec![verified], vec![name, verified])]
        {
            let (mut held, new) = (parse(&old), parse(&new));
            assert_eq!(Changes::take_over(&mut held, &new).restart, ["backend"], "{old:?}");
        }
        let monitor = |host: &str| format!("control.monitor = 'mysql://m@{host}:3306'");
        let (mut held, new) = (parse(&[&monitor("db1")]), parse(&[name, &monitor("db2")]));
        assert_eq!(Changes::take_over(&mut held, &new).applied, ["backend", "monitor"]);
    }

    #[test]
    fn every_key_of_a_file_is_one_of_them() {
        for table in ["", "control", "queue", "client_tls", "backend_tls"] {
            let text =
                if table.is_empty() { "zzzzzzzz = 1".to_owned() } else { format!("{table}.zzzzzzzz = 1") };
            let error = GuardConfig::parse(&format!("{SHORT}{text}")).unwrap_err();
            for key in known(&error) {
                let has =
                    |line: &str| line.contains(&format!("{key} = ")) || line.starts_with(&format!("{key}."));
                assert!(KEYS.iter().any(|(_, line, _)| has(line)), "{table} {key}");
            }
        }
    }
}
